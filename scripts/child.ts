import { type SpawnOptions, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

/** The folder of the repository. */
export const root = fileURLToPath(new URL('..', import.meta.url));

const forwarded = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Runs a program in the foreground and returns its exit code, or 128 + the signal's number if a signal ended it.
 *
 * This process outlives the child: it passes signals on, and the child decides how to end. A terminal delivers Ctrl-C
 * to the whole process group by itself; passing it on again would look like a second Ctrl-C.
 */
export async function run(program: string, args: readonly string[], options: SpawnOptions = {}): Promise<number> {
  const child = spawn(program, args, { stdio: 'inherit', cwd: root, ...options });
  const forward = (signal: NodeJS.Signals) => {
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
  };
  for (const signal of forwarded) process.on(signal, forward);
  try {
    return await new Promise<number>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, signal) => resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])));
    });
  } finally {
    for (const signal of forwarded) process.off(signal, forward);
  }
}

/** {@link run} with the Node.js that runs this script: the workspace's pinned one. */
export function runNode(args: readonly string[], options?: SpawnOptions): Promise<number> {
  return run(process.execPath, args, options);
}
