import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { claimRedisDirectory, type RedisDirectory } from './redis-directory.ts';
import { StartError } from './start-error.ts';

export interface EmbeddedRedis extends AsyncDisposable {
  readonly url: string;
}

const MOST_PORTS = 5;

/**
 * The default where no Redis is configured: a private redis-server beside the gateway, on a free loopback port, with an
 * append-only file and a password that nobody else learns (its configuration goes in through standard input).
 * @throws StartError that says what to install when there is no redis-server, or who else uses the directory.
 */
export async function startEmbeddedRedis(directory: string, choosePort = freePort): Promise<EmbeddedRedis> {
  using stack = new DisposableStack();
  const home = stack.use(await claimRedisDirectory(directory));
  const password = randomBytes(32).toString('hex');
  const { child, port } = await startOnFreePort(home, password, choosePort);
  const claim = stack.move();
  return {
    url: `redis://:${password}@127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      await stop(child);
      claim.dispose();
    },
  };
}

/** Another program may take a port after it was found free, so it is chosen again then. */
async function startOnFreePort(home: RedisDirectory, password: string, choosePort: () => Promise<number>) {
  for (let tries = 1; ; tries += 1) {
    const port = await choosePort();
    const outcome = await started(home, password, port);
    if (outcome !== 'port_taken') return { child: outcome, port };
    if (tries === MOST_PORTS) throw new StartError('The private Redis found no free port on the loopback address.');
  }
}

async function started(home: RedisDirectory, password: string, port: number): Promise<ChildProcess | 'port_taken'> {
  const child = spawn('redis-server', ['-'], {
    stdio: ['pipe', 'pipe', 'ignore'],
    // A process group of its own: Ctrl-C in a terminal must not end it before the gateway has finished.
    detached: true,
  });
  const failed = new Promise<never>((_, reject) => {
    child.once('error', () =>
      reject(
        new StartError(
          'No redis-server was found. Install it (Debian: apt-get install redis-server) or set REDIS_URL.',
        ),
      ),
    );
    child.once('exit', code =>
      reject(new StartError(`The private Redis ended with code ${code} at start (directory ${home.path}).`)),
    );
  });
  // Handled here as well, because the child may end long after its start.
  failed.catch(() => undefined);
  // Writing to a child that could not start fails too; `failed` says why.
  child.stdin.on('error', () => undefined);
  child.stdin.end(
    [
      'bind 127.0.0.1',
      `port ${port}`,
      `requirepass ${password}`,
      `dir ${JSON.stringify(home.path)}`,
      `pidfile ${JSON.stringify(home.pidFile)}`,
      'appendonly yes',
      'appendfsync always',
      'maxmemory 1gb',
      'maxmemory-policy noeviction',
      'save ""',
    ].join('\n'),
  );
  // When the output ends without either, the child is about to be reported as ended.
  const said = await Promise.race([whatItSays(child.stdout), failed]);
  if (said === undefined) await failed;
  return said === 'port_taken' ? said : child;
}

/** Reads the output of redis-server up to what it says about its start. What follows is not kept. */
async function whatItSays(output: Readable): Promise<'ready' | 'port_taken' | undefined> {
  for await (const line of createInterface({ input: output })) {
    const isReady = line.includes('Ready to accept connections');
    if (!isReady && !line.includes('Address already in use')) continue;
    output.resume();
    return isReady ? 'ready' : 'port_taken';
  }
  return undefined;
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
