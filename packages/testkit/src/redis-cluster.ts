import { type RedisServer, type RedisServerOptions, redisCli, startRedis, untilSeen } from './redis-server.ts';
import { startAll } from './start-all.ts';

export interface RedisClusterOptions extends Omit<RedisServerOptions, 'place'> {
  /** Of each of the three masters. Default 0. */
  readonly replicasPerMaster?: number;
  /** After so much silence a node counts as failed, and a replica may take its place. Default 2000. */
  readonly nodeTimeoutMs?: number;
  /** By number of the node, the masters first. */
  readonly placeOf?: (node: number) => RedisServerOptions['place'];
}

export interface RedisCluster extends AsyncDisposable {
  /** The masters as they were at the start, then their replicas. */
  readonly nodes: readonly RedisServer[];
  readonly urls: readonly string[];
  /** The masters of this moment, as one of the nodes that answer knows them. */
  mastersNow(): Promise<readonly RedisServer[]>;
  /** Replicas of this moment that hold a copy of the same slots. */
  replicasOf(master: RedisServer): Promise<readonly RedisServer[]>;
  /** The master of this moment in which a key lies. */
  masterOf(key: string): Promise<RedisServer>;
  /** Resolves when this one leads no more and every slot has a master that takes writes. */
  untilMasterIsNot(before: RedisServer): Promise<void>;
  /** Asks a replica to take the place of its master, without loss. Resolves when it has. */
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

/** Three masters, enough to notice every command that does not stay within one slot, with or without replicas. */
export async function startRedisCluster(options: RedisClusterOptions = {}): Promise<RedisCluster> {
  const { replicasPerMaster = 0, nodeTimeoutMs = 2_000, placeOf = () => undefined } = options;
  const args = [
    ...['--cluster-enabled', 'yes', '--cluster-node-timeout', String(nodeTimeoutMs)],
    // A replica that was cut off for a while is still better than none.
    ...['--cluster-replica-validity-factor', '0'],
    ...(options.args ?? []),
  ];
  const numbers = Array.from({ length: MASTERS * (1 + replicasPerMaster) }, (_, number) => number);
  const nodes = await startAll(
    numbers.map(number => {
      const place = placeOf(number);
      return startRedis({ ...options, args, ...(place === undefined ? {} : { place }) });
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
    // What a master knows of its replicas, the others hear of later.
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
