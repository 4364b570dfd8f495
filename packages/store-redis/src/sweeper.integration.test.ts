import { createElicitationService, shardIn, systemEntropy } from '@postern/elicitation';
import { createFakeClock } from '@postern/testkit/clock';
import { samples } from '@postern/testkit/contract';
import { startRedis } from '@postern/testkit/redis';
import { expect, test } from 'vitest';
import { createRedisStores, startSweeper } from './index.ts';

const { ask, created, engage, hold, moved, somebody } = samples;

test('several replicas sweep at once: each elicitation ends once, with one event', async () => {
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
  await expect.poll(statuses, { timeout: 20_000 }).toEqual([...open.map(() => 'expired'), 'failed']);
  await Promise.all(sweepers.map(sweeper => sweeper.stop()));

  for (const { elicitationId, version } of [...open, held]) {
    const logged = await stores.events.read(shardIn(elicitationId), { limit: 1_000 });
    const mine = logged.filter(({ event }) => event.elicitationId === elicitationId);
    expect(mine).toHaveLength(version + 1);
  }
  expect(errors).toEqual([]);
  await Promise.all(replicas.map(replica => replica.close()));
});
