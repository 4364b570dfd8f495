import { parseConnectionId, shardIn } from '@postern/elicitation';
import { Redis } from 'ioredis';

/** Lets the access token of a connection be over, without anybody having to wait for it. */
export async function expireAccessToken(redisUrl: string, connectionId: string): Promise<void> {
  const id = parseConnectionId(connectionId);
  if (id === undefined) throw new TypeError('not the id of a connection');
  const redis = new Redis(redisUrl);
  try {
    const key = `postern:{${shardIn(id)}}:cn:${id.slice(5)}`;
    const record = JSON.parse((await redis.hget(key, 'record')) ?? '') as { accessTokenExpiresAt?: number };
    await redis.hset(key, 'record', JSON.stringify({ ...record, accessTokenExpiresAt: Date.now() - 1 }));
  } finally {
    redis.disconnect();
  }
}
