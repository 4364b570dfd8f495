import { type ChildProcess, execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Machine } from './namespaces.ts';
import { until } from './until.ts';

/** A program of Redis on a machine of a network. */
export interface RedisMachine extends AsyncDisposable {
  readonly machine: Machine;
  readonly port: number;
  readonly url: string;
  /** Asks it, from where this process stands. @throws when it does not answer in time */
  cli(...command: readonly string[]): Promise<string>;
  /** A field of INFO. */
  info(section: string, field: string): Promise<string | undefined>;
  /** Ends it as a crash would; its data stays. */
  kill(): Promise<void>;
  /** Starts it again with its data. Resolves when it answers. */
  restart(): Promise<void>;
  suspend(): void;
  resume(): void;
}

export const REDIS_PORT = 6379;
export const SENTINEL_PORT = 26379;

/**
 * What every server of these networks has: an append-only file, nothing evicted, replicas that are noticed to be gone within
 * seconds and catch up from the backlog.
 */
export const SERVER_ARGS: readonly string[] = [
  ...['--save', '', '--appendonly', 'yes', '--appendfsync', 'everysec', '--maxmemory-policy', 'noeviction'],
  ...['--repl-diskless-sync-delay', '0', '--repl-ping-replica-period', '1', '--repl-timeout', '10'],
  ...['--repl-backlog-size', '32mb', '--protected-mode', 'no'],
];

/** @param args as a function of the directory of its own, or as they are. */
export async function startRedisMachine(
  machine: Machine,
  port: number,
  args: readonly string[] | ((directory: string) => Promise<readonly string[]>),
): Promise<RedisMachine> {
  const directory = await mkdtemp(join(tmpdir(), 'postern-machine-'));
  const own = typeof args === 'function' ? await args(directory) : args;
  const listen = ['--port', String(port), '--bind', machine.address, '127.0.0.1', '--dir', directory];
  let child: ChildProcess | undefined;

  const cli = (...command: readonly string[]) => redisCli(['-h', machine.address, '-p', String(port), ...command]);
  const restart = async () => {
    // A configuration file stands before everything else.
    const started = machine.spawn('redis-server', own[0]?.endsWith('.conf') ? own : [...listen, ...own], {
      stdio: 'ignore',
    });
    child = started;
    const ended = once(started, 'exit').then(([code]) => Promise.reject(new Error(`redis-server ended with ${code}`)));
    await Promise.race([until('Redis answers', async () => (await cli('ping')) === 'PONG'), ended]);
  };
  const kill = async () => {
    const running = child;
    child = undefined;
    if (running === undefined || running.exitCode !== null || running.signalCode !== null) return;
    const exited = once(running, 'exit');
    running.kill('SIGKILL');
    await exited;
  };
  const dispose = async () => {
    await kill();
    // A rewrite of the append-only file can outlive its parent for a moment.
    await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  };
  try {
    await restart();
  } catch (error) {
    await dispose();
    throw error;
  }
  return {
    machine,
    port,
    url: `redis://${machine.address}:${port}`,
    cli,
    async info(section, field) {
      return new RegExp(`^${field}:(.*)$`, 'm').exec(await cli('info', section))?.[1]?.trim();
    },
    kill,
    restart,
    suspend: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
    [Symbol.asyncDispose]: dispose,
  };
}

/** @throws when Redis answers with an error, or not within three seconds */
export async function redisCli(args: readonly string[], timeout = 3_000): Promise<string> {
  const { stdout } = await promisify(execFile)('redis-cli', ['-e', ...args], { timeout });
  return stdout.trim();
}
