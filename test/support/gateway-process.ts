import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { GatewayConfigInput } from '@postern/gateway';
import { endingWithParent, freePort } from '@postern/testkit/processes';
import { compiledGateway } from './compiled-gateway.ts';
import { endWithUs } from './end-with-us.ts';
import { warmUp } from './warm-up.ts';

/** A gateway as operators run it: a process of its own with a configuration file. */
export interface GatewayProcess extends AsyncDisposable {
  readonly address: string;
  /** Of its present life. */
  readonly pid: number | undefined;
  /** How its present life ended, once it has. */
  ended(): Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  signal(name: NodeJS.Signals): void;
  /** The audit events that it has written so far, through all its lives: one JSON object each. */
  readonly audited: readonly string[];
  /** Ends it as a crash would: nothing is finished, nothing is said. */
  kill(): Promise<void>;
  /** Starts it again where it was. */
  restart(): Promise<void>;
  /** Stops it in its tracks, as a paused virtual machine is; time goes on without it. */
  suspend(): void;
  resume(): void;
}

export interface GatewayProcessOptions {
  /** Added to the environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** What starts it, such as `ip netns exec name`: by replacing itself, so that a signal meets the gateway. */
  readonly launcher?: readonly string[];
  /** Where it listens. Default 127.0.0.1. */
  readonly host?: string;
  /** Every line that it prints, to either output. Default: errors go where those of the test go. */
  readonly onLine?: (line: string) => void;
}

const main = join(dirname(createRequire(import.meta.url).resolve('@postern/gateway')), 'main.ts');

/** Starts one more replica of a configuration, on a port of its own. Resolves when it serves pages. @throws when it does not */
export async function startGatewayProcess(
  config: GatewayConfigInput,
  options: GatewayProcessOptions = {},
): Promise<GatewayProcess> {
  const { host = '127.0.0.1', launcher = [], onLine } = options;
  const directory = await mkdtemp(join(tmpdir(), 'postern-gateway-'));
  const path = join(directory, 'postern.config.yaml');
  const port = await freePort();
  const address = `http://${host}:${port}`;
  // JSON is YAML.
  await writeFile(path, JSON.stringify({ ...config, listen: { host, port } }), { mode: 0o600 });
  const { REDIS_URL: _, ...inherited } = process.env;
  const env = { ...inherited, ...(await compiledGateway()), ...options.env };
  const [program = '', ...args] = [...launcher, process.execPath, main, path];
  const start = async () => {
    const stderr = onLine === undefined ? 'inherit' : 'pipe';
    const started = endWithUs(spawn(...endingWithParent(program, args), { env, stdio: ['ignore', 'pipe', stderr] }));
    // From now on: while it is still starting it can be killed as well.
    child = started;
    if (started.stderr !== null && onLine !== undefined) createInterface(started.stderr).on('line', onLine);
    try {
      await untilStarted(started, line => {
        if (line.includes('"audit":true')) audited.push(line);
        onLine?.(line);
      });
      await warmUp(address, config.publicUrl, () => started.exitCode !== null || started.signalCode !== null);
    } catch (error) {
      await kill(started);
      throw error;
    }
  };
  const remove = () => rm(directory, { recursive: true, force: true });
  const audited: string[] = [];
  let child: ChildProcess | undefined;
  try {
    await start();
  } catch (error) {
    await remove();
    throw error;
  }
  return {
    address,
    get pid() {
      return child?.pid;
    },
    audited,
    async ended() {
      if (child === undefined) throw new TypeError('a gateway that was never started');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      return { code: child.exitCode, signal: child.signalCode };
    },
    signal: name => void child?.kill(name),
    kill: () => kill(child),
    restart: start,
    suspend: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
    async [Symbol.asyncDispose]() {
      await kill(child);
      await remove();
    },
  };
}

async function untilStarted(child: ChildProcess, onLine: (line: string) => void): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  child.once('error', reject);
  child.once('exit', code => reject(new Error(`the gateway ended with ${code} before it listened`)));
  if (child.stdout === null) throw new TypeError('a gateway without standard output');
  // Read to the end, or a full pipe would stop it.
  createInterface(child.stdout).on('line', line => {
    onLine(line);
    if (line.includes('"gateway.started"')) resolve();
  });
  await promise;
}

async function kill(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
