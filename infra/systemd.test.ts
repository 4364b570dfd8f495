import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { root } from '../scripts/child.ts';

const unit = join(root, 'infra/systemd/postern.service');
const analyze = (...args: readonly string[]) => spawnSync('systemd-analyze', args, { encoding: 'utf8' });
const isMissing = analyze('--version').error !== undefined;

describe.skipIf(isMissing)(`infra/systemd/postern.service${isMissing ? ' (not here: no systemd-analyze)' : ''}`, () => {
  const machine = mkdtempSync(join(tmpdir(), 'postern-systemd-'));
  afterAll(() => rmSync(machine, { recursive: true, force: true }));

  /** Installs the unit and the program in a file system of its own. Returns the complaints of systemd. */
  function complaints(text?: string): string {
    const installed = join(machine, 'etc/systemd/system/postern.service');
    const kill = join(machine, 'bin/kill');
    const program = join(machine, 'opt/postern/node_modules/.bin/postern');
    for (const path of [installed, program, kill]) mkdirSync(dirname(path), { recursive: true });
    cpSync('/usr/lib/systemd/system', join(machine, 'usr/lib/systemd/system'), { recursive: true });
    for (const path of [program, kill]) writeFileSync(path, '#!/bin/sh\n', { mode: 0o755 });
    if (text === undefined) cpSync(unit, installed);
    else writeFileSync(installed, text);
    const { stdout, stderr } = analyze(
      'verify',
      '--man=no',
      `--root=${machine}`,
      '/etc/systemd/system/postern.service',
    );
    return `${stdout}${stderr}`;
  }

  test('systemd knows every setting and finds the program', () => {
    expect(complaints()).toBe('');
  });

  test('the check finds a misspelt setting', () => {
    expect(complaints('[Service]\nExecStart=/opt/postern/node_modules/.bin/postern\nRestrat=always\n')).toContain(
      'Restrat',
    );
  });

  test('systemd rates the exposure of the service as low', () => {
    const { status, stdout } = analyze('security', '--offline=true', '--no-pager', '--threshold=15', unit);
    expect(status, stdout).toBe(0);
  });
});
