import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';

export interface OwnRedis extends AsyncDisposable {
  readonly url: string;
}

const MOST_PORTS = 5;
/** The gateway refuses an older Redis. */
const OLDEST_MAJOR = 7;

/**
 * Starts a redis-server for the demo, as an operator would: with a password and an append-only file, on a free loopback port. The
 * configuration goes through standard input, so that the password appears in no process list. Undefined if redis-server is not installed,
 * or too old for the gateway.
 */
export async function startOwnRedis(directory: string): Promise<OwnRedis | undefined> {
  if (!isInstalled()) return undefined;
  const password = randomBytes(32).toString('hex');
  for (let tries = 1; tries <= MOST_PORTS; tries += 1) {
    const port = await freePort();
    const redis = await started(
      [
        ...['bind 127.0.0.1', `port ${port}`, `requirepass ${password}`, `dir ${JSON.stringify(directory)}`],
        ...['appendonly yes', 'appendfsync always', 'maxmemory 1gb', 'maxmemory-policy noeviction', 'save ""'],
      ].join('\n'),
    );
    // Otherwise another program has taken the port after it was found free.
    if (redis !== 'ended')
      return { url: `redis://:${password}@127.0.0.1:${port}`, [Symbol.asyncDispose]: () => stop(redis) };
  }
  throw new Error('redis-server does not start.');
}

function isInstalled(): boolean {
  const { stdout } = spawnSync('redis-server', ['--version'], { encoding: 'utf8' });
  // No output at all if there is no such program.
  return Number(/v=(\d+)/.exec(stdout ?? '')?.[1]) >= OLDEST_MAJOR;
}

async function started(configuration: string): Promise<ChildProcess | 'ended'> {
  // A separate process group: Ctrl-C in a terminal must not stop Redis before the gateway has finished.
  const child = spawn('redis-server', ['-'], { stdio: ['pipe', 'pipe', 'ignore'], detached: true });
  // Writing to a child that has ended already.
  child.stdin.on('error', () => undefined);
  child.stdin.end(configuration);
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.includes('Ready to accept connections')) continue;
    child.stdout.resume();
    return child;
  }
  return 'ended';
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((done, fail) => probe.once('error', fail).listen(0, '127.0.0.1', done));
  const address = probe.address();
  await new Promise(done => probe.close(done));
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise(done => child.once('exit', done));
  child.kill('SIGTERM');
  await ended;
}
