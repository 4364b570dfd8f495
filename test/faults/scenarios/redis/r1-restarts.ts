import { setTimeout as delay } from 'node:timers/promises';
import { startRedis } from '@postern/testkit/redis';
import type { Scenario } from '../../scenario.ts';
import { startTraffic } from '../../traffic.ts';
import { expectOnlyUnavailable, expectRecovered, note, startPair, unavailableAnswers } from './common.ts';

function restarted(fsync: 'everysec' | 'always'): Scenario {
  return {
    item: 'R1',
    name: `killed and started again under load, appendfsync ${fsync}: everything acknowledged is there`,
    async run(run) {
      const redis = run.stack.use(await startRedis({ args: ['--appendfsync', fsync] }));
      const { world, addresses } = await startPair(run, { url: redis.url });
      const traffic = await startTraffic(run, { world });
      await traffic.more(8);
      for (let round = 0; round < (run.isLong ? 3 : 1); round += 1) {
        note(run, 'killed');
        await redis.kill();
        await delay(run.random.between(0, 1_500));
        await redis.restart();
        note(run, 'started');
        await expectRecovered(run, addresses);
        await traffic.more(8);
      }
      await traffic.settle();
      expectOnlyUnavailable(run);
      run.measure('answers 503', unavailableAnswers(run), '');
    },
  };
}

export const restarts: readonly Scenario[] = [restarted('everysec'), restarted('always')];
