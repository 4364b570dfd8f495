import { Redis } from 'ioredis';
import { type MonitoredCommand, startRedisMonitor } from './redis-monitor.ts';

/** A write command and its key. */
export interface RedisWrite {
  readonly name: string;
  readonly key: string;
}

/** Records the writes of a Redis from now on, including those of scripts. */
export interface WriteWatch extends Disposable {
  /**
   * Returns the writes since the start or since the last call, in order of execution, without the background work of gateways.
   */
  take(): Promise<RedisWrite[]>;
}

/**
 * Keys of background work. After any commit and at its own time, the relay moves events from an outbox to the feeds and stores its
 * cursor. The relay and re-wrapping take leases, a probe tests writes, and a replica notes its keys, their use and
 * counts of refreshes. The commit itself and all other leases use other keys.
 */
const BACKGROUND = /:(?:lease:(?:relay|rewrap)|cursor|feed:[^:]+|fed:[^:]+|probe|rps|ages|refreshes:[^:]+:[^:]+)$/;

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
    // Redis flags every script as writing; its actual writes are reported separately.
    if (info?.[2].includes('write') && !info[0].startsWith('eval')) keyAt.set(info[0], info[3]);
  }
  return ran.flatMap(({ args }) => {
    const name = args[0]?.toLowerCase() ?? '';
    const at = keyAt.get(name);
    return at === undefined ? [] : [{ name, key: args[at] ?? '' }];
  });
}
