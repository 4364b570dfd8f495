import { parseConnectionId, shardIn } from '@postern/elicitation';
import { Redis } from 'ioredis';
import { changeFile } from './store-dump.ts';
import type { World } from './world-parts.ts';

/** Address of a Redis, or a world over either store. */
type Place = string | Pick<World, 'redis' | 'file' | 'gateways'>;

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** Expires the access token of a connection without waiting. `now` is the time of the gateways. */
export function expireAccessToken(place: Place, connectionId: string, now = Date.now()): Promise<void> {
  return setLifetime(place, connectionId, { from: now - HOUR_MS, to: now - 1 });
}

/** Leaves the access token two minutes of its hour, so that it is due for a refresh. */
export function ageAccessToken(place: Place, connectionId: string, now = Date.now()): Promise<void> {
  return setLifetime(place, connectionId, { from: now - HOUR_MS + 2 * MINUTE_MS, to: now + 2 * MINUTE_MS });
}

/** Makes the token set a minute old: a token set of a few seconds is not refreshed after a rejection. */
export function settleTokenSet(place: Place, connectionId: string, now = Date.now()): Promise<void> {
  return setLifetime(place, connectionId, { from: now - MINUTE_MS });
}

/** Ends the lease of a refresh whose process was killed, and wakes waiting callers. */
export async function endRefreshLease(redisUrl: string, connectionId: string): Promise<void> {
  const redis = new Redis(redisUrl);
  try {
    await redis.hdel(keyOf(connectionId), 'lease');
    await redis.publish('postern:wake', connectionId);
  } finally {
    redis.disconnect();
  }
}

function keyOf(connectionId: string): string {
  const id = parseConnectionId(connectionId);
  if (id === undefined) throw new TypeError('invalid connection id');
  return `postern:{${shardIn(id)}}:cn:${id.slice(5)}`;
}

async function setLifetime(
  place: Place,
  connectionId: string,
  { from, to }: { from: number; to?: number },
): Promise<void> {
  if (typeof place !== 'string' && place.file !== undefined) {
    const times = Object.entries({ updatedAt: from, ...(to !== undefined && { accessTokenExpiresAt: to }) });
    for (const [name, time] of times)
      changeFile(
        place,
        `UPDATE records SET value = json_set(value, '$.connection.${name}', ?) WHERE kind = 'connection' AND id = ?`,
        ...[time, connectionId],
      );
    return;
  }
  const key = keyOf(connectionId);
  const redis = new Redis(typeof place === 'string' ? place : place.redis.url);
  try {
    const record = JSON.parse((await redis.hget(key, 'record')) ?? '') as { accessTokenExpiresAt?: number };
    const changed = to === undefined ? record : { ...record, accessTokenExpiresAt: to };
    await redis.hset(key, { record: JSON.stringify(changed), updatedAt: from });
  } finally {
    redis.disconnect();
  }
}
