import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { GatewayConfigInput } from '@postern/gateway';
import { freePort } from './world.ts';

/** A gateway as operators run it: a process of its own with a configuration file. */
export interface GatewayProcess extends AsyncDisposable {
  readonly address: string;
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

const main = join(dirname(createRequire(import.meta.url).resolve('@postern/gateway')), 'main.ts');

/** Starts one more replica of a configuration, on a port of its own. Resolves when it listens. @throws when it does not */
export async function startGatewayProcess(config: GatewayConfigInput): Promise<GatewayProcess> {
  const directory = await mkdtemp(join(tmpdir(), 'postern-gateway-'));
  const path = join(directory, 'postern.config.yaml');
  const port = await freePort();
  // JSON is YAML.
  await writeFile(path, JSON.stringify({ ...config, listen: { host: '127.0.0.1', port } }), { mode: 0o600 });
  const { REDIS_URL: _, ...env } = process.env;
  const start = async () => {
    const started = spawn(process.execPath, [main, path], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      await untilStarted(started, line => {
        if (line.includes('"audit":true')) audited.push(line);
      });
    } catch (error) {
      await kill(started);
      throw error;
    }
    return started;
  };
  const remove = () => rm(directory, { recursive: true, force: true });
  const audited: string[] = [];
  let child: ChildProcess;
  try {
    child = await start();
  } catch (error) {
    await remove();
    throw error;
  }
  return {
    address: `http://127.0.0.1:${port}`,
    audited,
    kill: () => kill(child),
    async restart() {
      child = await start();
    },
    suspend: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
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

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
