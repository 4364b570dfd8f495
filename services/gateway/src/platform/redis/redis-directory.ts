import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, readlinkSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { StartError } from '../start-error.ts';

/** The directory of a private Redis, locked by this process. */
export interface RedisDirectory extends Disposable {
  readonly path: string;
  readonly pidFile: string;
}

const END_TRIES = 200;
const TRY_AGAIN_MS = 50;

/**
 * Two servers would destroy one append-only file. So this locks the directory first, and stops a redis-server that outlived its
 * gateway (killed, or its terminal closed) before a new one starts.
 * @throws StartError when another gateway uses the directory.
 */
export async function claimRedisDirectory(directory: string): Promise<RedisDirectory> {
  const path = resolve(directory);
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const lock = await takeLock(path, directory);
  const pidFile = join(path, 'redis.pid');
  try {
    await endOrphan(path, pidFile);
  } catch (error) {
    lock?.close();
    throw error;
  }
  return { path, pidFile, [Symbol.dispose]: () => void lock?.close() };
}

/** An abstract socket is a lock that the kernel releases however the process ends. Linux only. */
async function takeLock(path: string, directory: string): Promise<Server | undefined> {
  if (process.platform !== 'linux') return undefined;
  const lock = createServer(socket => socket.destroy());
  const name = `\0postern-redis-${createHash('sha256').update(path).digest('hex')}`;
  const { promise, resolve: taken, reject } = Promise.withResolvers<void>();
  lock.once('error', reject).listen(name, taken);
  try {
    await promise;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') {
      throw new StartError(`Another gateway on this machine uses the private Redis in ${directory}.`);
    }
    throw error;
  }
  lock.unref();
  return lock;
}

async function endOrphan(path: string, pidFile: string): Promise<void> {
  const pid = readPid(pidFile);
  if (pid === undefined || !worksIn(pid, path)) return;
  process.kill(pid, 'SIGTERM');
  for (let attempt = 0; attempt < END_TRIES; attempt += 1) {
    if (!worksIn(pid, path)) return;
    await delay(TRY_AGAIN_MS);
  }
  throw new StartError(
    `A redis-server (process ${pid}) still uses ${path} and did not stop. Stop it, then start the gateway again.`,
  );
}

function readPid(pidFile: string): number | undefined {
  const pid = Number(textIn(pidFile).trim());
  return Number.isSafeInteger(pid) && pid > 1 ? pid : undefined;
}

/** The text of a file that a running Redis has. Empty without the file. */
export function textIn(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return '';
    throw error;
  }
}

/** Whether the process is a redis-server in this directory. The directory is checked because process ids are reused. */
function worksIn(pid: number, path: string): boolean {
  try {
    return (
      readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'redis-server' && readlinkSync(`/proc/${pid}/cwd`) === path
    );
  } catch (error) {
    if (isErrno(error, 'ENOENT') || isErrno(error, 'EACCES') || isErrno(error, 'ESRCH')) return false;
    throw error;
  }
}

function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
