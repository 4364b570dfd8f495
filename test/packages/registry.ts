import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { endingWithParent, freePort } from '@postern/testkit/processes';
import { vi } from 'vitest';
import { z } from 'zod';

/** A package registry on the loopback address, which has only what is published to it. */
export interface LoopbackRegistry extends AsyncDisposable {
  /** Lines for `.npmrc`: packages of this scope come from here, and may be published here. */
  readonly npmrc: string;
}

export async function startRegistry(folder: string): Promise<LoopbackRegistry> {
  mkdirSync(folder, { recursive: true });
  const configuration = join(folder, 'verdaccio.json');
  writeFileSync(
    configuration,
    JSON.stringify({
      storage: join(folder, 'storage'),
      web: { enable: false },
      auth: { htpasswd: { file: join(folder, 'htpasswd') } },
      uplinks: {},
      packages: { '@postern/*': { access: '$all', publish: '$authenticated' } },
      middlewares: { audit: { enabled: false } },
      log: { type: 'stdout', format: 'json', level: 'warn' },
    }),
  );
  const host = `127.0.0.1:${await freePort()}`;
  const program = join(createRequire(import.meta.url).resolve('verdaccio/package.json'), '../bin/verdaccio');
  const args = [program, '--config', configuration, '--listen', host];
  const child = spawn(...endingWithParent(process.execPath, args), { stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = once(child, 'exit');
  const listening = (async () => {
    for await (const line of createInterface({ input: child.stdout })) if (line.includes('http address')) return true;
    return false;
  })();
  if (!(await listening)) throw new Error('the registry did not start');
  child.stdout.resume();
  // It logs its address before it listens.
  await vi.waitUntil(() => fetch(`http://${host}/-/ping`).catch(() => undefined), { timeout: 300_000 });
  const user = { name: 'release', password: 'only-on-loopback' };
  const answer = await fetch(`http://${host}/-/user/org.couchdb.user:${user.name}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(user),
  });
  const { token } = z.object({ token: z.string() }).parse(await answer.json());
  return {
    npmrc: `@postern:registry=http://${host}/\n//${host}/:_authToken=${token}\n`,
    async [Symbol.asyncDispose]() {
      child.kill();
      await ended;
    },
  };
}
