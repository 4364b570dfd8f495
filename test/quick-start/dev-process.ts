import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { endingWithParent } from '@postern/testkit/processes';

/** `postern dev` as a process. Disposing it is Ctrl-C. */
export interface DevProcess extends AsyncDisposable {
  /** All that it has printed. */
  printed(): string;
}

/**
 * Resolves when the gateway serves requests.
 * @param program and its first arguments, such as `npx @postern/gateway dev`
 * @throws with what it printed, if it ends
 */
export async function startDevProcess(
  folder: string,
  [program, ...args]: readonly [string, ...string[]],
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<DevProcess> {
  const { REDIS_URL: _, ...rest } = env;
  const child = spawn(...endingWithParent(program, args), {
    cwd: folder,
    env: rest,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const ended = once(child, 'exit');
  let printed = '';
  const { promise: isStarted, resolve } = Promise.withResolvers<boolean>();
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', text => {
      printed += text;
      if (printed.includes('Postern listens at ')) resolve(true);
    });
  ended.then(() => resolve(false));
  if (!(await isStarted)) throw new Error(printed);
  return {
    printed: () => printed,
    async [Symbol.asyncDispose]() {
      // Like a terminal: to npx and what it has started.
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGINT');
      await ended;
    },
  };
}
