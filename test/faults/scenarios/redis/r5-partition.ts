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
  name: 'network partition: a gateway and the old master against all others, then healed: no acknowledged write is revoked',
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
    // No sign-ins: this side cannot reach the identity provider. MCP servers issue, read and cancel.
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
    const acknowledged = acknowledgedAt(run, alone.address, cutAt);
    for (const other of others) {
      await network.heal(net.machineOf(master), net.machineOf(other));
      await network.heal(own, net.machineOf(other));
    }
    note(run, 'whole again');
    await redis.untilReplicas(2);
    await traffic.more(10);
    await traffic.settle(run.isTimed ? { readyMs: RECOVERY_MS * 4 } : {});
    run.measure('acknowledged by the gateway alone', acknowledged, '');
    run.measure('answers 503', unavailableAnswers(run), '');
    run.measure('acknowledged outcomes lost', lostOutcomes(run), '');
    assert.equal(lostOutcomes(run), 0);
    expectOnlyUnavailable(run);
  },
};

/** Counts the 201 responses of one gateway after this time. */
function acknowledgedAt({ history }: FaultRun, address: string, from: number): number {
  return indexed(history.entries).calls.filter(
    ({ request, response }) => request.to === address && response?.http === 201 && response.at > from,
  ).length;
}

export const partitions: readonly Scenario[] = [partition];
