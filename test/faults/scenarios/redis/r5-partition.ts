import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { indexed } from '../../checks/indexed.ts';
import { startFaultWorld } from '../../fault-world.ts';
import type { FaultRun, Scenario } from '../../scenario.ts';
import { startSentinelNetwork } from '../../support/redis-networks.ts';
import { startTraffic } from '../../traffic.ts';
import { expectOnlyUnavailable, lostOutcomes, note, RECOVERY_MS, unavailableAnswers } from './common.ts';

const partition: Scenario = {
  item: 'R5',
  name: 'a gateway and the old master on one side, everybody else on the other, and back together: nothing told is taken back',
  needs: ['namespaces'],
  async run(run) {
    const net = run.stack.use(
      await startSentinelNetwork(['--min-replicas-to-write', '1', '--min-replicas-max-lag', '2']),
    );
    const { redis, network } = net;
    const own = await network.addMachine();
    const master = await redis.masterNow();
    const others = [...redis.nodes.filter(node => node !== master), ...redis.sentinels];
    const world = await startFaultWorld(run, {
      redis: {
        sentinel: { masterName: redis.masterName, nodes: [...redis.sentinelUrls] },
        durability: { profile: 'ha', replicas: 1, timeoutMs: 500 },
      },
      hasWebhooks: false,
    });
    const alone = await world.startGateway('alone', { launcher: own.launcher, host: own.address });
    await world.startGateway('with the others');
    // Nobody signs in: identity providers are not to be reached from over there. MCP servers issue, read and cancel.
    const traffic = await startTraffic(run, { world, shares: { walkAway: 1, intrude: 0 }, attempts: 30 });
    await traffic.more(10);

    note(run, 'cut in two', master.url);
    for (const other of others) {
      await network.cut(net.machineOf(master), net.machineOf(other));
      await network.cut(own, net.machineOf(other));
    }
    const cutAt = run.history.entries.at(-1)?.at ?? 0;
    await redis.untilMasterIsNot(master);
    note(run, 'another master', master.url);
    await traffic.more(10);
    await delay(run.random.between(0, 2_000));
    const told = acknowledgedAt(run, alone.address, cutAt);
    for (const other of others) {
      await network.heal(net.machineOf(master), net.machineOf(other));
      await network.heal(own, net.machineOf(other));
    }
    note(run, 'whole again');
    await redis.untilReplicas(2);
    await traffic.more(10);
    await traffic.settle(run.isTimed ? { readyMs: RECOVERY_MS * 4 } : {});
    run.measure('acknowledged by the gateway alone', told, '');
    run.measure('answers 503', unavailableAnswers(run), '');
    run.measure('acknowledged outcomes lost', lostOutcomes(run), '');
    assert.equal(lostOutcomes(run), 0);
    expectOnlyUnavailable(run);
  },
};

/** What one gateway has answered 201 to from some time on. */
function acknowledgedAt({ history }: FaultRun, address: string, from: number): number {
  return indexed(history.entries).calls.filter(
    ({ request, response }) => request.to === address && response?.http === 201 && response.at > from,
  ).length;
}

export const partitions: readonly Scenario[] = [partition];
