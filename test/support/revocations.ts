import { SHARDS } from '@postern/elicitation';
import { Redis } from 'ioredis';
import { vi } from 'vitest';
import { dumpRedis } from './redis-dump.ts';
import type { World } from './world.ts';

/** Keys of the revocations that providers are still to be told, and of their indexes. */
export async function keptRevocations({ redis }: World): Promise<string[]> {
  return Object.keys(await dumpRedis(redis.url)).filter(key => /:(rv|rvs)(:|$)/.test(key));
}

/** Ends the back-off of every revocation that failed: all revocations that no process has claimed are due now. */
export async function endBackOff({ redis: { url } }: World): Promise<void> {
  const redis = new Redis(url);
  try {
    for (const index of await redis.keys('postern:*:rvs')) {
      for (const revocationId of await redis.zrange(index, '0', '-1')) await redis.zadd(index, 'XX', 0, revocationId);
    }
  } finally {
    redis.disconnect();
  }
}

/** Does now what a gateway process does by itself every few seconds: tells providers what is due. */
export async function tellWhatIsDue({ gateways }: World): Promise<void> {
  const revocationFlow = gateways[0]?.deps.revocationFlow;
  if (revocationFlow === undefined) throw new Error('there is no gateway');
  for (const shard of SHARDS)
    for (const revocation of await revocationFlow.due(shard)) await revocationFlow.tell(revocation);
}

/** When no provider has anything left to be told. What the gateway itself is just telling is waited for. */
export async function untilNothingIsKept(world: World): Promise<void> {
  await vi.waitFor(
    async () => {
      await tellWhatIsDue(world);
      const kept = await keptRevocations(world);
      if (kept.length > 0) throw new Error(`still to be told: ${kept.join(', ')}`);
    },
    { timeout: 100_000, interval: 100 },
  );
}

/** The same, without lending a hand. */
export async function untilSwept(world: World): Promise<void> {
  await vi.waitFor(
    async () => {
      if ((await keptRevocations(world)).length > 0) throw new Error('still to be told');
    },
    { timeout: 100_000, interval: 200 },
  );
}
