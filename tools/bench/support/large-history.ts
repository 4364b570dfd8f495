import type { RedisServer } from '@postern/testkit/redis';
import { Redis } from 'ioredis';
import { HttpConnection, httpRequest } from '../../../test/support/http-connection.ts';
import { type CapturedCommand, captureCommands } from './captured-command.ts';
import { apiHeaders, type GatewayProcess } from './gateway.ts';
import { issueOnce, lastingAsk } from './issuing.ts';
import { replay } from './replay.ts';
import { connectAll } from './seeds.ts';
import { untilAnnounced } from './stored.ts';

/** One of so many has ended. */
const ENDED_EVERY = 10;
/** One user has connected for so many elicitations. */
const CONNECTION_EVERY = 50;
/** As long as counts are kept by default. */
const DAYS = 90;
const DAY_MS = 24 * 3_600_000;

/** Commands that read belong to no history. */
const READS: ReadonlySet<string> = new Set(['hmget', 'hget', 'get']);

/**
 * Fills Redis with what a large deployment has after 90 days: open and ended elicitations with their audit lines, connections, and counts
 * of every hour. Everything is what the gateway itself sends or stores.
 * @param vaultKey of the gateway
 */
export async function fillHistory(
  server: RedisServer,
  gateway: GatewayProcess,
  p: { readonly elicitations: number; readonly vaultKey: string },
): Promise<void> {
  const { url } = server;
  const redis = new Redis(url);
  await issueOnce(gateway, lastingAsk);
  // Start MONITOR while there is no other traffic.
  await untilAnnounced(redis);
  const open = await captured(url, () => issueOnce(gateway, lastingAsk));
  await untilAnnounced(redis);
  const ended = await captured(url, async () => {
    const issued = await issueOnce(gateway, lastingAsk);
    await cancel(gateway, issued.id);
    return issued;
  });
  await connectAll(url, p.vaultKey, p.elicitations / CONNECTION_EVERY);
  await replay(url, p.elicitations, nth => (nth % ENDED_EVERY === 0 ? ended : open));
  await untilAnnounced(redis);
  await fillCounts(redis);
  redis.disconnect();
}

async function captured(
  redisUrl: string,
  act: Parameters<typeof captureCommands>[1],
): Promise<readonly CapturedCommand[]> {
  return (await captureCommands(redisUrl, act)).filter(({ name }) => !READS.has(name.toLowerCase()));
}

async function cancel({ port }: GatewayProcess, id: string): Promise<void> {
  using connection = await HttpConnection.open(port);
  const { status } = await connection.request(
    httpRequest('POST', `/v1/elicitations/${id}/cancel`, port, apiHeaders, '{}'),
  );
  if (status !== 200) throw new Error(`cancelling was answered with ${status}`);
}

/** Gives each hour of the last days the counts that the relay has written for this hour. */
async function fillCounts(redis: Redis): Promise<void> {
  for (const key of await redis.keys('postern:*:counts:*')) {
    const counted = await redis.hgetall(key);
    const [, name = '', today = ''] = /^(.+:)([\d-]+)$/.exec(key) ?? [];
    const pipeline = redis.pipeline();
    for (let day = 0; day < DAYS; day += 1) {
      const at = new Date(Date.parse(today) - day * DAY_MS).toISOString().slice(0, 10);
      // A field starts with its hour, in two digits.
      for (const [field, count] of Object.entries(counted))
        for (let hour = 0; hour < 24; hour += 1)
          pipeline.hset(`${name}${at}`, `${String(hour).padStart(2, '0')}${field.slice(2)}`, count);
    }
    await pipeline.exec();
  }
}
