import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { readDevOptions } from './dev-options.ts';
import { prepareDev } from './prepare-dev.ts';

const secret = { GITHUB_CLIENT_SECRET: 'canary' };

test('postern dev with one of its three ports in use names --port, and writes nothing', async () => {
  const busy = createServer().listen(0, '127.0.0.1');
  await once(busy, 'listening');
  const { port } = z.object({ port: z.number() }).parse(busy.address());
  const root = mkdtempSync(join(tmpdir(), 'postern-dev-'));
  const folder = join(root, '.postern');
  try {
    for (const first of [port, port - 1, port - 2])
      expect(await prepareDev(['--port', String(first), '--folder', folder], {})).toMatchObject({
        exitCode: 1,
        text: expect.stringContaining('--port'),
      });
    expect(existsSync(folder)).toBe(false);
  } finally {
    busy.close();
    rmSync(root, { recursive: true });
  }
});

describe('the options of postern dev', () => {
  test('refer to the client secret of a preset, and never contain it', () => {
    const read = (args: readonly string[], env: Record<string, string>) => readDevOptions(args, env)?.providers;
    expect(read(['--provider', 'github=Iv1.a=b'], secret)).toEqual([
      { name: 'github', preset: 'github', clientId: 'Iv1.a=b', clientSecret: '${env:GITHUB_CLIENT_SECRET}' },
    ]);
    expect(
      read(['--provider', 'github-app'], { GITHUB_APP_CLIENT_ID: 'a', GITHUB_APP_CLIENT_SECRET_FILE: '/run/s' }),
    ).toMatchObject([{ preset: 'github-app', clientId: 'a', clientSecret: '${file:/run/s}' }]);
  });

  test.each([
    ['a provider without a client id', ['--provider', 'github'], secret],
    ['a provider without a secret', ['--provider', 'github=Iv1.abc'], {}],
  ])('refuse %s', async (_, args, env) => {
    expect(await prepareDev(args, env)).toMatchObject({ exitCode: 1 });
  });

  test.each([
    ['a provider that is a path', ['--provider', '../github=a'], secret],
    ['the last port but one, which leaves none for the console', ['--port', '65534'], {}],
    ['a port that is no number', ['--port', 'x'], {}],
    ['a limit that is no number', ['--limit', 'elicitationsPerSubject=many'], {}],
    ['an unknown flag', ['--host', '0.0.0.0'], {}],
    ['a secret as an argument', ['--client-secret', 'canary'], {}],
    ['an argument without a flag', ['canary'], {}],
  ])('refuse %s, as wrong usage', async (_, args, env) => {
    expect(await prepareDev(args, env)).toMatchObject({ exitCode: 2 });
  });
});
