/** Redis replays its append-only file as the user `default`. Commands that this user may not run are missing after a restart. */
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import type { ElicitationId } from '@postern/elicitation';
import { samples } from '@postern/testkit/contract';
import { type RedisAccess, type RedisServer, startRedis } from '@postern/testkit/redis';
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { replayedCommands } from './assert-safe-redis.ts';
import { createRedisStores, type RedisStores } from './index.ts';

const { ask, complete, created, engage, moved, somebody } = samples;

/** The users that the project ships. */
const shipped = readFileSync(new URL('../../../infra/redis/users.acl', import.meta.url), 'utf8')
  .split('\n')
  .filter(line => line.startsWith('user '))
  .map(line => line.replace(/\$\{\w+\}/, 'test-password'));
const gatewayRules = shipped.find(line => line.startsWith('user postern '))?.split(' ') ?? [];
const accessOf = (lines: readonly string[]): RedisAccess => ({
  lines,
  user: { name: 'postern', password: 'test-password' },
});

/** Acknowledged elicitations, with their versions. */
async function acknowledged(stores: RedisStores): Promise<ReadonlyMap<ElicitationId, number>> {
  const versions = new Map<ElicitationId, number>();
  for (let count = 0; count < 20; count += 1) {
    const pending = await created(stores.elicitations, ask(somebody()));
    versions.set(pending.elicitationId, 1);
    if (count % 2 === 0) continue;
    const active = await moved(stores.elicitations, pending, engage);
    await moved(stores.elicitations, active, complete(active));
    versions.set(pending.elicitationId, 3);
  }
  return versions;
}

/** Counts the elicitations that Redis still has after a restart. */
async function keptOver(redis: RedisServer, stores: RedisStores, versions: ReadonlyMap<ElicitationId, number>) {
  await redis.kill();
  await redis.restart();
  const [[any] = []] = versions;
  if (any === undefined) throw new Error('nothing to look for');
  await expect.poll(() => stores.elicitations.read(any).catch(() => 'away')).not.toBe('away');
  let kept = 0;
  for (const [id, version] of versions) {
    const found = await stores.elicitations.read(id).catch(() => undefined);
    if (found?.version === version) kept += 1;
  }
  return kept;
}

async function setDefaultUser(redis: RedisServer, rules: string): Promise<void> {
  await redis.ask('ACL', 'SETUSER', 'default', 'reset', ...rules.split(' '));
  await redis.ask('ACL', 'SAVE');
}

test('with the shipped users, every acknowledged elicitation survives a restart', async () => {
  await using redis = await startRedis({ access: accessOf(shipped) });
  await using stores = await createRedisStores({ url: redis.url });
  const versions = await acknowledged(stores);
  expect(await keptOver(redis, stores, versions)).toBe(versions.size);
});

test('Redis refuses the shipped default user, whatever its password', async () => {
  await using redis = await startRedis({ access: accessOf(shipped) });
  const answersTo = (...commands: readonly string[]) => {
    const script = commands.map(command => `${command}\r\n`).join('');
    const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>();
    let text = '';
    const socket = connect(redis.port, redis.host, () => void socket.end(`${script}QUIT\r\n`));
    socket.on('data', data => {
      text += data.toString();
    });
    socket.once('error', reject).once('close', () => resolve(text.split('\r\n').slice(0, commands.length)));
    return promise;
  };
  const refused = /^-(NOAUTH|WRONGPASS) /;
  for (const signIn of [
    'AUTH ""',
    'AUTH default ""',
    'AUTH default test-password',
    'HELLO 3 AUTH default ""',
    'RESET',
  ]) {
    const [signedIn, ...others] = await answersTo(
      signIn,
      'PING',
      'GET postern:x',
      'FLUSHALL',
      'ACL LIST',
      'SUBSCRIBE x',
    );
    if (signIn !== 'RESET') expect(signedIn, signIn).toMatch(refused);
    expect(others).toHaveLength(5);
    for (const other of others) expect(other, signIn).toMatch(refused);
  }
});

describe('a default user that', () => {
  test.each([
    { can: 'do nothing', rules: 'off', refused: true, keepsAll: false },
    { can: 'only read', rules: 'off ~* &* -@all +@read', refused: true, keepsAll: false },
    { can: 'write elsewhere', rules: 'off ~other:* +@all', refused: true, keepsAll: false },
    { can: 'do all but HSET', rules: 'off ~* +@all -hset', refused: true, keepsAll: false },
    { can: 'do all but set an expiry', rules: 'off ~* +@all -pexpireat', refused: true, keepsAll: true },
    { can: 'write, but not select', rules: 'off ~* -@all +@write', refused: true, keepsAll: true },
    { can: 'do everything', rules: 'off ~* &* +@all', refused: false, keepsAll: true },
    { can: 'write our keys', rules: 'off ~postern:* -@all +@write +select', refused: false, keepsAll: true },
    { can: 'write, and sign in', rules: 'on nopass ~* +@all', refused: false, keepsAll: true },
  ])('can $can: refused $refused, keeps all $keepsAll', async ({ rules, refused, keepsAll }) => {
    await using redis = await startRedis({ access: accessOf(shipped) });
    await using stores = await createRedisStores({ url: redis.url });
    const versions = await acknowledged(stores);
    await setDefaultUser(redis, rules);
    const outcome = await stores.ping().then(
      () => 'safe',
      ({ setting }: { setting?: string }) => setting,
    );
    expect(outcome).toBe(refused ? 'default-user' : 'safe');
    const start = createRedisStores({ url: redis.url }).then(another => another.close());
    if (refused) await expect(start).rejects.toMatchObject({ name: 'UnsafeRedisError', setting: 'default-user' });
    else await start;
    expect((await keptOver(redis, stores, versions)) === versions.size).toBe(keepsAll);
  });
});

test('notices a default user that loses its permissions while the gateway runs', async () => {
  await using redis = await startRedis();
  const { promise: noticed, resolve } = Promise.withResolvers<unknown>();
  await using _stores = await createRedisStores({ url: redis.url, watchMs: 20, onDurability: resolve });
  await redis.ask('ACL', 'SETUSER', 'default', '-hset');
  expect(await noticed).toEqual({ holds: false, reason: 'default-user' });
});

describe('the warning about unknown permissions of the default user:', () => {
  const warned = async (options: Parameters<typeof startRedis>[0], assumeDurable = false) => {
    await using redis = await startRedis(options);
    const settings: string[] = [];
    const onWarning = (setting: string) => void settings.push(setting);
    await using _stores = await createRedisStores({ url: redis.url, assumeDurable, onWarning });
    return settings;
  };

  test('is given if ACL DRYRUN is forbidden', async () => {
    const lines = shipped.map(line => line.replace(' +acl|dryrun', ''));
    expect(await warned({ access: accessOf(lines) })).toEqual(['default-user']);
  });

  test('is given if ACL is unknown', async () => {
    expect(await warned({ args: ['--rename-command', 'ACL', ''] })).toEqual(['default-user']);
  });

  test('is given if CONFIG is hidden and the operator vouches for durability', async () => {
    const lines = shipped.map(line => line.replace(' +config|get', '').replace(/^user default .*/, 'user default off'));
    expect(await warned({ access: accessOf(lines) }, true)).toEqual(['default-user']);
  });

  test('is not given if ACL DRYRUN answers', async () => {
    expect(await warned({ access: accessOf(shipped) })).toEqual([]);
  });
});

test('asks for every write command that the gateway may use', async () => {
  await using redis = await startRedis();
  const operator = new Redis(redis.url);
  try {
    const names = gatewayRules.filter(rule => rule.startsWith('+')).map(rule => rule.slice(1));
    const infos = (await operator.command('INFO', ...names)) as ([string, number, string[]] | null)[];
    const writes = infos.flatMap(info => (info?.[2].includes('write') ? [info[0]] : []));
    /** Commands in the form that Redis writes to its append-only file. */
    const rewritten: Readonly<Record<string, string>> = { pexpire: 'pexpireat', bzpopmin: 'zpopmin' };
    const asked = replayedCommands('k').map(([name]) => name.toLowerCase());
    expect(writes.length).toBeGreaterThan(20);
    expect(writes.map(name => rewritten[name] ?? name).filter(name => !asked.includes(name))).toEqual([]);
  } finally {
    operator.disconnect();
  }
});
