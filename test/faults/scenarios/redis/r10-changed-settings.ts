import { startRedis } from '@postern/testkit/redis';
import { HANG_MS } from '../../hang.ts';
import type { Scenario } from '../../scenario.ts';
import { until } from '../../support/until.ts';
import { isReady, note, startPair } from './common.ts';

const changes = [
  { setting: 'maxmemory-policy', unsafe: 'allkeys-lru', safe: 'noeviction' },
  { setting: 'appendonly', unsafe: 'no', safe: 'yes' },
] as const;

/** Interval of the watch in every process, plus its duration. */
const NOTICED_MS = 15_000;

export const changedSettings: readonly Scenario[] = [
  {
    item: 'R10',
    name: 'eviction allowed, or the append-only file turned off, at run time: not ready until it is fixed',
    async run(run) {
      const redis = run.stack.use(await startRedis());
      const { addresses } = await startPair(run, { url: redis.url }, { hasWebhooks: false });
      const all = async (wanted: boolean) =>
        (await Promise.all(addresses.map(isReady))).every(ready => ready === wanted);
      await until('all gateways to be ready', () => all(true));
      const withinMs = run.isTimed ? NOTICED_MS : HANG_MS;
      for (const { setting, unsafe, safe } of changes) {
        await redis.ask('CONFIG', 'SET', setting, unsafe);
        note(run, `${setting} ${unsafe}`);
        run.measure(`${setting} noticed`, await until('all gateways to be unready', () => all(false), withinMs), 'ms');
        await redis.ask('CONFIG', 'SET', setting, safe);
        note(run, `${setting} ${safe}`);
        run.measure(`${setting} mended`, await until('all gateways to be ready', () => all(true), withinMs), 'ms');
      }
    },
  },
];
