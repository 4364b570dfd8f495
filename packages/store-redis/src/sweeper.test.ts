import {
  createElicitationService,
  newRevocationId,
  shardIn,
  shardOf,
  startSweeper,
  systemEntropy,
} from '@postern/elicitation';
import { createFakeClock } from '@postern/testkit/clock';
import { samples } from '@postern/testkit/contract';
import { startRedis } from '@postern/testkit/redis';
import { expect, test } from 'vitest';
import { createRedisStores } from './index.ts';

const { ask, created, engage, hold, moved, somebody } = samples;

test('several replicas sweep concurrently: each elicitation ends once, with one event', async () => {
  const clock = createFakeClock();
  await using redis = await startRedis();
  const replicas = await Promise.all([0, 1, 2].map(() => createRedisStores({ url: redis.url, now: clock.now })));
  const [stores] = replicas;
  if (stores === undefined) throw new Error('No replica.');

  const open = await Promise.all(Array.from({ length: 40 }, () => created(stores.elicitations, ask(somebody()))));
  const held = await moved(stores.elicitations, await created(stores.elicitations, ask(somebody())), engage, hold);
  clock.advance(samples.TTL_MS);

  const errors: unknown[] = [];
  const sweepers = replicas.map(({ elicitations, connections, notifier }) => {
    const service = createElicitationService({
      elicitations,
      connections,
      notifier,
      providers: () => undefined,
      audit: () => {},
      entropy: systemEntropy,
      now: clock.now,
    });
    return startSweeper({
      due: (shard, limit) => elicitations.due(shard, limit),
      handle: service.expire,
      onError: error => errors.push(error),
      intervalMs: 1,
      shardsPerTick: 256,
    });
  });
  const statuses = () =>
    Promise.all([...open, held].map(async of => (await stores.elicitations.read(of.elicitationId))?.status));
  await expect.poll(statuses).toEqual([...open.map(() => 'expired'), 'failed']);
  await Promise.all(sweepers.map(sweeper => sweeper.stop()));

  for (const { elicitationId, version } of [...open, held]) {
    const logged = await stores.events.read(shardIn(elicitationId), { limit: 1_000 });
    const mine = logged.filter(({ event }) => event.elicitationId === elicitationId);
    expect(mine).toHaveLength(version + 1);
  }
  expect(errors).toEqual([]);
  await Promise.all(replicas.map(replica => replica.close()));
});

test('concurrent replicas attempt each revocation once, and again after an attempt without a result', async () => {
  const clock = createFakeClock();
  await using redis = await startRedis();
  const replicas = await Promise.all([0, 1, 2].map(() => createRedisStores({ url: redis.url, now: clock.now })));
  const [stores] = replicas;
  if (stores === undefined) throw new Error('No replica.');
  const revocationIds = await Promise.all(
    Array.from({ length: 30 }, async () => {
      const subject = somebody();
      const revocationId = newRevocationId(shardOf(subject), systemEntropy);
      const { elicitationId } = ask(subject).elicitation;
      await stores.revocations.add({ ...samples.connectionFor(subject, elicitationId), revocationId });
      return revocationId;
    }),
  );

  const attempted: string[] = [];
  const errors: unknown[] = [];
  let isProviderUp = false;
  const sweepers = replicas.map(({ revocations }) =>
    startSweeper({
      due: (shard, limit) => revocations.claim(shard, { limit, leaseMs: samples.MINUTE }),
      handle: async ({ revocationId, owner, attempts }) => {
        attempted.push(`${revocationId} ${attempts}`);
        if (isProviderUp) await revocations.finish({ revocationId, owner });
      },
      onError: error => errors.push(error),
      intervalMs: 1,
      shardsPerTick: 256,
    }),
  );
  const attempts = (nth: number) => revocationIds.map(revocationId => `${revocationId} ${nth}`);
  await expect.poll(() => attempted.length).toBe(30);
  isProviderUp = true;
  clock.advance(samples.MINUTE);
  await expect.poll(() => attempted.length).toBe(60);
  await Promise.all(sweepers.map(sweeper => sweeper.stop()));

  expect(attempted.toSorted()).toEqual([...attempts(1), ...attempts(2)].sort());
  expect(errors).toEqual([]);
  for (const revocationId of revocationIds)
    expect(await stores.revocations.claimOne(revocationId, samples.MINUTE)).toBeUndefined();
  await Promise.all(replicas.map(replica => replica.close()));
});
