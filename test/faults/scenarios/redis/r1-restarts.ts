import { setTimeout as delay } from 'node:timers/promises';
import { type RedisServer, startRedis } from '@postern/testkit/redis';
import type { FaultRun, Scenario } from '../../scenario.ts';
import { startTraffic } from '../../traffic.ts';
import { expectOnlyUnavailable, expectRecovered, lostOutcomes, note, startPair, unavailableAnswers } from './common.ts';

/** Ends the Redis process and keeps its data. */
type Ending = 'stopped' | 'killed';

async function end(redis: RedisServer, ending: Ending): Promise<void> {
  // Redis exits instead of responding.
  if (ending === 'stopped') await redis.ask('SHUTDOWN', 'NOSAVE').catch(() => undefined);
  await redis.kill();
}

async function restart(run: FaultRun, fsync: 'everysec' | 'always', ending: Ending): Promise<void> {
  const redis = run.stack.use(await startRedis({ args: ['--appendfsync', fsync] }));
  const { world, addresses } = await startPair(run, { url: redis.url });
  const traffic = await startTraffic(run, { world });
  await traffic.more(8);
  for (let round = 0; round < (run.isLong ? 3 : 1); round += 1) {
    note(run, ending);
    await end(redis, ending);
    await delay(run.random.between(0, 1_500));
    await redis.restart();
    note(run, 'started');
    await expectRecovered(run, addresses);
    await traffic.more(8);
  }
  await traffic.settle();
  expectOnlyUnavailable(run);
  run.measure('answers 503', unavailableAnswers(run), '');
}

export const restarts: readonly Scenario[] = [
  {
    item: 'R1',
    name: 'killed and restarted under load, appendfsync always: no acknowledged write is lost',
    run: run => restart(run, 'always', 'killed'),
  },
  {
    item: 'R1',
    name: 'stopped and restarted under load, appendfsync everysec: no acknowledged write is lost',
    run: run => restart(run, 'everysec', 'stopped'),
  },
  {
    item: 'R1',
    name: 'killed and restarted under load, appendfsync everysec: counts the writes that a slow disk loses',
    async run(run) {
      // While an fsync is slow, Redis responds first and writes up to two seconds later (flushAppendOnlyFile in its aof.c).
      run.history.tolerate(['I1', 'I2', 'I3', 'I4'], 'appendfsync everysec on a slow disk: docs/redis.md');
      await restart(run, 'everysec', 'killed');
      run.measure('acknowledged outcomes lost', lostOutcomes(run), '');
    },
  },
];
