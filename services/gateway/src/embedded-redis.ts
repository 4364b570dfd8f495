import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { claimRedisDirectory } from './redis-directory.ts';
import { StartError } from './start-error.ts';

export interface EmbeddedRedis extends AsyncDisposable {
  readonly url: string;
}

/**
 * The default where no Redis is configured: a private redis-server beside the gateway, on a free loopback port, with an
 * append-only file and a password that nobody else learns (its configuration goes in through standard input).
 * @throws StartError that says what to install when there is no redis-server, or who else uses the directory.
 */
export async function startEmbeddedRedis(directory: string): Promise<EmbeddedRedis> {
  using stack = new DisposableStack();
  const home = stack.use(await claimRedisDirectory(directory));
  const port = await freePort();
  const password = randomBytes(32).toString('hex');
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
      reject(new StartError(`The private Redis ended with code ${code} at start (directory ${directory}).`)),
    );
  });
  // Handled here as well, because a child may die after everybody has stopped waiting for its start.
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
      'maxmemory-policy noeviction',
      'save ""',
    ].join('\n'),
  );
  const url = `redis://:${password}@127.0.0.1:${port}`;
  // When the output ends without that word, the child is about to be reported as ended.
  if (!(await Promise.race([isReady(child.stdout), failed]))) await failed;
  const claim = stack.move();
  return {
    url,
    async [Symbol.asyncDispose]() {
      await stop(child);
      claim.dispose();
    },
  };
}

/** redis-server says so itself; what it says afterwards is not kept. */
async function isReady(output: Readable): Promise<boolean> {
  for await (const line of createInterface({ input: output })) {
    if (!line.includes('Ready to accept connections')) continue;
    output.resume();
    return true;
  }
  return false;
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
