import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { endWithUs } from '../../../test/support/end-with-us.ts';

export const root = fileURLToPath(new URL('../../..', import.meta.url));

export interface ChildOptions {
  /** Path of the module, relative to the repository, or absolute. */
  readonly module: string;
  readonly args?: readonly string[];
  /** Options of Node.js. */
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Where to write a CPU profile on exit. The process must exit by itself on SIGTERM. */
  readonly profileDir?: string | undefined;
  /** A third-party program that logs expected errors. */
  readonly isForeign?: boolean;
  /** Receives what the child sends with `process.send`. */
  readonly onMessage?: (message: unknown) => void;
}

/** A Node.js process under test. Its log goes to /dev/null, like that of the baselines; its errors are shown. */
export interface Child extends AsyncDisposable {
  readonly process: ChildProcess;
  /** Resident memory in bytes. */
  rss(): number;
  /** Processor time used so far, by all threads, in milliseconds. */
  cpuMs(): number;
  /** Bytes read and written so far: sockets, files and pipes. */
  ioBytes(): number;
}

export function startChild(options: ChildOptions): Child {
  const { module, args = [], env = {}, profileDir, isForeign = false } = options;
  const flags = [
    ...(options.flags ?? []),
    ...(profileDir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDir}`]),
  ];
  const child = endWithUs(
    spawn(process.execPath, [...flags, module, ...args], {
      cwd: root,
      stdio: ['ignore', 'ignore', isForeign ? 'ignore' : 'inherit', 'ipc'],
      env: { ...process.env, NODE_ENV: 'production', NODE_NO_WARNINGS: '1', ...env },
    }),
  );
  if (options.onMessage) child.on('message', options.onMessage);
  return {
    process: child,
    rss: () => residentBytes(child.pid ?? 0),
    cpuMs: () => processorMs(child.pid ?? 0),
    ioBytes: () => ioBytes(child.pid ?? 0),
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    },
  };
}

/** Resolves with the first message of a child, which means that it is ready. */
export async function readiness(child: Child): Promise<unknown> {
  const exited = once(child.process, 'exit').then(([code]) => {
    throw new Error(`a process under test exited with code ${code} instead of starting`);
  });
  const [message] = await Promise.race([once(child.process, 'message'), exited]);
  return message;
}

function residentBytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) * 1024;
}

/** proc(5): rchar and wchar, what read and write calls have transferred. */
function ioBytes(pid: number): number {
  const text = readFileSync(`/proc/${pid}/io`, 'utf8');
  return Number(/^rchar: (\d+)$/m.exec(text)?.[1]) + Number(/^wchar: (\d+)$/m.exec(text)?.[1]);
}

/** proc(5): user and system time are fields 14 and 15, in ticks of 10 ms; the name in field 2 may contain any character. */
export function processorMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
