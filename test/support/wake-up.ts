import { Redis } from 'ioredis';

/** Resolves when what `id` names has changed: the moment after its new state was stored. @returns once it is listening */
export async function listenForWakeUp(redisUrl: string, id: string): Promise<{ woken: Promise<void> }> {
  const redis = new Redis(redisUrl);
  const { promise, resolve } = Promise.withResolvers<void>();
  redis.on('message', (_channel: string, message: string) => {
    if (message !== id) return;
    redis.disconnect();
    resolve();
  });
  await redis.subscribe('postern:wake');
  return { woken: promise };
}
