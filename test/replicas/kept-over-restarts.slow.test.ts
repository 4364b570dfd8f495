/**
 * The shipped and documented Redis set-ups, stopped and restarted: every acknowledged elicitation is still there.
 * kept-over-failovers.slow.test.ts tests fail-overs.
 */
import { readFileSync } from 'node:fs';
import { createRedisStores, type RedisStoresOptions } from '@postern/store-redis';
import { Ledger } from '@postern/testkit/contract';
import { type RedisServer, startRedis, startRedisSentinel } from '@postern/testkit/redis';
import { expect, test } from 'vitest';
import { shippedAccess } from '../support/shipped-access.ts';

/** The settings with which infra/redis/start.sh starts the Redis of docker-compose.yml, as arguments. */
function composeArguments(): readonly string[] {
  const text = readFileSync(new URL('../../infra/redis/start.sh', import.meta.url), 'utf8');
  const [, list = ''] = /^single\)$[\s\S]*?<<CONF\n([\s\S]*?)^CONF$/m.exec(text) ?? [];
  const settings = list.split('\n').filter(line => line !== '' && !/^(?:dir|port|aclfile) /.test(line));
  if (!settings.includes('appendonly yes'))
    throw new Error('infra/redis/start.sh does not contain the expected settings');
  return settings.flatMap(line => `--${line}`.split(' '));
}

interface Running extends AsyncDisposable {
  readonly options: RedisStoresOptions;
  /** The servers, the master first. */
  readonly nodes: readonly RedisServer[];
  /** Further arguments of redis-cli. */
  readonly signIn: readonly string[];
}

async function single(options: Parameters<typeof startRedis>[0], change: Partial<Running> = {}): Promise<Running> {
  const redis = await startRedis(options);
  const dispose = () => redis[Symbol.asyncDispose]();
  return { options: { url: redis.url }, nodes: [redis], signIn: [], ...change, [Symbol.asyncDispose]: dispose };
}

const compose = () => single({ access: shippedAccess, args: composeArguments() });

/** As in infra/redis/start.sh; the Sentinels act too late to matter. */
async function ha(): Promise<Running> {
  const redis = await startRedisSentinel({
    access: shippedAccess,
    replicas: 2,
    downAfterMs: 600_000,
    args: ['--appendfsync', 'always', '--min-replicas-to-write', '1'],
  });
  const options: RedisStoresOptions = {
    sentinels: redis.sentinelUrls,
    masterName: redis.masterName,
    username: shippedAccess.user.name,
    password: shippedAccess.user.password,
    durability: { profile: 'ha', replicas: 1, timeoutMs: 2_000 },
    startTimeoutMs: 30_000,
  };
  return { options, nodes: redis.nodes, signIn: [], [Symbol.asyncDispose]: () => redis[Symbol.asyncDispose]() };
}

/**
 * With `everysec` Redis acknowledges before it writes to its file, up to two seconds while the disk is busy (docs/redis.md). What it has
 * written outlives its process.
 */
async function untilWritten({ nodes, signIn }: Running): Promise<void> {
  for (const node of nodes) {
    await expect.poll(() => node.ask(...signIn, 'INFO', 'persistence')).toContain('aof_buffer_length:0\r');
  }
}

const strict = { access: shippedAccess, args: ['--appendfsync', 'always'] };
const setUps = [
  { name: 'docker-compose.yml', start: compose, isStrict: false },
  { name: 'one server with users', start: () => single({ access: shippedAccess }), isStrict: false },
  { name: 'one server with users, single-strict', start: () => single(strict), isStrict: true },
  { name: 'Sentinel with users, before it acts', start: ha, isStrict: true },
] as const;
const ways = ['stop', 'kill'] as const;

test.each(setUps.flatMap(setUp => ways.map(way => ({ ...setUp, way }))))(
  '$name: keeps everything acknowledged over two restarts by $way',
  async ({ name, start, isStrict, way }) => {
    await using running = await start();
    await using stores = await createRedisStores(running.options);
    const ledger = new Ledger(stores.elicitations);
    const [master] = running.nodes;
    const restarts = [[master], running.nodes];
    for (const nodes of restarts) {
      const restart = async () => {
        await Promise.all(nodes.map(node => node?.[way]()));
        await Promise.all(nodes.map(node => node?.restart()));
      };
      await ledger.write(60);
      if (isStrict) await ledger.writeDuring(restart, 20);
      else {
        await untilWritten(running);
        await restart();
      }
    }
    const found = await ledger.found();
    console.info(`${name}, ${way}: ${ledger.written} acknowledged, ${found} found`);
    expect(found).toBe(ledger.written);
    expect(found).toBeGreaterThanOrEqual(120);
  },
);
