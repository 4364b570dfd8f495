import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';

async function directoryOf(redis: Redis): Promise<string> {
  const [, directory = ''] = (await redis.config('GET', 'dir')) as string[];
  return directory;
}

async function withRedis<T>(url: string, run: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url);
  try {
    return await run(redis);
  } finally {
    redis.disconnect();
  }
}

/** The append-only file of a Redis on this machine, as it lies on the disk. */
export function appendOnlyFile(url: string): Promise<string> {
  return withRedis(url, async redis => {
    const home = join(await directoryOf(redis), 'appendonlydir');
    return readdirSync(home)
      .map(name => readFileSync(join(home, name), 'latin1'))
      .join('\n');
  });
}

/** An RDB snapshot of a Redis on this machine. Not compressed: what is compressed cannot be searched. */
export function snapshot(url: string): Promise<string> {
  return withRedis(url, async redis => {
    await redis.config('SET', 'rdbcompression', 'no');
    await redis.save();
    const [, name = ''] = (await redis.config('GET', 'dbfilename')) as string[];
    return readFileSync(join(await directoryOf(redis), name), 'latin1');
  });
}

/** Every command that a Redis runs from now on, with its arguments, those inside scripts included (MONITOR). */
export async function watchCommands(url: string): Promise<{ readonly text: () => string } & Disposable> {
  const redis = new Redis(url);
  const commands: string[] = [];
  const monitor = await redis.monitor();
  monitor.on('monitor', (_time: string, args: string[]) => void commands.push(args.join(' ')));
  return {
    text: () => commands.join('\n'),
    [Symbol.dispose]() {
      monitor.disconnect();
      redis.disconnect();
    },
  };
}
