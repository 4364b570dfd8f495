import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openLogFile } from './log-file.ts';

test('the log is private, goes on in its file, and starts anew when it is too large', () => {
  const folder = mkdtempSync(join(tmpdir(), 'postern-log-'));
  using _ = { [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
  const path = join(folder, 'postern.log');
  writeFileSync(path, 'before\n', { mode: 0o644 });
  const log = openLogFile(path, 20);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  log.write('12345\n');
  expect(readFileSync(path, 'utf8')).toBe('before\n12345\n');
  log.write('1234567890\n');
  expect(readFileSync(path, 'utf8')).toBe('1234567890\n');
  log.destroy();
});
