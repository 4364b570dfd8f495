import { execFile, spawnSync } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { networkInterfaces } from 'node:os';
import { promisify } from 'node:util';

/**
 * A network of virtual machines on this machine: each is a network namespace with one interface, and all share one bridge in another
 * namespace. This process is attached with a private address. Only links and neighbour tables are used, so the kernel needs neither
 * netfilter nor netem. Needs root and iproute2.
 */
export interface Network extends AsyncDisposable {
  /** Address of this process, as the machines see it. */
  readonly host: Place;
  addMachine(): Promise<Machine>;
  /**
   * Silently drops all packets between the two: they go to a hardware address that does not exist. Connections stay open on both sides,
   * as behind a broken switch.
   */
  cut(one: Place, other: Place): Promise<void>;
  heal(one: Place, other: Place): Promise<void>;
}

/** A sender or receiver of packets. */
export interface Place {
  readonly address: string;
  /** Prefix of an `ip` command about this place. */
  readonly scope: readonly string[];
  readonly device: string;
}

export interface Machine extends Place {
  /** Prefix of a command line to run there. The caller ends the command before it disposes of the network. */
  readonly launcher: readonly [string, ...string[]];
}

const PREFIX = 'pst';
const MOST_MACHINES = 24;
/** A locally administered address that no interface has. */
const ABSENT_MAC = '02:00:00:00:de:ad';
const run = promisify(execFile);
const ip = async (...args: readonly string[]) => (await run('ip', [...args], { timeout: 10_000 })).stdout;

/** Tries to make a namespace. Describes why it cannot; undefined if it can. */
export async function whyNoNamespaces(): Promise<string | undefined> {
  try {
    await using network = await startNetwork();
    const [command, ...args] = (await network.addMachine()).launcher;
    await run(command, [...args, 'true'], { timeout: 10_000 });
    return undefined;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT') return 'the program ip (Debian package iproute2) is missing';
    if (process.getuid?.() !== 0) return 'making network namespaces needs root';
    return `network namespaces cannot be made here: ${String((error as { stderr?: string }).stderr ?? error).trim()}`;
  }
}

export async function startNetwork(): Promise<Network> {
  removeAbandoned();
  // The process id identifies the owner of a left-over network; the rest distinguishes two networks of one process.
  const id = `${PREFIX}${process.pid}x${randomBytes(2).toString('hex')}`;
  const device = `${PREFIX}${randomBytes(5).toString('hex')}`;
  const bridge = `${id}-switch`;
  const namespaces: string[] = [];
  const { host: hostAddress, nth } = freeSubnet();
  let machines = 0;

  const removeNow = () => {
    spawnSync('ip', ['link', 'del', device], { stdio: 'ignore' });
    for (const namespace of namespaces) spawnSync('ip', ['netns', 'del', namespace], { stdio: 'ignore' });
  };
  const dispose = async () => {
    removeNow();
    process.off('exit', removeNow);
  };

  async function addNamespace(name: string): Promise<void> {
    namespaces.push(name);
    await ip('netns', 'add', name);
  }

  async function plugIn(port: string): Promise<void> {
    await ip('-n', bridge, 'link', 'set', port, 'master', 'sw', 'up');
  }

  async function addMachine(): Promise<Machine> {
    machines += 1;
    if (machines > MOST_MACHINES) throw new RangeError(`a network has at most ${MOST_MACHINES} machines`);
    const name = `${id}-${machines}`;
    const port = `p${machines}`;
    const address = nth(machines + 1);
    await addNamespace(name);
    await ip('link', 'add', 'name', 'eth0', 'netns', name, 'type', 'veth', 'peer', 'name', port, 'netns', bridge);
    await plugIn(port);
    await ip('-n', name, 'addr', 'add', `${address}/24`, 'dev', 'eth0');
    await ip('-n', name, 'link', 'set', 'eth0', 'up');
    await ip('-n', name, 'link', 'set', 'lo', 'up');
    return { address, scope: ['-n', name], device: 'eth0', launcher: ['ip', 'netns', 'exec', name] };
  }

  process.on('exit', removeNow);
  try {
    await addNamespace(bridge);
    await ip('-n', bridge, 'link', 'add', 'sw', 'type', 'bridge');
    await ip('-n', bridge, 'link', 'set', 'sw', 'up');
    await ip('link', 'add', 'name', device, 'type', 'veth', 'peer', 'name', 'p0', 'netns', bridge);
    await plugIn('p0');
    await ip('addr', 'add', `${hostAddress}/24`, 'dev', device);
    await ip('link', 'set', device, 'up');
  } catch (error) {
    await dispose();
    throw error;
  }
  return {
    host: { address: hostAddress, scope: [], device },
    addMachine,
    cut: async (one, other) => {
      await Promise.all([lose(one, other), lose(other, one)]);
    },
    heal: async (one, other) => {
      await Promise.all([find(one, other), find(other, one)]);
    },
    [Symbol.asyncDispose]: dispose,
  };
}

async function lose(from: Place, to: Place): Promise<void> {
  await ip(...from.scope, 'neigh', 'replace', to.address, 'lladdr', ABSENT_MAC, 'dev', from.device, 'nud', 'permanent');
}

async function find(from: Place, to: Place): Promise<void> {
  await ip(...from.scope, 'neigh', 'del', to.address, 'dev', from.device);
}

/** Returns a private /24 without an address on any interface here. */
function freeSubnet(): { host: string; nth(n: number): string } {
  const used = Object.values(networkInterfaces()).flatMap(addresses => (addresses ?? []).map(({ address }) => address));
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const subnet = `10.${64 + randomInt(64)}.${randomInt(256)}.`;
    if (!used.some(address => address.startsWith(subnet))) return { host: `${subnet}1`, nth: n => `${subnet}${n}` };
  }
  throw new Error('no private address is free');
}

/** Removes the namespaces of killed processes, with the programs that run in them. */
function removeAbandoned(): void {
  const listed = spawnSync('ip', ['netns', 'list'], { encoding: 'utf8' }).stdout ?? '';
  for (const [, namespace = '', maker] of listed.matchAll(new RegExp(`^(${PREFIX}(\\d+)x[0-9a-f]{4}-\\S+)`, 'gm'))) {
    if (isAlive(Number(maker))) continue;
    const inside = spawnSync('ip', ['netns', 'pids', namespace], { encoding: 'utf8' }).stdout ?? '';
    for (const pid of inside.split(/\s+/).filter(it => it !== '')) {
      try {
        process.kill(Number(pid), 'SIGKILL');
      } catch (error) {
        // The process may have exited by itself.
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
    }
    // Interfaces are deleted with the namespace of their peer.
    spawnSync('ip', ['netns', 'del', namespace], { stdio: 'ignore' });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
