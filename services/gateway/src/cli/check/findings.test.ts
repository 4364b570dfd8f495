import { expect, test } from 'vitest';
import { checked, failed, ok, reportOf, warning } from './findings.ts';
import { checkKeyFiles } from './local-checks.ts';

test('a check that never ends, or throws, is a failed finding', async () => {
  expect(await checked('slow', 5, () => new Promise(() => {}))).toMatchObject([{ check: 'slow', status: 'failed' }]);
  const thrown = await checked('broken', 60_000, () => Promise.reject(new TypeError('canary')));
  expect(thrown).toMatchObject([{ check: 'broken', status: 'failed' }]);
  expect(JSON.stringify(thrown)).not.toContain('canary');
});

test('the report has one line per finding, without control characters of others', () => {
  const report = reportOf([ok('a', 'fine'), warning('provider.b', 'odd\n\u001b[31mred'), failed('c', 'no')]);
  expect(report.split('\n')).toHaveLength(6);
  expect(report).not.toContain('\u001b');
  expect(report).toContain('1 ok, 1 warnings, 1 failed');
});

test('promises nothing about who may read a file on Windows, where modes do not say it', () => {
  const [finding] = checkKeyFiles([import.meta.filename], Date.now, 'win32');
  expect(finding).toMatchObject({ status: 'ok', message: expect.not.stringContaining('Only the owner') });
});
