import { SHARDS } from '@postern/elicitation';
import { Redis } from 'ioredis';
import { vi } from 'vitest';
import { changeFile, dumpStore } from './store-dump.ts';
import type { World } from './world.ts';

/** Keys of the pending revocations and of their indexes. */
export async function keptRevocations(world: World): Promise<string[]> {
  return Object.keys(await dumpStore(world)).filter(key => /:(rv|rvs)(:|$)|^revocation:/.test(key));
}

/** Ends the back-off of every failed revocation: all unclaimed revocations are due now. */
export async function endBackOff(world: World): Promise<void> {
  if (world.file !== undefined) {
    changeFile(world, "UPDATE records SET rank = 0, value = json_set(value, '$.dueAt', 0) WHERE kind = 'revocation'");
    return;
  }
  const redis = new Redis(world.redis.url);
  try {
    for (const index of await redis.keys('postern:*:rvs')) {
      for (const revocationId of await redis.zrange(index, '0', '-1')) await redis.zadd(index, 'XX', 0, revocationId);
    }
  } finally {
    redis.disconnect();
  }
}

/** Sends all due revocations now, as a gateway process does every few seconds. */
export async function sendDueRevocations({ gateways }: World): Promise<void> {
  const revocationFlow = gateways[0]?.deps.revocationFlow;
  if (revocationFlow === undefined) throw new Error('there is no gateway');
  for (const shard of SHARDS)
    for (const revocation of await revocationFlow.claimDue(shard)) await revocationFlow.sendRevocation(revocation);
}

/** Resolves when no revocation is pending, including those that the gateway is sending. */
export async function untilNothingIsPending(world: World): Promise<void> {
  await vi.waitFor(
    async () => {
      await sendDueRevocations(world);
      const kept = await keptRevocations(world);
      if (kept.length > 0) throw new Error(`still pending: ${kept.join(', ')}`);
    },
    { timeout: 100_000, interval: 100 },
  );
}

/** Like {@link untilNothingIsPending}, without sending any itself. */
export async function untilSwept(world: World): Promise<void> {
  await vi.waitFor(
    async () => {
      if ((await keptRevocations(world)).length > 0) throw new Error('still pending');
    },
    { timeout: 100_000, interval: 200 },
  );
}
