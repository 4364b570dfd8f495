import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { promisify } from 'node:util';
import { aclFileOf, admin, type RedisAccess, type RedisLogin } from './redis-access.ts';
import type { RedisTls } from './redis-tls.ts';

/** Where a node runs. A launcher such as `['ip', 'netns', 'exec', 'a']` puts it into a network namespace. */
export interface RedisPlace {
  readonly host: string;
  readonly launcher?: readonly string[];
}

export interface RedisServerOptions {
  /** Default `yes`, with an fsync every second. */
  readonly appendonly?: 'yes' | 'no';
  /** Further arguments of redis-server, such as `--maxmemory-policy`, `allkeys-lru`. They win over those from here. */
  readonly args?: readonly string[];
  /** Nothing but TLS, and a certificate is asked for. */
  readonly tls?: RedisTls;
  /** Default: no users, no password. */
  readonly access?: RedisAccess;
  /** Default: here, on the loopback address. */
  readonly place?: RedisPlace;
}

/** A redis-server of this machine with a directory of its own. Ends with `await using`. */
export interface RedisServer extends AsyncDisposable {
  /** With the name and password of `access.user`, where there are users. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  /** Of the process that runs now. */
  readonly pid: number | undefined;
  /** Ends the process as a crash would; the data stays for `restart`. */
  kill(): Promise<void>;
  /** Starts again on the same port with the same data. */
  restart(): Promise<void>;
  /** Freezes the process: it accepts connections and answers nothing. */
  suspend(): void;
  resume(): void;
  /** One command, as who may do everything; what redis-cli prints. Rejects when no answer comes within 2 seconds. */
  ask(...command: readonly string[]): Promise<string>;
}

const PATIENCE_MS = 30_000;
const PAUSE_MS = 25;
/** Where every look is a process of its own. */
const CLI_PAUSE_MS = 100;
/** A test process that ends without disposing must not leave a server behind. */
const running = new Set<() => void>();
process.on('exit', () => {
  for (const killNow of running) killNow();
});

const LOOPBACK: RedisPlace = { host: '127.0.0.1' };

export async function startRedis(options: RedisServerOptions = {}): Promise<RedisServer> {
  const dir = await mkdtemp(join(tmpdir(), 'postern-redis-'));
  const { place = LOOPBACK, tls, access } = options;
  const { host } = place;
  const port = await freePort();
  const args = [
    ...(tls === undefined ? ['--port', String(port)] : tlsArguments(port, tls)),
    ...['--bind', host, '--dir', dir, '--save', '', '--appendonly', options.appendonly ?? 'yes'],
    // A replica is given a copy at once: nobody else will come.
    ...['--appendfsync', 'everysec', '--repl-diskless-sync-delay', '0'],
    ...(access === undefined ? [] : ['--aclfile', join(dir, 'users.acl'), ...replicaArguments(access.replica)]),
    ...(options.args ?? []),
  ];
  if (access !== undefined) await writeFile(join(dir, 'users.acl'), aclFileOf(access));
  return runRedis({ args, dir, host, port, place, tls, access });
}

export interface RedisRun {
  readonly args: readonly string[];
  readonly dir: string;
  readonly host: string;
  readonly port: number;
  readonly place: RedisPlace;
  readonly tls: RedisTls | undefined;
  readonly access: RedisAccess | undefined;
}

/** Runs one redis-server, whatever it is told to be. The directory is gone when it is disposed of. */
export async function runRedis(run: RedisRun): Promise<RedisServer> {
  const { args, dir, host, port, place, access } = run;
  let child: ChildProcess | undefined;

  async function restart(): Promise<void> {
    const [command = '', ...before] = [...(place.launcher ?? []), 'redis-server'];
    const started = spawn(command, [...before, ...args], { stdio: 'ignore' });
    child = started;
    const failed = once(started, 'error').then(([error]) => Promise.reject(error));
    const ended = once(started, 'exit').then(() => Promise.reject(new Error('redis-server ended at once.')));
    // Both may come after everybody has stopped waiting for the start.
    failed.catch(() => undefined);
    ended.catch(() => undefined);
    await Promise.race([until(() => answers(run)), failed, ended]);
  }

  async function kill(): Promise<void> {
    const ending = child;
    child = undefined;
    if (!ending || ending.exitCode !== null || ending.signalCode !== null) return;
    const exited = once(ending, 'exit');
    ending.kill('SIGKILL');
    await exited;
  }

  async function dispose(): Promise<void> {
    running.delete(killNow);
    await kill();
    // A rewrite of the append-only file can outlive its parent for a moment.
    await rm(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }

  const killNow = () => void child?.kill('SIGKILL');
  running.add(killNow);
  try {
    await restart();
  } catch (error) {
    await dispose();
    throw error;
  }
  return {
    url: urlOf(run, access?.user),
    host,
    port,
    get pid() {
      return child?.pid;
    },
    kill,
    restart,
    suspend: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
    ask: (...command) => redisCli(run, command),
    [Symbol.asyncDispose]: dispose,
  };
}

export function urlOf({ host, port, tls }: Pick<RedisRun, 'host' | 'port' | 'tls'>, login: RedisLogin | undefined) {
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

/** As who may do everything. */
export async function redisCli(
  { host, port, tls, access }: Pick<RedisRun, 'host' | 'port' | 'tls' | 'access'>,
  command: readonly string[],
): Promise<string> {
  const { ca, cert, key } = tls ?? {};
  const secured = ca && cert && key ? ['--tls', '--cacert', ca.file, '--cert', cert.file, '--key', key.file] : [];
  const signedIn = access === undefined ? [] : ['--user', admin.name, '--no-auth-warning'];
  const { stdout } = await promisify(execFile)(
    'redis-cli',
    ['-h', host, '-p', String(port), ...secured, ...signedIn, ...command],
    // Creating a cluster takes longest.
    {
      timeout: command[0] === '--cluster' ? 30_000 : 2_000,
      env: { ...process.env, ...(access === undefined ? {} : { REDISCLI_AUTH: admin.password }) },
    },
  );
  return stdout;
}

export async function freePort(): Promise<number> {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  listener.close();
  await once(listener, 'close');
  // A cluster node also listens 10000 ports higher.
  return port + 10_000 > 65_535 ? freePort() : port;
}

async function until(condition: () => Promise<boolean>, pauseMs = PAUSE_MS): Promise<void> {
  for (let waitedMs = 0; waitedMs < PATIENCE_MS; waitedMs += pauseMs) {
    if (await condition()) return;
    await delay(pauseMs);
  }
  throw new Error('Redis did not become ready.');
}

/** For conditions that redis-cli is asked about. */
export const untilSeen = (condition: () => Promise<boolean>) => until(condition, CLI_PAUSE_MS);

/** Answers PING, or asks for a password; either way it has loaded its data. */
function answers({ host, port, tls }: RedisRun): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const ping = () => void socket.write('PING\r\n');
  const socket =
    tls === undefined
      ? connect(port, host, ping)
      : connectTls({ port, host, ca: tls.ca.pem, cert: tls.cert.pem, key: tls.key.pem }, ping);
  socket.once('data', data => {
    resolve(/^(\+PONG|-NOAUTH)/.test(data.toString()));
    socket.destroy();
  });
  socket.once('error', () => resolve(false));
  socket.once('close', () => resolve(false));
  return promise;
}
