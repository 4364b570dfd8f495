import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { StartError } from '../start-error.ts';
import { claimRedisDirectory, type RedisDirectory, textIn } from './redis-directory.ts';

export interface EmbeddedRedis extends AsyncDisposable {
  readonly url: string;
}

/** How to get a Redis, by operating system. */
const installation = {
  linux: 'Install it (Debian and Ubuntu: apt-get install redis-server; elsewhere the package redis) or set REDIS_URL.',
  darwin: 'Install it (brew install redis) or set REDIS_URL.',
  win32: 'Windows has none: start the gateway in WSL or in a container, or set REDIS_URL.',
};

const MOST_PORTS = 5;
const PING_MS = 2_000;

/** Where commands of the same user find the running Redis. In the directory of its data, which only that user may open. */
const addressFile = (directory: string): string => join(resolve(directory), 'address');

/**
 * Starts a private redis-server, the default if no Redis is configured: on a free loopback port, with an append-only file and a random
 * password for as long as it runs. The configuration goes through standard input, so that the password appears in no process list.
 * @throws StartError if redis-server is not installed or another gateway uses the directory
 */
export async function startEmbeddedRedis(directory: string, choosePort = freePort): Promise<EmbeddedRedis> {
  using stack = new DisposableStack();
  const home = stack.use(await claimRedisDirectory(directory));
  const password = randomBytes(32).toString('hex');
  const { child, port } = await startOnFreePort(home, password, choosePort);
  const url = `redis://:${password}@127.0.0.1:${port}`;
  const file = addressFile(directory);
  try {
    rmSync(file, { force: true });
    writeFileSync(file, url, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    await stop(child);
    throw error;
  }
  const claim = stack.move();
  return {
    url,
    async [Symbol.asyncDispose]() {
      rmSync(file, { force: true });
      await stop(child);
      claim.dispose();
    },
  };
}

/** Connects to the private Redis of a gateway that runs. Undefined if none does. */
export async function joinEmbeddedRedis(directory: string): Promise<EmbeddedRedis | undefined> {
  const url = URL.parse(textIn(addressFile(directory)));
  if (url === null || !(await answers(url))) return undefined;
  return { url: url.href, [Symbol.asyncDispose]: () => Promise.resolve() };
}

/** A gateway that was killed leaves its file, and another program may have the port since. */
async function answers({ hostname, port, password }: URL): Promise<boolean> {
  const socket = connect(Number(port), hostname).setTimeout(PING_MS, () => socket.destroy());
  try {
    let said = '';
    socket.write(`AUTH ${password}\r\nPING\r\n`);
    for await (const chunk of socket.setEncoding('utf8')) {
      said += String(chunk);
      if (said.length >= '+OK\r\n+PONG\r\n'.length) break;
    }
    return said.startsWith('+OK\r\n+PONG\r\n');
  } catch (error) {
    // The socket failed: nothing listens, or a program that is no Redis.
    if (error instanceof Error && 'code' in error) return false;
    throw error;
  } finally {
    socket.destroy();
  }
}

function installationHint(): string {
  const { platform } = process;
  return platform === 'darwin' || platform === 'win32' ? installation[platform] : installation.linux;
}

/** Another program may take the port after the check, so this tries again with another one. */
async function startOnFreePort(home: RedisDirectory, password: string, choosePort: () => Promise<number>) {
  for (let tries = 1; ; tries += 1) {
    const port = await choosePort();
    const outcome = await started(home, password, port);
    if (outcome !== 'port_taken') return { child: outcome, port };
    if (tries === MOST_PORTS)
      throw new StartError('There is no free port for the private Redis on the loopback address.');
  }
}

async function started(home: RedisDirectory, password: string, port: number): Promise<ChildProcess | 'port_taken'> {
  const child = spawn('redis-server', ['-'], {
    stdio: ['pipe', 'pipe', 'ignore'],
    // A separate process group: Ctrl-C in a terminal must not stop Redis before the gateway has finished.
    detached: true,
  });
  const failed = new Promise<never>((_, reject) => {
    child.once('error', () => reject(new StartError(`redis-server is not installed. ${installationHint()}`)));
    child.once('exit', code =>
      reject(new StartError(`The private Redis exited with code ${code} at start-up (directory ${home.path}).`)),
    );
  });
  // Avoids an unhandled rejection when the process exits long after its start.
  failed.catch(() => undefined);
  // Writing to a child that did not start fails too; `failed` has the reason.
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
  // If the output ends without either message, the exit event follows.
  const said = await Promise.race([whatItSays(child.stdout), failed]);
  if (said === undefined) await failed;
  return said === 'port_taken' ? said : child;
}

/** Reads the output of redis-server until it has started or failed, and discards the rest. */
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
