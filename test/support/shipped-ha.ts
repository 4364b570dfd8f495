import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RedisStoresOptions } from '@postern/store-redis';
import { endingWithParent } from '@postern/testkit/processes';
import { askRedis, type RedisLogin } from '@postern/testkit/redis';
import { startNetwork } from '../faults/support/namespaces.ts';
import { until } from '../faults/support/until.ts';

/**
 * The nodes and Sentinels of infra/compose.ha.yml. Each runs the shipped infra/redis/start.sh on a separate virtual machine, as an
 * unprivileged user, with a read-only root, a private /tmp and a persistent /data. Their names are addresses. Needs root.
 */
export interface ShippedHa extends AsyncDisposable {
  readonly nodes: readonly Container[];
  readonly sentinels: readonly Container[];
  readonly options: RedisStoresOptions;
  /** The current master, according to the Sentinels. */
  master(): Promise<Container>;
  /** Resolves when the Sentinels have started to replace this master, possibly before the new one is promoted. */
  untilChosen(before: Container): Promise<void>;
  untilMasterIsNot(before: Container): Promise<Container>;
  /** Resolves when the Sentinels agree on a master that has both replicas. */
  untilWhole(): Promise<void>;
}

export interface Container {
  readonly address: string;
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  start(): void;
}

const PASSWORDS = {
  REDIS_PASSWORD: 'redis-password',
  REDIS_REPLICA_PASSWORD: 'replica-password',
  REDIS_SENTINEL_PASSWORD: 'sentinel-password',
};
const shipped = fileURLToPath(new URL('../../infra/redis', import.meta.url));
/** Sentinels retry a failed fail-over after twice their failover-timeout, which is 30 seconds. Every look starts processes. */
const within = (what: string, holds: () => Promise<boolean>) => until(what, holds, 150_000, 300);
/** An unprivileged user without a name on any machine. */
const UNPRIVILEGED = 65_534;

/** Arguments: folder for the root, folder of /data, shipped folder, role. */
const CONTAINER = `
  set -eu
  mount -t tmpfs tmpfs "$1"
  for folder in bin sbin lib lib64; do
    if [ -L "/$folder" ]; then cp -P "/$folder" "$1/$folder"
    elif [ -d "/$folder" ]; then mkdir "$1/$folder"; mount --rbind "/$folder" "$1/$folder"; fi
  done
  mkdir -p "$1/usr" "$1/proc" "$1/dev" "$1/etc/postern" "$1/data" "$1/tmp"
  mount --rbind /usr "$1/usr"; mount --rbind /proc "$1/proc"; mount --rbind /dev "$1/dev"
  mount --bind "$3" "$1/etc/postern"; mount -o remount,ro,bind "$1/etc/postern"
  mount --bind "$2" "$1/data"
  mount -t tmpfs -o mode=1777 tmpfs "$1/tmp"
  mount -o remount,ro "$1"
  exec chroot "$1" setpriv --reuid ${UNPRIVILEGED} --regid ${UNPRIVILEGED} --clear-groups --no-new-privs --bounding-set -all \\
    --pdeathsig KILL /etc/postern/start.sh "$4"
`;

export async function startShippedHa(): Promise<ShippedHa> {
  await using stack = new AsyncDisposableStack();
  const network = stack.use(await startNetwork());
  const home = mkdtempSync(join(tmpdir(), 'postern-ha-'));
  stack.defer(() => rmSync(home, { recursive: true, force: true }));
  const machines = [];
  for (let made = 0; made < 6; made += 1) machines.push(await network.addMachine());
  const first = machines[0]?.address ?? '';

  const containers = machines.map((machine, at): Container => {
    const [root, data] = [join(home, `root-${at}`), join(home, `data-${at}`)];
    mkdirSync(root);
    mkdirSync(data);
    chownSync(data, UNPRIVILEGED, UNPRIVILEGED);
    const role = at < 3 ? 'node' : 'sentinel';
    const env = { PATH: process.env['PATH'], REDIS_FIRST_MASTER: first, REDIS_NAME: machine.address, ...PASSWORDS };
    const [launch, ...scope] = machine.launcher;
    const command = endingWithParent(launch, [
      ...[...scope, 'unshare', '--mount', 'sh', '-c', CONTAINER, 'container', root, data, shipped, role],
    ]);
    let child: ChildProcess | undefined;
    const end = async (signal: 'SIGTERM' | 'SIGKILL') => {
      const ending = child;
      child = undefined;
      if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return;
      const exited = once(ending, 'exit');
      ending.kill(signal);
      await exited;
    };
    stack.defer(() => end('SIGKILL'));
    return {
      address: machine.address,
      end,
      start() {
        child = spawn(...command, { env, stdio: ['ignore', 'ignore', 'inherit'] });
      },
    };
  });
  const [nodes, sentinels] = [containers.slice(0, 3), containers.slice(3)];

  const askNode = (node: Container, ...words: readonly string[]) =>
    answerOf(node.address, 6379, { name: 'postern', password: PASSWORDS.REDIS_PASSWORD }, words);
  const askSentinel = (sentinel: Container, ...words: readonly string[]) =>
    answerOf(sentinel.address, 26379, { name: 'default', password: PASSWORDS.REDIS_SENTINEL_PASSWORD }, words);
  const known = async (sentinel: Container) => {
    const [address] = (await askSentinel(sentinel, 'SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'postern')).split('\n');
    return nodes.find(node => node.address === address);
  };
  const agreed = async () => {
    const [one, ...others] = await Promise.all(sentinels.map(known));
    return others.every(other => other === one) ? one : undefined;
  };
  const leads = async (node: Container, replicas: number) => {
    const replication = await askNode(node, 'INFO', 'replication');
    const online = [...replication.matchAll(/^slave\d+:.*state=online/gm)].length;
    return replication.includes('role:master') && online >= replicas;
  };
  const untilWhole = async () => {
    await within('three nodes and three Sentinels that agree', async () => {
      const master = await agreed();
      return master !== undefined && (await leads(master, 2));
    });
  };

  for (const container of containers) container.start();
  await untilWhole();
  const owned = stack.move();
  const master = async () => {
    const found = await agreed();
    if (found === undefined) throw new Error('The Sentinels do not agree on a master.');
    return found;
  };
  return {
    nodes,
    sentinels,
    options: {
      sentinels: sentinels.map(({ address }) => `redis://:${PASSWORDS.REDIS_SENTINEL_PASSWORD}@${address}:26379`),
      masterName: 'postern',
      username: 'postern',
      password: PASSWORDS.REDIS_PASSWORD,
      // A busy machine may take longer than the 500 ms of the product.
      durability: { profile: 'ha', replicas: 1, timeoutMs: 10_000 },
      startTimeoutMs: 30_000,
    },
    master,
    async untilChosen(before) {
      await within('a fail-over', async () => {
        const states = await Promise.all(sentinels.map(each => askSentinel(each, 'SENTINEL', 'MASTER', 'postern')));
        return states.some(state => state.includes('failover_in_progress') || !state.includes(before.address));
      });
    },
    async untilMasterIsNot(before) {
      await within('another master', async () => {
        const now = await agreed();
        return now !== undefined && now !== before && (await leads(now, 1));
      });
      return master();
    },
    untilWhole,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Empty without a response. */
const answerOf = (host: string, port: number, login: RedisLogin, words: readonly string[]): Promise<string> =>
  askRedis({ host, port, login, timeoutMs: 60_000 }, words).catch(() => '');
