import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { runCommand } from '../../services/gateway/src/testing/run-command.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { createApi, hashOf, keyOf, startWorld, type World } from '../support/world.ts';

const PATIENCE = { timeout: 100_000 };
const NEW_KEY = 'pk_tracker_after-its-rotation-0123456789';

let world: World;
beforeAll(async () => {
  world = await startWorld({});
});
afterAll(() => world[Symbol.asyncDispose]());

/** A gateway process and the events that it has logged. */
async function started(isWatching: boolean) {
  const lines: string[] = [];
  const base = { ...world.config, reload: { watch: isWatching } };
  const gateway = await startGatewayProcess(base, { onLine: line => void lines.push(line) });
  const logged = (event: string) => lines.filter(line => line.includes(`"event":"${event}"`));
  return {
    base,
    gateway,
    logged,
    until: (event: string, count = 1) => vi.waitFor(() => expect(logged(event)).toHaveLength(count), PATIENCE),
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  };
}

const withKey = (base: World['config'], key: string) => ({
  ...base,
  mcpServers: base.mcpServers.map(server => ({ ...server, apiKeys: [{ hash: hashOf(key) }] })),
});

const statusWith = async ({ address }: GatewayProcess, key: string) =>
  (await createApi(address, key).read('unknown')).status;

describe('SIGHUP', () => {
  it('reloads the configuration, refuses a faulty file, and names the sections that need a restart', async () => {
    await using process = await started(false);
    const { base, gateway, logged, until } = process;
    await gateway.configure(withKey(base, NEW_KEY));
    gateway.signal('SIGHUP');
    await until('config.reloaded');
    expect(JSON.parse(logged('config.reloaded')[0] ?? '')).toMatchObject({
      sections: ['mcpServers'],
      mcpServers: { added: [], changed: ['tracker'], removed: [] },
    });
    expect(await statusWith(gateway, keyOf('tracker'))).toBe(401);
    expect(await statusWith(gateway, NEW_KEY)).toBe(404);

    await gateway.configure('mcpServers: [');
    gateway.signal('SIGHUP');
    await until('config.refused');
    await gateway.configure({ ...withKey(base, keyOf('tracker')), retention: { endedHours: 9 } });
    gateway.signal('SIGHUP');
    await until('config.refused', 2);
    expect(JSON.parse(logged('config.refused')[1] ?? '')).toMatchObject({ faults: [{ path: 'retention' }] });
    expect(await statusWith(gateway, NEW_KEY)).toBe(404);
    expect(logged('config.reloaded')).toHaveLength(1);
  });

  it('never writes a secret of the configuration to the log', async () => {
    await using process = await started(false);
    const { base, gateway, until } = process;
    const secret = 'a-client-secret-that-no-log-may-contain';
    const providers = (base.providers ?? []).map(provider => ({ ...Object(provider), clientSecret: secret }));
    await gateway.configure({ ...base, providers });
    gateway.signal('SIGHUP');
    await until('config.reloaded');
    await gateway.configure({ ...base, providers: providers.map(provider => ({ ...provider, issuer: secret })) });
    gateway.signal('SIGHUP');
    await until('config.refused');
    expect([...process.logged('config.reloaded'), ...process.logged('config.refused')].join()).not.toContain(secret);
  });

  it('while the process stops changes nothing', async () => {
    await using process = await started(false);
    const { base, gateway, logged } = process;
    await gateway.configure(withKey(base, NEW_KEY));
    gateway.signal('SIGTERM');
    gateway.signal('SIGHUP');
    gateway.signal('SIGHUP');
    expect(await gateway.ended()).toEqual({ code: 0, signal: null });
    expect([...logged('gateway.stop_forced'), ...logged('config.refused')]).toEqual([]);
  });

  it('may arrive many times at once', async () => {
    await using process = await started(false);
    const { base, gateway, logged, until } = process;
    await gateway.configure(withKey(base, NEW_KEY));
    for (let n = 0; n < 20; n += 1) gateway.signal('SIGHUP');
    await until('config.reloaded');
    expect(await statusWith(gateway, NEW_KEY)).toBe(404);
    expect(logged('config.refused')).toEqual([]);
  });
});

it('a change of the configuration file reloads it, and a faulty file is refused once', async () => {
  await using process = await started(true);
  const { base, gateway, logged, until } = process;
  await gateway.configure(withKey(base, NEW_KEY));
  await until('config.reloaded');
  expect(await statusWith(gateway, NEW_KEY)).toBe(404);
  await gateway.configure('not: [valid');
  await until('config.refused');
  await gateway.configure(base);
  await until('config.reloaded', 2);
  expect(await statusWith(gateway, keyOf('tracker'))).toBe(404);
  expect(logged('config.refused')).toHaveLength(1);
});

it('reload: the file is watched as it says itself', async () => {
  await using process = await started(true);
  const { base, gateway, logged, until } = process;
  await gateway.configure({ ...base, reload: { watch: false } });
  await until('config.reloaded');
  await gateway.configure({ ...withKey(base, NEW_KEY), reload: { watch: false } });
  // The watch needs two looks, a second apart, to see a change.
  await new Promise(resolve => setTimeout(resolve, 4_000));
  expect(await statusWith(gateway, NEW_KEY)).toBe(401);
  gateway.signal('SIGHUP');
  await until('config.reloaded', 2);
  expect(await statusWith(gateway, NEW_KEY)).toBe(404);
  expect(logged('config.refused')).toEqual([]);
});

it('postern mcp-servers add returns when the running gateway accepts the new key', async () => {
  await using process = await started(true);
  const { gateway, logged } = process;
  const { code, out, err } = await runCommand([
    ...['mcp-servers', 'add', 'wiki', '--url', 'https://wiki.example/mcp'],
    ...['-c', gateway.configPath],
  ]);
  expect({ code, err }).toEqual({ code: 0, err: expect.stringContaining(gateway.address) });
  expect(await statusWith(gateway, out.trim())).toBe(404);
  expect(JSON.parse(logged('config.reloaded')[0] ?? '')).toMatchObject({ mcpServers: { added: ['wiki'] } });
  expect([...logged('config.reloaded'), err].join()).not.toContain(out.trim());
});
