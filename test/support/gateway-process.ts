import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { GatewayConfigInput } from '@postern/gateway';
import { endingWithParent, freePort } from '@postern/testkit/processes';
import { compiledGateway } from './compiled-gateway.ts';
import { endWithUs } from './end-with-us.ts';
import { warmUp } from './warm-up.ts';

/** A gateway as operators run it: a separate process with a configuration file. */
export interface GatewayProcess extends AsyncDisposable {
  readonly address: string;
  readonly configPath: string;
  /** Process id since the last start. */
  readonly pid: number | undefined;
  /** Exit of the last start, once it has exited. */
  ended(): Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  signal(name: NodeJS.Signals): void;
  /** All audit events so far, across restarts: one JSON object each. */
  readonly audited: readonly string[];
  /** Replaces its configuration file, as editors do. */
  configure(config: GatewayConfigInput | string): Promise<void>;
  /** Kills it like a crash: without any clean-up. */
  kill(): Promise<void>;
  /** Restarts it at the same address. */
  restart(): Promise<void>;
  /** Suspends it, like a paused virtual machine, while time continues. */
  suspend(): void;
  resume(): void;
}

export interface GatewayProcessOptions {
  /** Additional environment variables. */
  readonly env?: Readonly<Record<string, string>>;
  /** Launcher, such as `ip netns exec name`. It must replace itself, so that signals reach the gateway. */
  readonly launcher?: readonly string[];
  /** Listen address. Default 127.0.0.1. */
  readonly host?: string;
  /** Receives every line of both outputs. Default: stderr is inherited. */
  readonly onLine?: (line: string) => void;
}

const main = join(dirname(createRequire(import.meta.url).resolve('@postern/gateway')), 'main.ts');

/** Starts another replica of a configuration on a free port. Resolves when it serves pages. @throws if it does not */
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
  const write = async (to: string, content: GatewayConfigInput | string) => {
    const text = typeof content === 'string' ? content : JSON.stringify({ ...content, listen: { host, port } });
    await writeFile(to, text, { mode: 0o600 });
  };
  await write(path, config);
  const { REDIS_URL: _, ...inherited } = process.env;
  const env = { ...inherited, ...(await compiledGateway()), ...options.env };
  const [program = '', ...args] = [...launcher, process.execPath, main, path];
  const start = async () => {
    const stderr = onLine === undefined ? 'inherit' : 'pipe';
    const started = endWithUs(spawn(...endingWithParent(program, args), { env, stdio: ['ignore', 'pipe', stderr] }));
    // Set from here on, so that the gateway can also be killed while it starts.
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
    configPath: path,
    get pid() {
      return child?.pid;
    },
    audited,
    async ended() {
      if (child === undefined) throw new TypeError('the gateway was never started');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      return { code: child.exitCode, signal: child.signalCode };
    },
    signal: name => void child?.kill(name),
    async configure(next) {
      await write(`${path}.new`, next);
      await rename(`${path}.new`, path);
    },
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
  child.once('exit', code => reject(new Error(`the gateway exited with ${code} before it listened`)));
  if (child.stdout === null) throw new TypeError('the gateway has no standard output');
  // Drain the pipe: a full one would block the gateway.
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
