import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { endingWithParent } from './end-with-parent.ts';
import { aclFileOf, admin, type RedisAccess, type RedisLogin } from './redis-access.ts';
import { askRedis } from './redis-command.ts';
import type { RedisTls } from './redis-tls.ts';
import { type ReservedPort, reservePort } from './reserved-port.ts';

/** Where a node runs. A launcher such as `['ip', 'netns', 'exec', 'a']` runs it in a network namespace. */
export interface RedisPlace {
  readonly host: string;
  readonly launcher?: readonly string[];
}

export interface RedisServerOptions {
  /** Default `yes`, with an fsync every second. */
  readonly appendonly?: 'yes' | 'no';
  /** Further arguments of redis-server, such as `--maxmemory-policy`, `allkeys-lru`. They override the defaults. */
  readonly args?: readonly string[];
  /** TLS only, with client certificates. */
  readonly tls?: RedisTls;
  /** Default: no users, no password. */
  readonly access?: RedisAccess;
  /** Default: here, on the loopback address. */
  readonly place?: RedisPlace;
}

/** A redis-server of this machine with a separate directory. Ends with `await using`. */
export interface RedisServer extends AsyncDisposable {
  /** Contains the name and password of `access.user`, if set. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  /** Process id of the current process. */
  readonly pid: number | undefined;
  /** Kills the process (SIGKILL) and keeps its data for `restart`. */
  kill(): Promise<void>;
  /** Stops the process with SIGTERM. */
  stop(): Promise<void>;
  /** Restarts the server on the same port with the same data. */
  restart(): Promise<void>;
  /** Freezes the process: it accepts connections but does not respond. */
  suspend(): void;
  resume(): void;
  /** Runs one command with full permissions and resolves with what redis-cli prints. Rejects after 2 seconds. */
  ask(...command: readonly string[]): Promise<string>;
}

const PATIENCE_MS = 30_000;
const MOST_PORTS = 10;
const MOST_LINES = 200;
/** Poll interval. */
const PAUSE_MS = 100;
const ANSWER_MS = 2_000;
/** Interval at which a signal is repeated. */
const AGAIN_MS = 500;
/** Stops the servers of a test process that ends without disposing them. */
const running = new Set<() => void>();
process.on('exit', () => {
  for (const killNow of running) killNow();
});

const LOOPBACK: RedisPlace = { host: '127.0.0.1' };

export async function startRedis(options: RedisServerOptions = {}): Promise<RedisServer> {
  const dir = await mkdtemp(join(tmpdir(), 'postern-redis-'));
  const { place = LOOPBACK, tls, access } = options;
  const { host } = place;
  const args = (port: number) => [
    ...(tls === undefined ? ['--port', String(port)] : tlsArguments(port, tls)),
    ...['--bind', host, '--dir', dir, '--save', '', '--appendonly', options.appendonly ?? 'yes'],
    // More than any test stores. Stores warn about a Redis without a limit.
    ...['--maxmemory', '16gb'],
    // A replica gets its copy immediately, without waiting for further replicas.
    ...['--appendfsync', 'everysec', '--repl-diskless-sync-delay', '0'],
    ...(access === undefined ? [] : ['--aclfile', join(dir, 'users.acl'), ...replicaArguments(access.replica)]),
    ...(options.args ?? []),
  ];
  if (access !== undefined) await writeFile(join(dir, 'users.acl'), aclFileOf(access));
  return runRedis({ args, dir, place, tls, access });
}

export interface RedisRun {
  /** Returns the arguments of redis-server for this port. */
  readonly args: (port: number) => readonly string[] | Promise<readonly string[]>;
  readonly dir: string;
  readonly place: RedisPlace;
  readonly tls: RedisTls | undefined;
  readonly access: RedisAccess | undefined;
  /** Default: `reservePort`. */
  readonly choosePort?: () => Promise<ReservedPort>;
}

/**
 * Runs redis-server on a reserved port, or on another one if a program has taken the port meanwhile. Disposing the server removes
 * its directory.
 */
export async function runRedis(run: RedisRun): Promise<RedisServer> {
  try {
    for (let tries = 1; ; tries += 1) {
      const reserved = await (run.choosePort ?? reservePort)();
      try {
        return await runOn(reserved, run);
      } catch (error) {
        reserved[Symbol.dispose]();
        if (!(error instanceof PortTakenError) || tries === MOST_PORTS) throw error;
      }
    }
  } catch (error) {
    await rm(run.dir, { recursive: true, force: true });
    throw error;
  }
}

async function runOn(reserved: ReservedPort, { args, dir, place, tls, access }: RedisRun): Promise<RedisServer> {
  const { port } = reserved;
  const reach: RedisReach = { host: place.host, port, tls, access };
  const [program = '', ...words] = [...(place.launcher ?? []), 'redis-server', ...(await args(port))];
  const command = endingWithParent(program, words);
  let child: ChildProcess | undefined;

  async function start(): Promise<void> {
    const started = spawn(...command, { stdio: ['ignore', 'pipe', 'ignore'] });
    child = started;
    await untilReady(started);
  }

  async function restart(): Promise<void> {
    // Another program may hold the port for a moment. Clients know this port, so the server must wait for it.
    for (let waitedMs = 0; ; waitedMs += PAUSE_MS) {
      try {
        return await start();
      } catch (error) {
        if (!(error instanceof PortTakenError) || waitedMs >= PATIENCE_MS) throw error;
        await delay(PAUSE_MS);
      }
    }
  }

  async function end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const ending = child;
    child = undefined;
    if (!ending || ending.exitCode !== null || ending.signalCode !== null) return;
    const exited = once(ending, 'exit');
    ending.kill(signal);
    // A Redis that writes its first append-only file, as after a full copy from its master, ignores SIGTERM for good.
    const again = setInterval(() => ending.kill(signal), AGAIN_MS);
    await exited;
    clearInterval(again);
  }

  async function dispose(): Promise<void> {
    running.delete(killNow);
    await end('SIGKILL');
    reserved[Symbol.dispose]();
    // A rewrite of the append-only file can briefly outlive its parent.
    await rm(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }

  const killNow = () => void child?.kill('SIGKILL');
  running.add(killNow);
  try {
    await start();
  } catch (error) {
    running.delete(killNow);
    await end('SIGKILL');
    throw error;
  }
  return {
    url: urlOf(reach, access?.user),
    host: place.host,
    port,
    get pid() {
      return child?.pid;
    },
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    restart,
    suspend: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
    ask: (...words) => askRedis({ host: place.host, port, tls, login: access && admin, timeoutMs: ANSWER_MS }, words),
    [Symbol.asyncDispose]: dispose,
  };
}

/** Another program listens on the port or on the cluster bus port. */
class PortTakenError extends Error {
  override name = 'PortTakenError';
}

/**
 * Resolves when this process has loaded its data and accepts commands, according to its output. A connection to the port would
 * prove nothing, because another Redis may have taken the port.
 */
async function untilReady(child: ChildProcess): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const said: string[] = [];
  child.once('error', reject);
  child.once('close', () => {
    const last = said.slice(-5).join('\n');
    const isTaken = /Address already in use|Failed listening on port/.test(said.join('\n'));
    reject(isTaken ? new PortTakenError(last) : new Error(`redis-server ended at its start.\n${last}`));
  });
  // Keeps reading the output until the process ends: a full pipe would block it.
  createInterface({ input: child.stdout ?? Readable.from([]) }).on('line', line => {
    if (said.length < MOST_LINES) said.push(line);
    if (/Ready to accept connections|Sentinel ID is/.test(line)) resolve();
  });
  const timer = setTimeout(() => reject(new Error(`Redis did not become ready.\n${said.join('\n')}`)), PATIENCE_MS);
  try {
    await promise;
  } finally {
    clearTimeout(timer);
  }
}

/** How clients connect to a server. */
export interface RedisReach {
  readonly host: string;
  readonly port: number;
  readonly tls: RedisTls | undefined;
  readonly access: RedisAccess | undefined;
}

function urlOf({ host, port, tls }: Pick<RedisReach, 'host' | 'port' | 'tls'>, login: RedisLogin | undefined) {
  const url = new URL(`${tls === undefined ? 'redis' : 'rediss'}://${host}:${port}`);
  if (login !== undefined) {
    url.username = login.name;
    url.password = login.password;
  }
  return url.href;
}

export function tlsArguments(port: number, { ca, cert, key }: RedisTls): readonly string[] {
  return [
    ...['--port', '0', '--tls-port', String(port), '--tls-replication', 'yes', '--tls-cluster', 'yes'],
    ...['--tls-ca-cert-file', ca.file, '--tls-cert-file', cert.file, '--tls-key-file', key.file],
    ...['--tls-auth-clients', 'yes'],
  ];
}

function replicaArguments(login: RedisLogin = admin): readonly string[] {
  return ['--masteruser', login.name, '--masterauth', login.password];
}

/** Runs redis-cli with full permissions, for what it does beyond one command. */
export async function redisCli({ host, port, tls, access }: RedisReach, command: readonly string[]): Promise<string> {
  const { ca, cert, key } = tls ?? {};
  const secured = ca && cert && key ? ['--tls', '--cacert', ca.file, '--cert', cert.file, '--key', key.file] : [];
  const signedIn = access === undefined ? [] : ['--user', admin.name, '--no-auth-warning'];
  const { stdout } = await promisify(execFile)(
    'redis-cli',
    ['-h', host, '-p', String(port), ...secured, ...signedIn, ...command],
    {
      timeout: PATIENCE_MS,
      env: { ...process.env, ...(access === undefined ? {} : { REDISCLI_AUTH: admin.password }) },
    },
  );
  return stdout;
}

/** Polls a condition that a Redis reports. */
export async function untilSeen(condition: () => Promise<boolean>): Promise<void> {
  for (let waitedMs = 0; waitedMs < PATIENCE_MS; waitedMs += PAUSE_MS) {
    if (await condition()) return;
    await delay(PAUSE_MS);
  }
  throw new Error('Redis did not become ready.');
}
