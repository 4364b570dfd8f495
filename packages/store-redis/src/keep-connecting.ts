import type { Redis } from 'ioredis';

/**
 * Connects again a connection that has ended by itself: under Sentinel ioredis gives up for good when it is told to reconnect while it
 * is just looking for the master, as by an answer of the old one.
 * @returns what to call before it is closed on purpose
 */
export function keepConnecting(redis: Redis): () => void {
  const connect = () => {
    // What comes of it is told by its events.
    redis.connect().catch(() => undefined);
  };
  redis.on('end', connect);
  return () => redis.off('end', connect);
}
