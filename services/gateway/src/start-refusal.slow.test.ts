import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { GatewayConfigInput } from './platform/config/config-schema.ts';
import { sampleConfig, sampleMcpServer } from './testing/sample-config.ts';

const MAIN = new URL('main.ts', import.meta.url).pathname;
const CANARY = 'canary-secret-5d1f';

let directory = '';
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'postern-start-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

interface Ended {
  readonly code: number | string | undefined;
  readonly output: string;
}

let files = 0;
/** Starts the real process, as an operator does. */
function start(text: string, env: Record<string, string> = {}): Promise<Ended> {
  files += 1;
  const path = join(directory, `config-${files}.yaml`);
  writeFileSync(path, text);
  const { promise, resolve } = Promise.withResolvers<Ended>();
  execFile(
    process.execPath,
    [MAIN, path],
    {
      env: { PATH: process.env['PATH'] ?? '', NODE_COMPILE_CACHE: join(directory, 'compiled'), ...env },
      timeout: 350_000,
      cwd: directory,
    },
    (error, stdout, stderr) => resolve({ code: error?.code ?? undefined, output: `${stdout}${stderr}` }),
  );
  return promise;
}
const startWith = (overrides: Partial<GatewayConfigInput>, env?: Record<string, string>) =>
  start(JSON.stringify(sampleConfig(overrides)), env);
const secretive = (overrides: Partial<GatewayConfigInput>): Partial<GatewayConfigInput> => ({
  identityProviders: [{ name: 'id', issuer: 'https://id.example', clientId: 'c', clientSecret: CANARY }],
  ...overrides,
});
const withServer = (server: object) => ({ mcpServers: [{ ...sampleMcpServer, ...server }] });

describe('S62: start-up refuses', () => {
  it.concurrent.each<[string, () => Promise<Ended>, RegExp]>([
    ['a missing file', () => start('', {}).then(() => startMissing()), /cannot be read/],
    ['invalid YAML', () => start(`publicUrl: "${CANARY}`), /not valid YAML at line/],
    ['http in public', () => startWith(secretive({ publicUrl: 'http://gate.example' })), /publicUrl: must be https/],
    ['a malformed public URL', () => startWith(secretive({ publicUrl: 'gate' })), /publicUrl: must be a URL/],
    [
      'a short vault key',
      () => startWith({ vault: { keys: [{ kid: 'a', key: Buffer.from(CANARY).toString('base64') }] } }),
      /vault\.keys\[0\]\.key: must be 32 bytes/,
    ],
    [
      'a vault key of a repeated byte',
      () => startWith({ vault: { keys: [{ kid: 'a', key: Buffer.alloc(32, 1).toString('base64') }] } }),
      /vault\.keys\[0\]\.key: is not random/,
    ],
    [
      'a wildcard return URL',
      () => startWith(secretive(withServer({ returnUrls: ['https://*.example'] }))),
      /returnUrls\[0\]: must not contain a wildcard/,
    ],
    [
      'an API key in plain text',
      () => startWith(withServer({ apiKeys: [{ hash: CANARY }] })),
      /apiKeys\[0\]\.hash: must be sha256/,
    ],
    [
      'a missing environment variable',
      () => startWith({ vault: { keys: [{ kid: 'a', key: '${env:POSTERN_NO_SUCH_KEY}' }] } }, { OTHER: CANARY }),
      /vault\.keys\[0\]\.key: the environment variable POSTERN_NO_SUCH_KEY is not set/,
    ],
    [
      'a malformed Redis address',
      () => startWith({}, { REDIS_URL: `http://:${CANARY}@redis` }),
      /redis\.url: must be a redis/,
    ],
    [
      'users who sign in, without Redis',
      () => startWith(secretive({ redis: {} })),
      /redis: is needed for .*identity\.mode login/,
    ],
    [
      'an unreachable Redis',
      () => startWith(secretive({ redis: { url: `redis://:${CANARY}@127.0.0.1:1` } })),
      /Redis does not respond/,
    ],
  ])('%s', async (_, run, text) => {
    const { code, output } = await run();
    expect(code).toBe(1);
    expect(output).toMatch(text);
    expect(output).not.toContain(CANARY);
    // An explanation, not a stack trace.
    expect(output).not.toMatch(/^\s+at /m);
  });

  function startMissing(): Promise<Ended> {
    const { promise, resolve } = Promise.withResolvers<Ended>();
    execFile(process.execPath, [MAIN, join(directory, 'none.yaml')], (error, stdout, stderr) =>
      resolve({ code: error?.code ?? undefined, output: `${stdout}${stderr}` }),
    );
    return promise;
  }
});
