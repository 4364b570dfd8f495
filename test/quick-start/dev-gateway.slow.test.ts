import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { sharedBrowser } from '@postern/testkit/chromium';
import { freePort } from '@postern/testkit/processes';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { newPerson } from '../support/browser.ts';
import { startDevProcess } from './dev-process.ts';

const program = join(dirname(createRequire(import.meta.url).resolve('@postern/gateway')), 'postern.ts');
const fileSchema = z.object({ url: z.string(), apiKey: z.string() });

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'postern-dev-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const start = (args: readonly string[] = [], env: Record<string, string> = {}) =>
  startDevProcess(folder, [process.execPath, program, 'dev', ...args], { ...process.env, ...env });
const inFolder = (name: string) => join(folder, '.postern', name);
const readFile = () => fileSchema.parse(JSON.parse(readFileSync(inFolder('mcp-server.json'), 'utf8')));

async function call(path: string, body?: unknown): Promise<unknown> {
  const { url, apiKey } = readFile();
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
  const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  return await (await fetch(url + path, { headers, ...init })).json();
}

const request = {
  kind: 'authorization',
  subject: { issuer: 'http://localhost', subject: 'me' },
  message: 'Read your notes',
  authorization: { provider: 'example' },
};

const confirmation = { kind: 'confirmation', subject: request.subject };

describe('postern dev', () => {
  test('connects a user to the example provider, and keeps keys, port and connection over a restart', async () => {
    const port = await freePort();
    const api = `http://127.0.0.1:${port + 1}/notes`;
    const notesWith = async (connectionId: string) => {
      const answer = await call(`/v1/connections/${connectionId}/access-token`, {});
      const { accessToken } = z.object({ accessToken: z.string() }).parse(answer);
      return (await fetch(api, { headers: { authorization: `Bearer ${accessToken}`, connection: 'close' } })).status;
    };
    let connectionId = '';
    {
      await using dev = await start(['--port', String(port)]);
      expect(dev.printed()).toContain(api);
      const { url, elicitationId } = z
        .object({ url: z.string(), elicitationId: z.string() })
        .parse(await call('/v1/elicitations', request));
      await using person = await newPerson(await sharedBrowser(), 'me');
      await person.page.goto(url);
      expect(await person.page.locator('.scopes .risk-see').allTextContents()).toEqual(['read your notes']);
      await person.page.locator('form[action$="/accept"] button').click();
      await person.page.getByRole('button', { name: 'Allow' }).click();
      const ended = z
        .object({ status: z.literal('completed'), outcome: z.object({ connectionId: z.string() }) })
        .parse(await call(`/v1/elicitations/${elicitationId}?wait=50`));
      connectionId = ended.outcome.connectionId;
      expect(await notesWith(connectionId)).toBe(200);
      for (const secret of [readFile().apiKey, readFileSync(inFolder('vault.key'), 'utf8').trim()])
        expect(dev.printed()).not.toContain(secret);
    }
    const before = readFile();
    const modes = ['', ...readdirSync(join(folder, '.postern'))].map(name => statSync(inFolder(name)).mode & 0o077);
    expect(modes.every(mode => mode === 0)).toBe(true);
    expect(readFileSync(inFolder('.gitignore'), 'utf8')).toBe('*\n');

    await using _ = await start();
    expect(readFile()).toEqual(before);
    expect(await notesWith(connectionId)).toBe(200);
  });

  test('S154: has a console on another host name, where the operator of this machine signs in by one click', async () => {
    const port = await freePort();
    await using dev = await start(['--port', String(port)]);
    const console = `http://localhost:${port + 2}`;
    expect(dev.printed()).toContain(console);
    await call('/v1/elicitations', request);
    await using person = await newPerson(await sharedBrowser(), 'me');
    await person.page.goto(`${console}/elicitations`);
    await person.page.getByRole('link', { name: 'Sign in' }).click();
    await person.page.getByRole('button', { name: 'Sign in as operator' }).click();
    await person.page.getByRole('heading', { level: 1, name: 'Elicitations' }).waitFor();
    expect(await person.page.locator('tbody').textContent()).toContain('dev');
    expect((await fetch(`http://127.0.0.1:${port}/elicitations`)).status).toBe(404);
  });

  test('takes a preset with its client secret from a file, and never writes the secret', async () => {
    const port = String(await freePort());
    writeFileSync(join(folder, 'github'), 'canary-secret\n');
    const env = { GITHUB_CLIENT_ID: 'Iv1.abc', GITHUB_CLIENT_SECRET_FILE: join(folder, 'github') };
    await using dev = await start(['--port', port, '--provider', 'github'], env);
    expect(dev.printed()).toContain(`http://127.0.0.1:${port}/callback/dev/github`);
    expect(readFileSync(inFolder('postern.config.yaml'), 'utf8') + dev.printed()).not.toContain('canary');
    const authorization = { provider: 'github', scopes: ['repo'] };
    expect(await call('/v1/elicitations', { ...request, authorization })).toMatchObject({ status: 'pending' });
  });

  test('S215: makes its developer wait only at a limit that the command sets', async () => {
    await expect(start(['--port', String(await freePort()), '--limit', 'elicitationsPerDay=3'])).rejects.toThrow(
      /elicitationsPerDay/,
    );
    // More than the defaults of other gateways: 30 in ten minutes, 20 open.
    const open = 31;
    await using _ = await start(['--port', String(await freePort()), '--limit', `openElicitationsPerSubject=${open}`]);
    const ask = async (nth: number) =>
      z
        .object({ code: z.string().optional() })
        .parse(await call('/v1/elicitations', { ...confirmation, confirmation: { title: `Step ${nth}` } })).code;
    for (let nth = 0; nth < open; nth += 1) expect(await ask(nth)).toBeUndefined();
    expect(await ask(open)).toBe('too_many_open_elicitations');
  });

  test('does not start in a folder that others may open, and says how to close it', async () => {
    {
      await using _ = await start(['--port', String(await freePort())]);
    }
    chmodSync(join(folder, '.postern'), 0o755);
    await expect(start()).rejects.toThrow(/chmod 700/);
  });
});
