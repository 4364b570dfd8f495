import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { aclFileOf, admin, type RedisAccess, type RedisLogin } from './redis-access.ts';
import {
  type RedisPlace,
  type RedisServer,
  type RedisServerOptions,
  runRedis,
  startRedis,
  tlsArguments,
  untilSeen,
} from './redis-server.ts';
import { startAll } from './start-all.ts';

export interface RedisSentinelOptions extends Omit<RedisServerOptions, 'place'> {
  /** Default 2. */
  readonly replicas?: number;
  /** Default 3. A majority must agree on a fail-over. */
  readonly sentinels?: number;
  /** Silence after which the master counts as down. Default 1000. */
  readonly downAfterMs?: number;
  /** Users of the Sentinels themselves, which may differ from those of the servers. Default: no users, no password. */
  readonly sentinelAccess?: RedisAccess;
  /** By node number; the first master is 0. */
  readonly placeOf?: (node: number) => RedisPlace | undefined;
  readonly placeOfSentinel?: (sentinel: number) => RedisPlace | undefined;
}

export interface RedisSentinel extends AsyncDisposable {
  readonly masterName: string;
  /** The first master, then its replicas, whatever their roles now. */
  readonly nodes: readonly RedisServer[];
  readonly sentinels: readonly RedisServer[];
  /** With the user name and password of `sentinelAccess.user`, if the Sentinels have users. */
  readonly sentinelUrls: readonly string[];
  /** The current master, as the first responding Sentinel knows it. */
  masterNow(): Promise<RedisServer>;
  replicasNow(): Promise<readonly RedisServer[]>;
  /**
   * Makes the Sentinels replace a healthy master by a replica. Resolves after the switch; the old master follows about 10 s
   * later.
   */
  failover(): Promise<RedisServer>;
  /** Resolves with the new master once it differs from this one and accepts writes. */
  untilMasterIsNot(before: RedisServer): Promise<RedisServer>;
  /** Resolves when this number of replicas is connected to the current master. */
  untilReplicas(count: number): Promise<void>;
}

const MASTER_NAME = 'postern';

/** One master with replicas, watched by Sentinels: real processes on this machine. */
export async function startRedisSentinel(options: RedisSentinelOptions = {}): Promise<RedisSentinel> {
  const { replicas = 2, sentinels: count = 3, placeOf = () => undefined } = options;
  await using stack = new AsyncDisposableStack();
  const first = stack.use(await startRedis(nodeOptions(options, placeOf(0), [])));
  const follow = ['--replicaof', first.host, String(first.port)];
  const others = await startAll(
    Array.from({ length: replicas }, (_, at) => startRedis(nodeOptions(options, placeOf(at + 1), follow))),
  );
  for (const other of others) stack.use(other);
  const nodes = [first, ...others];
  await untilSeen(async () => (await onlineReplicas(first)) === replicas);
  const sentinels = await startAll(
    Array.from({ length: count }, (_, at) =>
      startSentinel(options, first, Math.floor(count / 2) + 1, options.placeOfSentinel?.(at)),
    ),
  );
  for (const sentinel of sentinels) stack.use(sentinel);
  const askSentinels = async (...command: readonly string[]) => {
    for (const sentinel of sentinels) {
      const answer = await sentinel.ask(...command).catch(() => '');
      if (answer !== '') return answer;
    }
    throw new Error('No Sentinel answers.');
  };
  const masterNow = async () => {
    const [, port] = (await askSentinels('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', MASTER_NAME)).split('\n');
    const found = nodes.find(node => node.port === Number(port));
    if (found === undefined) throw new Error('The Sentinels name a master that is not from here.');
    return found;
  };
  const untilMasterIsNot = async (before: RedisServer) => {
    await untilSeen(async () => {
      const now = await masterNow();
      return now !== before && (await now.ask('ROLE').catch(() => '')).startsWith('master');
    });
    return masterNow();
  };
  for (const sentinel of sentinels) {
    await untilSeen(async () => {
      const known = await sentinel.ask('SENTINEL', 'MASTER', MASTER_NAME);
      return (
        new RegExp(`num-slaves\n${replicas}\n`).test(known) &&
        new RegExp(`num-other-sentinels\n${count - 1}\n`).test(known)
      );
    });
  }
  const held = stack.move();
  return {
    masterName: MASTER_NAME,
    nodes,
    sentinels,
    sentinelUrls: sentinels.map(({ url }) => url),
    masterNow,
    async replicasNow() {
      const master = await masterNow();
      const connected = new Set(
        [...(await master.ask('INFO', 'replication')).matchAll(/^slave\d+:.*port=(\d+),state=online/gm)].map(
          ([, port]) => Number(port),
        ),
      );
      return nodes.filter(node => connected.has(node.port));
    },
    async failover() {
      const before = await masterNow();
      // Refused until an earlier fail-over has finished.
      await untilSeen(async () => (await askSentinels('SENTINEL', 'FAILOVER', MASTER_NAME)).startsWith('OK'));
      return untilMasterIsNot(before);
    },
    untilMasterIsNot,
    untilReplicas: wanted => untilSeen(async () => (await onlineReplicas(await masterNow())) >= wanted),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

function nodeOptions(
  { appendonly, args = [], tls, access }: RedisSentinelOptions,
  place: RedisPlace | undefined,
  follow: readonly string[],
): RedisServerOptions {
  return {
    appendonly,
    tls,
    access,
    place,
    args: [...follow, ...args],
  };
}

async function startSentinel(
  options: RedisSentinelOptions,
  master: RedisServer,
  quorum: number,
  place: RedisPlace = { host: '127.0.0.1' },
): Promise<RedisServer> {
  const { tls, access, sentinelAccess, downAfterMs = 1_000 } = options;
  const dir = await mkdtemp(join(tmpdir(), 'postern-sentinel-'));
  const file = join(dir, 'sentinel.conf');
  const own = access === undefined ? undefined : (access.sentinel ?? admin);
  const monitor = (setting: string, ...values: readonly (string | number)[]) =>
    ['sentinel', setting, MASTER_NAME, ...values].join(' ');
  if (sentinelAccess !== undefined) await writeFile(join(dir, 'users.acl'), aclFileOf(sentinelAccess));
  const configuration = (port: number) =>
    [
      ...asLines(tls === undefined ? ['--port', String(port)] : tlsArguments(port, tls)),
      `bind ${place.host}`,
      `dir ${dir}`,
      ...(sentinelAccess === undefined ? [] : [`aclfile ${join(dir, 'users.acl')}`, ...signIn(admin)]),
      monitor('monitor', master.host, master.port, quorum),
      monitor('down-after-milliseconds', downAfterMs),
      monitor('failover-timeout', Math.max(downAfterMs * 3, 3_000)),
      ...(own === undefined ? [] : [monitor('auth-user', own.name), monitor('auth-pass', own.password)]),
      '',
    ].join('\n');
  const args = async (port: number) => {
    await writeFile(file, configuration(port));
    return [file, '--sentinel'];
  };
  return runRedis({ args, dir, place, tls, access: sentinelAccess });
}

/** Login of the Sentinels among themselves. */
const signIn = ({ name, password }: RedisLogin) => [
  `sentinel sentinel-user ${name}`,
  `sentinel sentinel-pass ${password}`,
];

/** Formats command-line arguments as lines of a file. */
function asLines(args: readonly string[]): readonly string[] {
  return args.flatMap((word, at) => (word.startsWith('--') ? [`${word.slice(2)} ${args[at + 1] ?? ''}`] : []));
}

async function onlineReplicas(master: RedisServer): Promise<number> {
  return [...(await master.ask('INFO', 'replication').catch(() => '')).matchAll(/^slave\d+:.*state=online/gm)].length;
}
