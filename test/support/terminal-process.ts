import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { endingWithParent } from '@postern/testkit/processes';

/** A program that talks to a user in a terminal. */
export interface TerminalProcess extends AsyncDisposable {
  /** All that the terminal shows, the answers of the user included. */
  printed(): string;
  /** Waits until the program asks this, after everything that was answered before, and types the answer. @throws if it ends */
  answer(question: string, text: string): Promise<void>;
  /** Waits for a text after everything that was answered before. @throws if it ends */
  waitFor(text: string): Promise<void>;
}

/** @param command the program and its arguments */
export function startTerminalProcess(
  [program, ...args]: readonly [string, ...string[]],
  folder: string,
  env: NodeJS.ProcessEnv = process.env,
): TerminalProcess {
  const child = spawn(...endingWithParent(program, args), {
    cwd: folder,
    env,
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  const ended = once(child, 'exit');
  let printed = '';
  let answered = 0;
  let changed = Promise.withResolvers<void>();
  const signal = () => {
    changed.resolve();
    changed = Promise.withResolvers();
  };
  let isOver = false;
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', text => {
      printed += text;
      signal();
    });
  ended.then(() => {
    isOver = true;
    signal();
  });
  async function waitFor(text: string): Promise<void> {
    while (!printed.slice(answered).includes(text)) {
      if (isOver) throw new Error(`the program ended:\n${printed}`);
      await changed.promise;
    }
  }
  return {
    printed: () => printed,
    waitFor,
    async answer(question, text) {
      await waitFor(question);
      printed += `${text}\n`;
      answered = printed.length;
      child.stdin.write(`${text}\n`);
    },
    async [Symbol.asyncDispose]() {
      // Like a terminal: to npx and what it has started.
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGTERM');
      await ended;
    },
  };
}
