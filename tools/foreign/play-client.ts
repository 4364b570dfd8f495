import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { connectAccount, elicitationIdOf } from '../../test/support/person-at-gateway.ts';
import type { World } from '../../test/support/world.ts';
import { startRecordingProxy } from './recording-proxy.ts';

export const asks = ['push', '-32042', 'plain link', '2026-07-28'] as const;
export type Ask = (typeof asks)[number];

/** What a person sees of the URL, in this order of preference. */
type Shown = 'handler' | 'result' | 'error' | 'nothing';

export interface Experience {
  readonly ask: Ask;
  readonly shown: Shown;
  /** `continued`: the first call went through. `again`: the second one did. */
  readonly end: 'continued' | 'again' | 'never' | 'hung' | 'did not start';
  readonly declaresUrl: boolean;
  /** Revision of the call, if there was one. */
  readonly revision: string | undefined;
  readonly calls: number;
  /** What the driver printed as the result of its first call, or the end of its error output. */
  readonly first: string;
  readonly responses: readonly string[];
}

export interface PlayOptions {
  readonly world: World;
  readonly endpoint: URL;
  readonly ask: Ask;
  /** Where the client is installed, and its driver. */
  readonly folder: string;
  readonly driver: string;
  readonly limitMs: number;
}

/** Calls the tool with a client, with a person who opens what they are shown, and calls again if the client does not. */
export async function playClient(options: PlayOptions): Promise<Experience> {
  const { world, ask, folder, limitMs } = options;
  const user = world.subject();
  await using proxy = await startRecordingProxy(options.endpoint, ask !== '2026-07-28');
  const child = spawn(process.execPath, [join(folder, options.driver)], {
    cwd: folder,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      HOME: folder,
      NO_COLOR: '1',
      DISPLAY: ':0',
      BROWSER: 'true',
      MCP_URL: proxy.url,
      MCP_TOKEN: user,
      MCP_ERA: ask === '2026-07-28' ? ask : '2025-11-25',
    },
  });
  const visits = new Map<string, Promise<void>>();
  const results: string[] = [];
  let shown: Shown = 'nothing';
  let errors = '';
  child.stderr.on('data', chunk => {
    errors = `${errors}${chunk}`.slice(-2000);
  });
  const arrivals = new EventTarget();

  /** The person opens every link once, and does what the page asks. */
  function openLinks(text: string): boolean {
    const links = [...text.matchAll(/https?:\/\/[^\s"'`<>\\)\]]+\/e\/el_[\w-]+/g)].map(([link]) => link);
    for (const link of links) {
      const id = elicitationIdOf(link);
      if (!visits.has(id)) visits.set(id, connectAccount(world.raw(), id, user));
    }
    return links.length > 0;
  }

  createInterface({ input: child.stdout }).on('line', line => {
    const [, kind, text = ''] = /^(ELICIT|PRINTED|RESULT) (.*)$/.exec(line) ?? [];
    if (kind === undefined) return;
    const hasLink = openLinks(text);
    if (kind === 'ELICIT') shown = 'handler';
    else if (hasLink && shown === 'nothing')
      shown = kind === 'RESULT' && text.startsWith('{"error"') ? 'error' : 'result';
    if (kind === 'RESULT') {
      results.push(text);
      arrivals.dispatchEvent(new Event('result'));
    }
  });

  /** @returns the result of this call, or undefined if there is none in time */
  async function call(): Promise<string | undefined> {
    const expected = results.length + 1;
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, limitMs);
    child.stdin.write('call\n');
    const arrived = new Promise<void>(onArrival => {
      const check = () => (results.length >= expected ? onArrival() : undefined);
      arrivals.addEventListener('result', check);
    });
    await Promise.race([arrived, late, once(child, 'close')]);
    clearTimeout(timer);
    return results[expected - 1];
  }

  child.stdin.on('error', () => undefined);
  try {
    const first = await call();
    await Promise.all(visits.values());
    const isDone = (text: string | undefined) => text?.includes('accept alice') === true;
    const second = first === undefined || isDone(first) ? undefined : await call();
    const stopped = child.exitCode !== null;
    const end = isDone(first)
      ? 'continued'
      : isDone(second)
        ? 'again'
        : first === undefined
          ? stopped
            ? 'did not start'
            : 'hung'
          : 'never';
    return {
      ask,
      shown,
      end,
      calls: proxy.calls(),
      declaresUrl: proxy.declaresUrl(),
      revision: proxy.revision(),
      first: first ?? errors,
      responses: proxy.responses(),
    };
  } finally {
    stop(child);
    await Promise.allSettled(visits.values());
  }
}

function stop({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}
