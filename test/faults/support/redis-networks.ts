import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Network, startNetwork } from './namespaces.ts';
import {
  REDIS_PORT,
  type RedisMachine,
  redisCli,
  SENTINEL_PORT,
  SERVER_ARGS,
  startRedisMachine,
} from './redis-machine.ts';
import { until } from './until.ts';

export interface SentinelNetwork extends AsyncDisposable {
  readonly network: Network;
  readonly masterName: string;
  /** The first one is the master to begin with. */
  readonly servers: readonly [RedisMachine, RedisMachine, RedisMachine];
  readonly sentinels: readonly RedisMachine[];
  /** As the sentinels are named in a configuration. */
  readonly sentinelUrls: readonly string[];
  /** Whom most sentinels call the master now. */
  master(): Promise<RedisMachine>;
  /** Resolves when the sentinels have made another one master, with how long that took in ms. */
  untilReplaced(former: RedisMachine): Promise<number>;
  /** Resolves when every server but the master follows it and has caught up. */
  untilInStep(): Promise<void>;
}

export interface RedisNetworkOptions {
  /** Further arguments of every server. */
  readonly args?: readonly string[];
}

const MASTER_NAME = 'postern';
const QUORUM = 2;

/** A master, two replicas and three sentinels, each on a machine of its own. */
export async function startSentinelNetwork(options: RedisNetworkOptions = {}): Promise<SentinelNetwork> {
  await using stack = new AsyncDisposableStack();
  const network = stack.use(await startNetwork());
  const server = async (...args: readonly string[]) => {
    const machine = await network.addMachine();
    const all = [...SERVER_ARGS, '--replica-announce-ip', machine.address, ...(options.args ?? []), ...args];
    return stack.use(await startRedisMachine(machine, REDIS_PORT, all));
  };
  const first = await server();
  const follow = ['--replicaof', first.machine.address, String(REDIS_PORT)];
  const servers = [first, await server(...follow), await server(...follow)] as const;
  const sentinels: RedisMachine[] = [];
  for (let count = 0; count < 3; count += 1) {
    const machine = await network.addMachine();
    const config = async (directory: string) => {
      const file = join(directory, 'sentinel.conf');
      await writeFile(file, sentinelConfig(machine.address, directory, first.machine.address));
      return [file, '--sentinel'];
    };
    sentinels.push(stack.use(await startRedisMachine(machine, SENTINEL_PORT, config)));
  }

  const masterOf = async (sentinel: RedisMachine) =>
    (await sentinel.cli('sentinel', 'get-master-addr-by-name', MASTER_NAME)).split('\n')[0];
  async function master(): Promise<RedisMachine> {
    const answers = await Promise.all(sentinels.map(sentinel => masterOf(sentinel).catch(() => undefined)));
    const chosen = servers.find(({ machine }) => answers.filter(answer => answer === machine.address).length >= QUORUM);
    if (chosen === undefined) throw new Error('the sentinels do not agree on a master');
    return chosen;
  }
  async function untilInStep(): Promise<void> {
    await until('every replica follows the master', async () => {
      const leader = await master();
      const followers = servers.filter(it => it !== leader);
      const states = await Promise.all(followers.map(it => linkOf(it)));
      return states.every(({ host, link }) => host === leader.machine.address && link === 'up');
    });
  }

  await untilInStep();
  await until('every sentinel knows the others', async () => {
    const known = await Promise.all(sentinels.map(sentinel => sentinel.info('sentinel', 'master0')));
    return known.every(line => /status=ok.*slaves=2,sentinels=3/.test(line ?? ''));
  });
  const owned = stack.move();
  return {
    network,
    masterName: MASTER_NAME,
    servers,
    sentinels,
    sentinelUrls: sentinels.map(({ url }) => url),
    master,
    untilReplaced: former =>
      until('another master', async () => {
        const leader = await master();
        return leader !== former && (await leader.info('replication', 'role')) === 'master';
      }),
    untilInStep,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function linkOf(server: RedisMachine): Promise<{ host: string | undefined; link: string | undefined }> {
  const field = async (name: string) => server.info('replication', name);
  return { host: await field('master_host'), link: await field('master_link_status') };
}

function sentinelConfig(address: string, directory: string, master: string): string {
  return [
    `port ${SENTINEL_PORT}`,
    `bind ${address} 127.0.0.1`,
    `dir ${directory}`,
    'protected-mode no',
    `sentinel monitor ${MASTER_NAME} ${master} ${REDIS_PORT} ${QUORUM}`,
    `sentinel down-after-milliseconds ${MASTER_NAME} 1500`,
    `sentinel failover-timeout ${MASTER_NAME} 6000`,
    '',
  ].join('\n');
}

export interface ClusterNetwork extends AsyncDisposable {
  readonly network: Network;
  /** Three masters to begin with, then three replicas, in an order of the cluster's choosing. */
  readonly servers: readonly RedisMachine[];
  readonly urls: readonly string[];
  masters(): Promise<readonly ClusterMaster[]>;
  /** Resolves when one of the replicas has taken its place, with how long that took in ms. */
  untilReplaced(former: ClusterMaster): Promise<number>;
  /** Resolves when every slot has a master and every master a connected replica. */
  untilWhole(): Promise<void>;
}

export interface ClusterMaster {
  readonly server: RedisMachine;
  readonly replicas: readonly RedisMachine[];
  readonly slots: string;
}

/** Three masters with a replica each, every one on a machine of its own. */
export async function startClusterNetwork(options: RedisNetworkOptions = {}): Promise<ClusterNetwork> {
  await using stack = new AsyncDisposableStack();
  const network = stack.use(await startNetwork());
  const clustered = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '1500', ...(options.args ?? [])];
  const servers: RedisMachine[] = [];
  for (let count = 0; count < 6; count += 1) {
    const machine = await network.addMachine();
    servers.push(stack.use(await startRedisMachine(machine, REDIS_PORT, [...SERVER_ARGS, ...clustered])));
  }
  const addresses = servers.map(({ machine }) => `${machine.address}:${REDIS_PORT}`);
  await redisCli(['--cluster', 'create', ...addresses, '--cluster-replicas', '1', '--cluster-yes'], 60_000);

  const at = (address: string | undefined) => servers.find(({ machine }) => machine.address === address);
  async function masters(): Promise<readonly ClusterMaster[]> {
    const nodes = await anyAnswer(servers);
    return nodes
      .filter(({ flags, slots }) => flags.includes('master') && !flags.includes('fail') && slots !== '')
      .map(({ id, address, slots }) => {
        const server = at(address);
        if (server === undefined) throw new Error(`no machine at ${address}`);
        const followers = nodes.filter(node => node.masterId === id && !node.flags.includes('fail'));
        return { server, slots, replicas: followers.map(node => at(node.address)).filter(it => it !== undefined) };
      });
  }
  async function untilWhole(): Promise<void> {
    await until('a whole cluster', async () => {
      const answers = await Promise.all(servers.map(server => server.cli('cluster', 'info')));
      if (!answers.every(answer => answer.includes('cluster_state:ok'))) return false;
      const leaders = await masters();
      const counts = await Promise.all(leaders.map(({ server }) => server.info('replication', 'connected_slaves')));
      return leaders.length === 3 && counts.every(count => count === '1');
    });
  }
  await untilWhole();
  const owned = stack.move();
  return {
    network,
    servers,
    urls: servers.map(({ url }) => url),
    masters,
    untilReplaced: former =>
      until('a replica in the place of its master', async () => {
        const heir = (await masters()).find(({ slots }) => slots === former.slots);
        if (heir === undefined || heir.server === former.server) return false;
        return (await heir.server.cli('cluster', 'info')).includes('cluster_state:ok');
      }),
    untilWhole,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

interface ClusterNode {
  readonly id: string;
  readonly address: string | undefined;
  readonly flags: readonly string[];
  readonly masterId: string;
  readonly slots: string;
}

/** CLUSTER NODES of the first server that answers. */
async function anyAnswer(servers: readonly RedisMachine[]): Promise<readonly ClusterNode[]> {
  const answer = await Promise.any(servers.map(server => server.cli('cluster', 'nodes')));
  return answer.split('\n').map(line => {
    const [id = '', endpoint, flags = '', masterId = '', , , , ...slots] = line.split(' ');
    // A node knows itself by its own address too once others have told it.
    return { id, address: endpoint?.split(':')[0], flags: flags.split(','), masterId, slots: slots.slice(1).join(' ') };
  });
}
