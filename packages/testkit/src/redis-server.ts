import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

export interface RedisServerOptions {
  /** Default `yes`, with an fsync every second. */
  readonly appendonly?: 'yes' | 'no';
  /** Further arguments of redis-server, such as `--maxmemory-policy`, `allkeys-lru`. */
  readonly args?: readonly string[];
}

/** A redis-server of this machine on a loopback port, with a directory of its own. Ends with `await using`. */
export interface RedisServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** Ends the process as a crash would; the data stays for `restart`. */
  kill(): Promise<void>;
  /** Starts again on the same port with the same data. */
  restart(): Promise<void>;
  /** Freezes the process: it accepts connections and answers nothing. */
  suspend(): void;
  resume(): void;
}

export interface RedisCluster extends AsyncDisposable {
  readonly nodes: readonly RedisServer[];
  readonly urls: readonly string[];
}

const ATTEMPTS = 1_200;
const PAUSE_MS = 25;

export async function startRedis(options: RedisServerOptions = {}): Promise<RedisServer> {
  const dir = await mkdtemp(join(tmpdir(), 'postern-redis-'));
  const port = await freePort();
  const persistence = ['--save', '', '--appendonly', options.appendonly ?? 'yes', '--appendfsync', 'everysec'];
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', dir, ...persistence, ...(options.args ?? [])];
  let child: ChildProcess | undefined;

  async function restart(): Promise<void> {
    const started = spawn('redis-server', args, { stdio: 'ignore' });
    child = started;
    const failed = once(started, 'error').then(([error]) => Promise.reject(error));
    await Promise.race([until(() => answers(port)), failed]);
  }

  async function kill(): Promise<void> {
    const running = child;
    child = undefined;
    if (!running || running.exitCode !== null || running.signalCode !== null) return;
    const exited = once(running, 'exit');
    running.kill('SIGKILL');
    await exited;
  }

  async function dispose(): Promise<void> {
    process.off('exit', killNow);
    await kill();
    // A rewrite of the append-only file can outlive its parent for a moment.
    await rm(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }

  // A test process that ends without disposing must not leave a server behind.
  const killNow = () => void child?.kill('SIGKILL');
  process.on('exit', killNow);
  try {
    await restart();
  } catch (error) {
    await dispose();
    throw error;
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    kill,
    restart,
    suspend: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
    [Symbol.asyncDispose]: dispose,
  };
}

/** Three masters and no replicas: enough to notice every command that does not stay within one slot. */
export async function startRedisCluster(options: RedisServerOptions = {}): Promise<RedisCluster> {
  const args = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '2000', ...(options.args ?? [])];
  const nodes = await Promise.all([0, 1, 2].map(() => startRedis({ ...options, args })));
  const stop = async () => {
    await Promise.all(nodes.map(node => node[Symbol.asyncDispose]()));
  };
  try {
    const addresses = nodes.map(({ port }) => `127.0.0.1:${port}`);
    await redisCli(['--cluster', 'create', ...addresses, '--cluster-yes']);
    for (const { port } of nodes) {
      await until(async () => (await redisCli(['-p', String(port), 'cluster', 'info'])).includes('cluster_state:ok'));
    }
    return { nodes, urls: nodes.map(({ url }) => url), [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function redisCli(args: readonly string[]): Promise<string> {
  return (await promisify(execFile)('redis-cli', [...args])).stdout;
}

async function freePort(): Promise<number> {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  listener.close();
  await once(listener, 'close');
  // A cluster node also listens 10000 ports higher.
  return port + 10_000 > 65_535 ? freePort() : port;
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    if (await condition()) return;
    await delay(PAUSE_MS);
  }
  throw new Error('Redis did not become ready.');
}

/** Answers PING, or asks for a password; either way it has loaded its data. */
function answers(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'));
  socket.once('data', data => {
    resolve(/^(\+PONG|-NOAUTH)/.test(data.toString()));
    socket.destroy();
  });
  socket.once('error', () => resolve(false));
  socket.once('close', () => resolve(false));
  return promise;
}
