import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { anyAnswers, startAnsweringMachine } from '@postern/testkit/any-answer';
import { listenHttp } from '@postern/testkit/providers';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { runCli } from './run-cli.ts';

let folder: string;
let config: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'postern-door-'));
  config = join(folder, 'postern.config.yaml');
  writeFileSync(config, "adminApi: { host: 0.0.0.0, port: 1 }\nvault: { keys: '${env:ELSEWHERE}' }\n");
});
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(() => void vi.restoreAllMocks());

const add = ['api-keys', 'add', 'tracker', 'second', '--reason', 'ticket 10'];

async function run(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  let out = '';
  let err = '';
  const code = await runCli([...args, '-c', config], {
    env: { POSTERN_ADMIN_TOKEN: 'pa_secret', ...env },
    isTerminal: false,
    signal: new AbortController().signal,
    out(text) {
      out += text;
    },
    err(text) {
      err += text;
    },
  });
  return { code, out, err };
}

describe('S218: postern api-keys through the admin API', () => {
  it.each([
    ['http://gate.example:8091', 0],
    ['ftp://127.0.0.1/', 0],
    ['nonsense', 0],
    [undefined, 1],
    ['https://127.0.0.1:1', 1],
  ])('sends its credential over https, or to this machine: %s', async (url, requests) => {
    const sent = vi.spyOn(globalThis, 'fetch');
    const { code, err } = await run(add, url === undefined ? {} : { POSTERN_ADMIN_URL: url });
    expect({ code, requests: sent.mock.calls.length }).toEqual({ code: 1, requests });
    expect(err).not.toContain('pa_secret');
  });

  it('ends with a sentence, whatever answers', async () => {
    const canary = 'secret-of-another-program';
    await using machine = await startAnsweringMachine();
    const url = { POSTERN_ADMIN_URL: `http://127.0.0.1:${machine.port}` };
    for (const [name, damage] of Object.entries(anyAnswers(canary))) {
      using order = machine.answer(() => true, damage);
      const { code, out, err } = await run(add, url);
      expect({ name, code, out, isAsked: order.count > 0 }).toEqual({ name, code: 1, out: '', isAsked: true });
      expect(err).not.toMatch(/pa_secret|ZodError|\n +at /);
    }
  });

  it('follows no redirect, and shows no secret of another program', async () => {
    const seen: string[] = [];
    const stranger = await listenHttp((request, response) => {
      seen.push(request.url ?? '');
      response.writeHead(302, { location: '/elsewhere' }).end('a secret page');
    });
    const { code, out, err } = await run(add, { POSTERN_ADMIN_URL: `http://127.0.0.1:${stranger.port}` });
    await stranger.close();
    expect({ code, out, seen }).toEqual({ code: 1, out: '', seen: ['/admin/v1/api-keys'] });
    expect(err).not.toMatch(/secret/);
  });

  it.each([
    ['--by, which the credential says', [...add, '--by', 'olga']],
    [
      '--key-file, which only the store can answer',
      ['api-keys', 'revoke', '--key-file', import.meta.filename, '--reason', 'leaked'],
    ],
    ['a reason that no header holds', [...add.slice(0, -1), 'Schlüssel verloren']],
  ])('refuses %s', async (_, args) => {
    const sent = vi.spyOn(globalThis, 'fetch');
    expect((await run(args)).code).toBe(2);
    expect(sent).not.toHaveBeenCalled();
  });
});
