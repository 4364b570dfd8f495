import assert from 'node:assert/strict';
import { createRedisStores } from '@postern/store-redis';
import { type RedisCluster, startRedisCluster } from '@postern/testkit/redis';
import type { Scenario } from '../../scenario.ts';
import { startTraffic } from '../../traffic.ts';
import { calledScripts } from './called-scripts.ts';
import { expectOnlyUnavailable, startPair } from './common.ts';
import { scriptCases } from './script-cases.ts';

/** Subjects per script: enough for every node to own some. */
const PERSONS = 6;

export const oneSlot: readonly Scenario[] = [
  {
    item: 'R12',
    name: 'every script, and complete flows with their webhooks, on a cluster: no key in a foreign slot',
    async run(run) {
      const cluster = run.stack.use(await startRedisCluster());
      const stores = run.stack.use(await createRedisStores({ nodes: cluster.urls }));
      for (const name of calledScripts)
        await Promise.all(
          Array.from({ length: PERSONS }, async () => (await scriptCases[name].prepare(stores))(stores)),
        );
      run.measure('scripts', calledScripts.length, '');
      const { world } = await startPair(run, { cluster: [...cluster.urls] });
      const traffic = await startTraffic(run, { world });
      await traffic.more(run.isLong ? 100 : 15);
      await traffic.settle();
      expectOnlyUnavailable(run);
      await expectOwnSlots(cluster);
      assert.ok(
        run.history.entries.some(({ what }) => what === 'delivery'),
        'the webhook queue was used as well',
      );
    },
  },
];

async function expectOwnSlots({ nodes }: RedisCluster): Promise<void> {
  for (const node of nodes) {
    const [commands, errors] = await Promise.all([node.ask('INFO', 'commandstats'), node.ask('INFO', 'errorstats')]);
    const count = (text: string, pattern: RegExp) => Number(pattern.exec(text)?.[1] ?? 0);
    assert.ok(count(commands, /^cmdstat_evalsha:calls=(\d+)/m) > 0, 'every node has run scripts');
    assert.doesNotMatch(errors, /errorstat_CROSSSLOT:/);
    // An undeclared key is an error inside a script. The only other allowed error is an unknown script.
    const failed = ['eval', 'evalsha'].map(name =>
      count(commands, new RegExp(`^cmdstat_${name}:.*failed_calls=(\\d+)`, 'm')),
    );
    assert.equal(
      failed.reduce((sum, each) => sum + each, 0),
      count(errors, /^errorstat_NOSCRIPT:count=(\d+)/m),
    );
  }
}
