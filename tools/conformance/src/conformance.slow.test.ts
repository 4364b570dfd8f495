import { execFile } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ConformanceCheck } from './checks.ts';
import { type FixtureServer, startFixtureServer, TOOL, tokens } from './testing/fixture-server.ts';

const program = join(import.meta.dirname, 'conformance.ts');
const testing = (name: string) => `'${process.execPath}' '${join(import.meta.dirname, 'testing', name)}'`;
let folder: string;
let fixture: FixtureServer;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'conformance-cli-'));
  fixture = await startFixtureServer('error');
});
afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const run = (...args: readonly string[]): Promise<Ended> =>
  promisify(execFile)(process.execPath, [program, ...args], { cwd: folder }).then(
    ended => ({ ...ended, code: 0 }),
    (error: Ended) => error,
  );

function checksIn(directory: string): readonly ConformanceCheck[] {
  return globSync('*/checks.json', { cwd: join(folder, directory) }).flatMap(
    path => JSON.parse(readFileSync(join(folder, directory, path), 'utf8')) as ConformanceCheck[],
  );
}

test('the commands of README play all scenarios for MCP servers, with tokens from files that --prepare writes', async () => {
  writeFileSync(join(folder, 'alice.token'), 'expired\n');
  writeFileSync(join(folder, 'bob.token'), `${tokens.bob}\n`);
  const ended = await run(
    ...[fixture.url.href, '--tool', TOOL, '--arguments', '{"account":"main"}', '--other-arguments', '{"account":"b"}'],
    ...['--bearer-file', 'alice.token', '--other-bearer-file', 'bob.token', '--settle', '150'],
    ...['--open', testing('fixture-person.ts'), '--user-data', 'alice@example.com'],
    ...['--prepare', `printf ${tokens.alice} > alice.token`, '--spec-version', '2026-07-28', '-o', 'server'],
  );
  expect(ended.stderr).toBe('');
  expect(ended).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/\n\d+ passed, 0 failed, 0 warnings, 1 skipped\n$/),
  });
  const checks = checksIn('server');
  expect(checks.filter(({ status }) => status !== 'SUCCESS').map(({ id }) => id)).toEqual([
    'sep-1036-anonymous-completes-nothing',
  ]);
  expect(JSON.stringify(checks)).not.toContain(tokens.alice);
});

test('the checks that need a person are skipped without a person, and a failure ends with exit code 1', async () => {
  writeFileSync(join(folder, 'headers'), `Authorization: Bearer ${tokens.bob}\n`);
  const args = [fixture.url.href, '--header', '@headers', '--spec-version', '2025-11-25'];
  const person = await run(
    ...args,
    '--tool',
    TOOL,
    '--scenario',
    'url-elicitation-person',
    '-o',
    'person',
    '--settle',
    '0',
  );
  expect(person.code).toBe(0);
  expect(checksIn('person').filter(({ status }) => status === 'SKIPPED')).not.toHaveLength(0);
  const wrong = await run(`${fixture.url.href}`, '--tool', TOOL, '--scenario', 'url-elicitation-asking', '-o', 'wrong');
  expect(wrong.code).toBe(1);
  expect(new Set(checksIn('wrong').map(({ status }) => status))).toEqual(new Set(['FAILURE', 'WARNING']));
});

test.each([
  ['a credential in an argument', ['--tool', TOOL, '--header', 'Authorization: Bearer secret']],
  ['no tool', []],
  ['an unknown scenario', ['--tool', TOOL, '--scenario', 'nothing']],
  ['an unknown revision', ['--tool', TOOL, '--spec-version', '2024-11-05']],
  ['arguments that are no object', ['--tool', TOOL, '--arguments', '[1]']],
])('refuses %s with exit code 2, and does not repeat a credential', async (_, args) => {
  const { code, stderr } = await run(fixture.url.href, ...args);
  expect(code).toBe(2);
  expect(stderr).not.toBe('');
  expect(stderr).not.toContain('secret');
});

test('the command of README plays the scenarios for MCP clients, and keeps what the client printed', async () => {
  const args = ['client', '--command', testing('fixture-client.ts'), '-o', 'client'];
  const { code } = await run(...args, '--scenario', 'url-elicitation-client-decline', '--spec-version', '2026-07-28');
  expect(code).toBe(0);
  const [path = ''] = globSync('client/*/stdout.txt', { cwd: folder });
  expect(readFileSync(join(folder, path), 'utf8')).toContain('/open/');
});

test('list names every scenario with its revisions', async () => {
  const { stdout } = await run('list');
  expect(stdout).toContain('- url-elicitation-person [2025-11-25, 2026-07-28]');
  expect(stdout).toContain('- url-elicitation-client-required-error [2025-11-25]');
});
