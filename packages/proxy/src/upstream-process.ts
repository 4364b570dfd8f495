import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';

/** How long a child may take to end after its input has, and after a signal, in ms. */
const GRACE_MS = 2_000;
const LOOK_MS = 20;

export interface UpstreamCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd?: string | undefined;
  /** Whether its standard error is read here, and not that of this process. */
  readonly isLogRead?: boolean | undefined;
}

/** An MCP server on stdio. */
export class UpstreamProcess {
  readonly #child: ChildProcess;
  #stopping: Promise<void> | undefined;
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Undefined if it is that of this process. */
  readonly stderr: Readable | undefined;
  /** Resolves with the exit code when it has ended. */
  readonly ended: Promise<number>;

  /** @throws if there is no such program */
  static async start({ command, args, env, cwd, isLogRead = false }: UpstreamCommand): Promise<UpstreamProcess> {
    // A group of its own: programs that start others (npx) may leave these behind.
    const child = spawn(command, args, {
      env,
      cwd,
      stdio: ['pipe', 'pipe', isLogRead ? 'pipe' : 'inherit'],
      detached: process.platform !== 'win32',
    });
    await once(child, 'spawn');
    const { stdin, stdout } = child;
    if (stdin === null || stdout === null) throw new TypeError('a child with pipes');
    return new UpstreamProcess(child, stdin, stdout);
  }

  constructor(child: ChildProcess, stdin: Writable, stdout: Readable) {
    this.#child = child;
    this.stdin = stdin;
    this.stdout = stdout;
    this.stderr = child.stderr ?? undefined;
    this.ended = new Promise(resolve =>
      child.once('exit', (code, signal) => resolve(code ?? (signal === null ? 1 : 128))),
    );
    // It may end while something is written to it: `ended` tells.
    stdin.on('error', () => {});
  }

  /** Ends it as the specification wants: its input, then TERM, then KILL, the last two for its whole group. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    this.stdin.end();
    await Promise.race([this.ended, delay(GRACE_MS, undefined, { ref: false })]);
    // Its leader may be gone, and programs that it has started may not.
    this.#signal('SIGTERM');
    for (let left = GRACE_MS; this.#signal(0) && left > 0; left -= LOOK_MS) await delay(LOOK_MS);
    this.kill();
    await this.ended;
  }

  /** Ends it at once. */
  kill(): void {
    this.#signal('SIGKILL');
  }

  /** Signals the group. Returns whether it has a process. */
  #signal(signal: NodeJS.Signals | 0): boolean {
    const { pid } = this.#child;
    if (pid === undefined) return false;
    if (process.platform === 'win32') return this.#child.exitCode === null && this.#child.kill(signal);
    try {
      return process.kill(-pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      return false;
    }
  }
}
