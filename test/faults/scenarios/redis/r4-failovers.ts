import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { GatewayConfigInput } from '@postern/gateway';
import type { RedisServer } from '@postern/testkit/redis';
import type { FaultRun, Scenario } from '../../scenario.ts';
import { type RedisNetwork, startClusterNetwork, startSentinelNetwork } from '../../support/redis-networks.ts';
import { startTraffic } from '../../traffic.ts';
import { expectOnlyUnavailable, lostOutcomes, note, startPair, unavailableAnswers } from './common.ts';

type RedisConfig = NonNullable<GatewayConfigInput['redis']>;
type Profile = 'single' | 'ha';

/** A deployment with fail-over. */
interface Takeover {
  readonly net: RedisNetwork;
  readonly redis: RedisConfig;
  readonly master: RedisServer;
  readonly replicas: readonly RedisServer[];
  readonly untilReplaced: () => Promise<unknown>;
  readonly untilWhole: () => Promise<void>;
}

const sides = {
  Sentinel: async (run: FaultRun, profile: Profile): Promise<Takeover> => {
    const net = run.stack.use(await startSentinelNetwork(argsOf(profile)));
    const { masterName, sentinelUrls, nodes } = net.redis;
    const master = await net.redis.masterNow();
    return {
      net,
      master,
      replicas: nodes.filter(node => node !== master),
      redis: { sentinel: { masterName, nodes: [...sentinelUrls] }, ...durabilityOf(profile) },
      untilReplaced: () => net.redis.untilMasterIsNot(master),
      untilWhole: () => net.redis.untilReplicas(2),
    };
  },
  Cluster: async (run: FaultRun, profile: Profile): Promise<Takeover> => {
    const net = run.stack.use(await startClusterNetwork(argsOf(profile)));
    const master = run.random.pick(await net.redis.mastersNow());
    return {
      net,
      master,
      replicas: await net.redis.replicasOf(master),
      redis: { cluster: [...net.redis.urls], ...durabilityOf(profile) },
      untilReplaced: () => net.untilTakenOver(master),
      untilWhole: net.untilWhole,
    };
  },
} as const;

function durabilityOf(profile: Profile): Partial<RedisConfig> {
  return { durability: profile === 'ha' ? { profile, replicas: 1, timeoutMs: 500 } : { profile } };
}

/** The settings that docs/redis.md recommends for the profile. */
const argsOf = (profile: Profile) =>
  profile === 'ha' ? ['--min-replicas-to-write', '1', '--min-replicas-max-lag', '2'] : [];

/** Cuts the master from its replicas under traffic, then kills it; a replica is promoted. */
async function failOver(run: FaultRun, side: keyof typeof sides, profile: Profile): Promise<void> {
  const { net, redis, master, replicas, untilReplaced, untilWhole } = await sides[side](run, profile);
  const { world, addresses } = await startPair(run, redis);
  const traffic = await startTraffic(run, { world, timeoutMs: 8_000, attempts: 30 });
  await traffic.more(8);

  note(run, 'replicas cut off', master.url);
  await net.cut(master, replicas);
  const cutMs = run.random.between(1_000, 5_000);
  await delay(cutMs);
  note(run, 'killed', master.url);
  await master.kill();
  const began = performance.now();
  await untilReplaced();
  run.measure('replaced', performance.now() - began, 'ms');
  await net.heal(master, replicas);
  await master.restart();
  await traffic.more(8);
  run.measure('flows again', performance.now() - began, 'ms');
  await untilWhole();
  note(run, 'whole again');
  await traffic.settle({ replicas: () => addresses });

  run.measure('cut for', cutMs, 'ms');
  run.measure('answers 503', unavailableAnswers(run), '');
  run.measure('acknowledged outcomes lost', lostOutcomes(run), '');
  expectOnlyUnavailable(run);
}

function failOverOf(side: keyof typeof sides, length: 'short' | 'long'): readonly Scenario[] {
  return [
    {
      item: 'R4',
      name: `${side} fail-over after a cut link, profile ha: no acknowledged write is lost`,
      needs: ['namespaces'],
      length,
      async run(run) {
        await failOver(run, side, 'ha');
        assert.equal(lostOutcomes(run), 0);
      },
    },
    {
      item: 'R4',
      name: `${side} fail-over after a cut link, profile single: counts the lost writes`,
      needs: ['namespaces'],
      length: 'long',
      async run(run) {
        run.history.tolerate(
          ['I1', 'I2', 'I3', 'I4'],
          'docs/redis.md: without confirmation by a replica, a fail-over loses writes that the replica had not received',
        );
        await failOver(run, side, 'single');
      },
    },
  ];
}

export const failOvers: readonly Scenario[] = [...failOverOf('Sentinel', 'short'), ...failOverOf('Cluster', 'long')];
