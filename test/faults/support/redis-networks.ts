import {
  type RedisCluster,
  type RedisPlace,
  type RedisSentinel,
  type RedisServer,
  startRedisCluster,
  startRedisSentinel,
} from '@postern/testkit/redis';
import { type Machine, type Network, startNetwork } from './namespaces.ts';
import { until } from './until.ts';

/** Redis servers on separate virtual machines. */
export interface RedisNetwork extends AsyncDisposable {
  readonly network: Network;
  /** @throws TypeError for a server of another network */
  machineOf(server: RedisServer): Machine;
  /** Cuts all connections between a server and each of the others. */
  cut(server: RedisServer, others: readonly RedisServer[]): Promise<void>;
  heal(server: RedisServer, others: readonly RedisServer[]): Promise<void>;
}

export interface SentinelNetwork extends RedisNetwork {
  readonly redis: RedisSentinel;
}

export interface ClusterNetwork extends RedisNetwork {
  readonly redis: RedisCluster;
  /** Resolves when a former replica has replaced this master and reports a healthy cluster. */
  untilTakenOver(master: RedisServer): Promise<void>;
  /** Resolves when every master has a connected replica and every node reports a healthy cluster. */
  untilWhole(): Promise<void>;
}

/**
 * Replicas whose loss is noticed within seconds, and that catch up from the backlog. These settings make a fail-over faster, not more
 * likely.
 */
const QUICK: readonly string[] = [
  ...['--protected-mode', 'no', '--repl-ping-replica-period', '1', '--repl-timeout', '10'],
  ...['--repl-backlog-size', '32mb'],
];

/** A master, two replicas and three Sentinels. */
export async function startSentinelNetwork(args: readonly string[] = []): Promise<SentinelNetwork> {
  await using stack = new AsyncDisposableStack();
  const network = stack.use(await startNetwork());
  const machines = await machinesOf(network, 6);
  const redis = stack.use(
    await startRedisSentinel({
      args: [...QUICK, ...args],
      downAfterMs: 1_500,
      placeOf: node => placeOf(machines[node]),
      placeOfSentinel: sentinel => placeOf(machines[3 + sentinel]),
    }),
  );
  const owned = stack.move();
  return { redis, ...links(network, machines), [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Three masters with a replica each. */
export async function startClusterNetwork(args: readonly string[] = []): Promise<ClusterNetwork> {
  await using stack = new AsyncDisposableStack();
  const network = stack.use(await startNetwork());
  const machines = await machinesOf(network, 6);
  const redis = stack.use(
    await startRedisCluster({
      args: [...QUICK, ...args],
      replicasPerMaster: 1,
      nodeTimeoutMs: 1_500,
      placeOf: node => placeOf(machines[node]),
    }),
  );
  const owned = stack.move();
  return {
    redis,
    ...links(network, machines),
    async untilTakenOver(master) {
      await until('a replica in the place of its master', async () => {
        const masters = await redis.mastersNow();
        if (masters.includes(master) || masters.length < 3) return false;
        const infos = await Promise.all(masters.map(each => each.ask('CLUSTER', 'INFO')));
        return infos.every(info => info.includes('cluster_state:ok'));
      });
    },
    async untilWhole() {
      await until('a whole cluster', async () => {
        const infos = await Promise.all(redis.nodes.map(node => node.ask('CLUSTER', 'INFO')));
        if (!infos.every(info => info.includes('cluster_state:ok'))) return false;
        const masters = await redis.mastersNow();
        const followed = await Promise.all(masters.map(master => master.ask('INFO', 'replication')));
        return masters.length === 3 && followed.every(text => /^slave0:.*state=online/m.test(text));
      });
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function machinesOf(network: Network, count: number): Promise<readonly Machine[]> {
  const machines: Machine[] = [];
  for (let added = 0; added < count; added += 1) machines.push(await network.addMachine());
  return machines;
}

function placeOf(machine: Machine | undefined): RedisPlace | undefined {
  return machine === undefined ? undefined : { host: machine.address, launcher: machine.launcher };
}

function links(network: Network, machines: readonly Machine[]): Omit<RedisNetwork, keyof AsyncDisposable> {
  const machineOf = ({ host }: RedisServer) => {
    const machine = machines.find(({ address }) => address === host);
    if (machine === undefined) throw new TypeError('the server is not in this network');
    return machine;
  };
  return {
    network,
    machineOf,
    cut: async (server, others) => {
      for (const other of others) await network.cut(machineOf(server), machineOf(other));
    },
    heal: async (server, others) => {
      for (const other of others) await network.heal(machineOf(server), machineOf(other));
    },
  };
}
