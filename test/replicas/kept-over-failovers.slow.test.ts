/** The shipped and documented replicated Redis, ended in every way: every acknowledged elicitation is still there. */
import { createRedisStores } from '@postern/store-redis';
import { Ledger } from '@postern/testkit/contract';
import { type RedisCluster, type RedisServer, startRedisCluster } from '@postern/testkit/redis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { missingNeeds } from '../faults/needs.ts';
import { shippedAccess } from '../support/shipped-access.ts';
import { type ShippedHa, startShippedHa } from '../support/shipped-ha.ts';

/** Number of acknowledgements before the fault, and after it. */
const SOME = 40;

async function countOver(name: string, stores: Parameters<typeof createRedisStores>[0], work: () => Promise<void>) {
  await using open = await createRedisStores(stores);
  const ledger = new Ledger(open.elicitations);
  await ledger.writeDuring(work, SOME);
  await ledger.write(SOME);
  const found = await ledger.found();
  console.info(`${name}: ${ledger.written} acknowledged, ${found} found`);
  expect(found).toBe(ledger.written);
  expect(found).toBeGreaterThanOrEqual(2 * SOME);
}

const signals = { TERM: 'SIGTERM', KILL: 'SIGKILL' } as const;
const missing = await missingNeeds(['namespaces']);

describe.skipIf(missing.length > 0)(
  'infra/compose.ha.yml keeps everything acknowledged when',
  { timeout: 400_000 },
  () => {
    let ha: ShippedHa;
    beforeAll(async () => {
      ha = await startShippedHa();
    }, 200_000);
    afterAll(() => ha?.[Symbol.asyncDispose]());

    test.each(['TERM', 'KILL'] as const)('the master ends by %s and restarts before the Sentinels act', async way => {
      await countOver(`ha, master ${way}, back at once`, ha.options, async () => {
        const master = await ha.master();
        await master.end(signals[way]);
        master.start();
        await ha.untilWhole();
      });
    });

    test.each(['TERM', 'KILL'] as const)('the master ends by %s and restarts after the fail-over', async way => {
      await countOver(`ha, master ${way}, back after the fail-over`, ha.options, async () => {
        const master = await ha.master();
        await master.end(signals[way]);
        await ha.untilMasterIsNot(master);
        master.start();
        await ha.untilWhole();
      });
    });

    test('the master is killed and restarts during the fail-over, and then the new master is killed too', async () => {
      await countOver('ha, master KILL, back during the fail-over, new master KILL', ha.options, async () => {
        const master = await ha.master();
        await master.end('SIGKILL');
        await ha.untilChosen(master);
        master.start();
        const next = await ha.untilMasterIsNot(master);
        await ha.untilWhole();
        await next.end('SIGKILL');
        next.start();
        await ha.untilWhole();
      });
    });

    test.each(['TERM', 'KILL'] as const)('all nodes and Sentinels end by %s at once', async way => {
      await countOver(`ha, the whole stack ${way}`, ha.options, async () => {
        const all = [...ha.nodes, ...ha.sentinels];
        await Promise.all(all.map(each => each.end(signals[way])));
        for (const each of all) each.start();
        await ha.untilWhole();
      });
    });
  },
);

describe('a Cluster with the shipped users keeps everything acknowledged when', { timeout: 400_000 }, () => {
  let cluster: RedisCluster;
  beforeAll(async () => {
    cluster = await startRedisCluster({
      access: shippedAccess,
      replicasPerMaster: 1,
      args: ['--appendfsync', 'always'],
    });
  }, 200_000);
  afterAll(() => cluster?.[Symbol.asyncDispose]());

  const options = () => ({ nodes: cluster.urls, durability: { profile: 'ha' }, startTimeoutMs: 30_000 }) as const;
  const someMaster = async (): Promise<RedisServer> => {
    const [master] = await cluster.mastersNow();
    if (master === undefined) throw new Error('no master');
    return master;
  };
  const untilWhole = () =>
    expect
      .poll(
        async () => {
          const masters = await cluster.mastersNow();
          const infos = await Promise.all(masters.map(each => each.ask('INFO', 'replication').catch(() => '')));
          return infos.filter(text => /^slave0:.*state=online/m.test(text)).length;
        },
        { interval: 300 },
      )
      .toBe(3);

  test.each(['stop', 'kill'] as const)('a master ends by %s and restarts before the fail-over', async way => {
    await countOver(`cluster, master ${way}, back at once`, options(), async () => {
      const master = await someMaster();
      await master[way]();
      await master.restart();
      await untilWhole();
    });
  });

  test.each(['stop', 'kill'] as const)('a master ends by %s and restarts after the fail-over', async way => {
    await countOver(`cluster, master ${way}, back after the fail-over`, options(), async () => {
      const master = await someMaster();
      await master[way]();
      await cluster.untilMasterIsNot(master);
      await master.restart();
      await untilWhole();
    });
  });

  test('a master is killed and restarts during the fail-over', async () => {
    await countOver('cluster, master kill, back during the fail-over', options(), async () => {
      const master = await someMaster();
      const others = cluster.nodes.filter(node => node !== master);
      await master.kill();
      // The other nodes agree that it has failed, and its replica asks for their votes.
      const isFailing = new RegExp(`:${master.port}@\\S+ \\S*fail\\b`);
      await expect
        .poll(async () =>
          (await Promise.all(others.map(node => node.ask('CLUSTER', 'NODES').catch(() => '')))).join('\n'),
        )
        .toMatch(isFailing);
      await master.restart();
      await untilWhole();
    });
  });

  test.each(['stop', 'kill'] as const)('all nodes end by %s at once', async way => {
    await countOver(`cluster, all nodes ${way}`, options(), async () => {
      await Promise.all(cluster.nodes.map(node => node[way]()));
      await Promise.all(cluster.nodes.map(node => node.restart()));
      await untilWhole();
    });
  });
});
