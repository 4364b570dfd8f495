import { Redis } from 'ioredis';

/**
 * Resolves when the record `id` has changed this many times, right after its last new state was stored.
 * @returns once it is listening
 */
export async function listenForWakeUp(redisUrl: string, id: string, times = 1): Promise<{ woken: Promise<void> }> {
  const redis = new Redis(redisUrl);
  const { promise, resolve } = Promise.withResolvers<void>();
  let left = times;
  redis.on('message', (_channel: string, message: string) => {
    if (message !== id) return;
    left -= 1;
    if (left > 0) return;
    redis.disconnect();
    resolve();
  });
  await redis.subscribe('postern:wake');
  return { woken: promise };
}
