import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { endingWithParent, freePort } from '@postern/testkit/processes';

export interface InstalledGateway extends AsyncDisposable {
  readonly url: string;
  readonly apiKey: string;
  /** All that it has written to standard error. */
  errors(): string;
}

/**
 * Starts the gateway that is installed in a folder, over a file.
 * @param cwd has its configuration and its file
 */
export async function startInstalledGateway(folder: string, node: string, cwd = folder): Promise<InstalledGateway> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const apiKey = `pk_${randomBytes(32).toString('base64url')}`;
  const configuration = {
    publicUrl: url,
    listen: { port },
    vault: { keys: [{ kid: 'key-1', key: randomBytes(32).toString('base64') }] },
    mcpServers: [
      {
        id: 'releases',
        name: 'Releases',
        url: 'http://127.0.0.1:3000/mcp',
        apiKeys: [{ hash: `sha256:${createHash('sha256').update(apiKey).digest('hex')}` }],
        issuers: ['http://127.0.0.1:3000'],
        identity: { mode: 'loopback' },
      },
    ],
  };
  // JSON is YAML.
  mkdirSync(cwd, { recursive: true });
  writeFileSync(join(cwd, 'postern.config.yaml'), JSON.stringify(configuration));
  const { REDIS_URL: _, NODE_COMPILE_CACHE: __, ...env } = process.env;
  const child = spawn(...endingWithParent(node, [join(folder, 'node_modules/.bin/postern'), 'start']), {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'exit');
  let errors = '';
  child.stderr.on('data', text => {
    errors += text;
  });
  const starting = (async () => {
    for await (const line of createInterface({ input: child.stdout }))
      if (line.includes('gateway.started')) return true;
    return false;
  })();
  if (!(await starting)) throw new Error(`the gateway did not start: ${errors}`);
  child.stdout.resume();
  return {
    url,
    apiKey,
    errors: () => errors,
    async [Symbol.asyncDispose]() {
      child.kill('SIGINT');
      await ended;
    },
  };
}
