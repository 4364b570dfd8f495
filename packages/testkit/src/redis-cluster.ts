import { type RedisServer, type RedisServerOptions, redisCli, startRedis, untilSeen } from './redis-server.ts';
import { startAll } from './start-all.ts';

export interface RedisClusterOptions extends Omit<RedisServerOptions, 'place'> {
  /** Replicas of each of the three masters. Default 0. */
  readonly replicasPerMaster?: number;
  /** Silence after which a node counts as failed, so that a replica may replace it. Default 2000. */
  readonly nodeTimeoutMs?: number;
  /** By node number, masters first. */
  readonly placeOf?: (node: number) => RedisServerOptions['place'];
}

export interface RedisCluster extends AsyncDisposable {
  /** The initial masters, then their replicas. */
  readonly nodes: readonly RedisServer[];
  readonly urls: readonly string[];
  /** The current masters, as a responding node knows them. */
  mastersNow(): Promise<readonly RedisServer[]>;
  /** The current replicas of the master's slots. */
  replicasOf(master: RedisServer): Promise<readonly RedisServer[]>;
  /** The current master of a key. */
  masterOf(key: string): Promise<RedisServer>;
  /** Resolves when this server is no longer a master and every slot has a master that accepts writes. */
  untilMasterIsNot(before: RedisServer): Promise<void>;
  /** Makes a replica the master, without loss. Resolves after the switch. */
  failover(replica: RedisServer): Promise<void>;
}

interface KnownNode {
  readonly id: string;
  readonly server: RedisServer | undefined;
  readonly flags: readonly string[];
  readonly masterId: string;
  readonly slots: readonly (readonly [number, number])[];
}

const MASTERS = 3;

/** Starts three masters, with or without replicas: enough to detect every command that leaves its slot. */
export async function startRedisCluster(options: RedisClusterOptions = {}): Promise<RedisCluster> {
  const { replicasPerMaster = 0, nodeTimeoutMs = 2_000, placeOf = () => undefined } = options;
  const args = [
    ...['--cluster-enabled', 'yes', '--cluster-node-timeout', String(nodeTimeoutMs)],
    // A replica that was cut off for a while is still better than no master.
    ...['--cluster-replica-validity-factor', '0'],
    ...(options.args ?? []),
  ];
  const numbers = Array.from({ length: MASTERS * (1 + replicasPerMaster) }, (_, number) => number);
  const nodes = await startAll(
    numbers.map(number => {
      const place = placeOf(number);
      return startRedis({ ...options, args, place });
    }),
  );
  const stop = async () => {
    await Promise.all(nodes.map(node => node[Symbol.asyncDispose]()));
  };
  const any = async (...command: readonly string[]) => {
    for (const node of nodes) {
      const answer = await node.ask(...command).catch(() => '');
      if (answer !== '') return answer;
    }
    throw new Error('No node of the cluster answers.');
  };
  const known = async () => nodesIn(await any('CLUSTER', 'NODES'), nodes);
  const mastersNow = async () => (await known()).flatMap(node => (leads(node) ? (node.server ?? []) : []));
  const replicasOf = async (master: RedisServer) => {
    const all = await known();
    const id = all.find(node => node.server === master)?.id;
    return all.flatMap(node => (node.masterId === id && isSound(node) ? (node.server ?? []) : []));
  };
  try {
    const [first] = nodes;
    if (first === undefined) throw new Error('A cluster has nodes.');
    const addresses = nodes.map(({ host, port }) => `${host}:${port}`);
    const { tls, access } = options;
    await redisCli({ host: first.host, port: first.port, tls, access }, [
      ...['--cluster', 'create', ...addresses],
      ...['--cluster-replicas', String(replicasPerMaster), '--cluster-yes'],
    ]);
    for (const node of nodes) {
      await untilSeen(async () => (await node.ask('CLUSTER', 'INFO')).includes('cluster_state:ok'));
    }
    for (const node of nodes.slice(0, MASTERS)) {
      await untilSeen(async () =>
        (await node.ask('INFO', 'replication')).includes(`connected_slaves:${replicasPerMaster}`),
      );
    }
    // The other nodes learn later what a master knows about its replicas.
    for (const node of nodes) {
      await untilSeen(async () => {
        const all = nodesIn(await node.ask('CLUSTER', 'NODES'), nodes);
        return (
          all.filter(({ flags, masterId }) => flags.includes('slave') && masterId !== '-').length ===
          nodes.length - MASTERS
        );
      });
    }
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    nodes,
    urls: nodes.map(({ url }) => url),
    mastersNow,
    replicasOf,
    async masterOf(key) {
      const slot = Number(await any('CLUSTER', 'KEYSLOT', key));
      const found = (await known()).find(
        node => leads(node) && node.slots.some(([first, last]) => slot >= first && slot <= last),
      );
      if (found?.server === undefined) throw new Error('No master has that key.');
      return found.server;
    },
    untilMasterIsNot: before =>
      untilSeen(async () => {
        const masters = await mastersNow();
        if (masters.includes(before) || masters.length < MASTERS) return false;
        const states = await Promise.all(masters.map(master => master.ask('CLUSTER', 'INFO').catch(() => '')));
        return states.every(state => state.includes('cluster_state:ok'));
      }),
    async failover(replica) {
      await replica.ask('CLUSTER', 'FAILOVER');
      await untilSeen(async () => (await mastersNow()).includes(replica));
    },
    [Symbol.asyncDispose]: stop,
  };
}

const isSound = ({ flags }: KnownNode) => !flags.some(flag => /fail|noaddr|handshake/.test(flag));
const leads = (node: KnownNode) => node.flags.includes('master') && node.slots.length > 0 && isSound(node);

/** Reads CLUSTER NODES: id, address, flags, master, two times, epoch, link, slots. */
function nodesIn(answer: string, servers: readonly RedisServer[]): readonly KnownNode[] {
  return answer
    .split('\n')
    .filter(line => line !== '')
    .map(line => {
      const [id = '', address = '', flags = '', masterId = '', , , , , ...slots] = line.split(' ');
      const port = Number(/:(\d+)@/.exec(address)?.[1]);
      return {
        id,
        server: servers.find(server => server.port === port),
        flags: flags.split(','),
        masterId,
        slots: slots.flatMap(range => {
          const [, first, last = first] = /^(\d+)(?:-(\d+))?$/.exec(range) ?? [];
          return first === undefined ? [] : [[Number(first), Number(last)] as const];
        }),
      };
    });
}
