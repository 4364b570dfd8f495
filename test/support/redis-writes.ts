import { Redis } from 'ioredis';
import { type MonitoredCommand, startRedisMonitor } from './redis-monitor.ts';

/** A command that writes, and the key it writes to. */
export interface RedisWrite {
  readonly name: string;
  readonly key: string;
}

/** What is written to a Redis from now on, those commands included that scripts run. */
export interface WriteWatch extends Disposable {
  /**
   * What was written since the watch began, or since the last call, in the order in which Redis ran it: without what gateways do
   * by themselves with what was committed before.
   */
  take(): Promise<RedisWrite[]>;
}

/**
 * The relay carries events that are in an outbox to the feeds, notes how far, and takes turns under a lease, as re-wrapping does;
 * it does so for any commit, at a moment of its own. A probe looks whether writes are taken. The commit itself writes elsewhere, and so does every other lease.
 */
const BACKGROUND = /:(?:lease:(?:relay|rewrap)|cursor|feed:[^:]+|fed:[^:]+|probe)$/;

/** @param url of a Redis on loopback, without credentials */
export async function watchWrites(url: string): Promise<WriteWatch> {
  await using stack = new AsyncDisposableStack();
  const redis = stack.adopt(new Redis(url), one => one.disconnect());
  const monitor = stack.use(await startRedisMonitor(url));
  const owned = stack.move();
  return {
    async take() {
      const writes = await writesAmong(redis, await monitor.take());
      return writes.filter(({ key }) => !BACKGROUND.test(key));
    },
    [Symbol.dispose]: () => void owned.disposeAsync(),
  };
}

async function writesAmong(redis: Redis, ran: readonly MonitoredCommand[]): Promise<RedisWrite[]> {
  const names = [...new Set(ran.map(({ args: [name = ''] }) => name.toLowerCase()))].filter(name => name !== '');
  if (names.length === 0) return [];
  const infos = (await redis.call('COMMAND', 'INFO', ...names)) as ([string, number, string[], number] | null)[];
  const keyAt = new Map<string, number>();
  for (const info of infos) {
    // Scripts are flagged as writing whatever they do; what they do is told by itself.
    if (info?.[2].includes('write') && !info[0].startsWith('eval')) keyAt.set(info[0], info[3]);
  }
  return ran.flatMap(({ args }) => {
    const name = args[0]?.toLowerCase() ?? '';
    const at = keyAt.get(name);
    return at === undefined ? [] : [{ name, key: args[at] ?? '' }];
  });
}
