/** Commands beside a running gateway that has started its Redis itself. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger, type GatewayConfigInput, parseConfig, runCli, startGateway } from '@postern/gateway';
import { afterAll, expect, test } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'postern-private-redis-'));
afterAll(() => rmSync(folder, { recursive: true }));

const configuration: GatewayConfigInput = {
  publicUrl: 'http://127.0.0.1:1',
  listen: { port: 0 },
  adminApi: { port: 0 },
  redis: { directory: join(folder, 'redis') },
  vault: { keys: [{ kid: 'first', key: randomBytes(32).toString('base64') }] },
  mcpServers: [
    {
      ...{ id: 'tracker', name: 'Tracker', url: 'http://127.0.0.1:3000/mcp' },
      ...{ issuers: ['http://127.0.0.1:3000'], identity: { mode: 'loopback' } },
    },
  ],
};

async function run(...args: readonly string[]) {
  let [out, err] = ['', ''];
  const path = join(folder, 'postern.config.yaml');
  writeFileSync(path, JSON.stringify(configuration));
  const code = await runCli([...args, '-c', path], {
    ...{ env: { PATH: process.env['PATH'] }, isTerminal: false, signal: new AbortController().signal },
    out(text) {
      out += text;
    },
    err(text) {
      err += text;
    },
  });
  return { code, out, err };
}

test('S218: commands reach the private Redis of a running gateway, which no other user can', async () => {
  const why = ['--reason', 'ticket 1', '--by', 'olga'];
  const gateway = await startGateway(parseConfig(configuration), { logger: createLogger({ level: 'silent' }) });
  let token = '';
  try {
    const added = await run('admin-credentials', 'add', 'on call', 'read,keys', ...why);
    expect({ ...added, out: '' }).toMatchObject({ code: 0 });
    token = added.out.trim();
    const keysWith = (authorization: string) =>
      fetch(`${gateway.adminApi?.address}/admin/v1/api-keys`, { headers: { authorization } });
    expect((await keysWith(`Bearer ${token}`)).status).toBe(200);
    expect((await keysWith('Bearer other')).status).toBe(401);
    expect((await run('api-keys', 'add', 'tracker', 'first', ...why)).code).toBe(0);
    expect((await run('vault', 'status')).code).toBe(0);
    expect(statSync(join(folder, 'redis/address')).mode & 0o777).toBe(0o600);
  } finally {
    await gateway.close();
  }
  // While the gateway does not run, a command starts the Redis.
  const listed = await run('admin-credentials', 'list', '--json');
  expect(JSON.parse(listed.out).credentials).toMatchObject([{ name: 'on call' }]);
  expect(listed.out).not.toContain(token);
});
