import { setTimeout as delay } from 'node:timers/promises';
import { HttpConnection, httpRequest } from '../../../test/support/http-connection.ts';
import type { GatewayProcess } from './gateway.ts';
import { signInOperator } from './seeds.ts';

/** Links on the last list page. */
interface Seen {
  next: string;
  elicitation: string;
}

/** What an operator opens, one after the other: every page that reads more than one record, and filters that match little. */
export const clicks: readonly ((seen: Seen) => string)[] = [
  () => '/',
  () => '/elicitations',
  ({ next }) => next,
  ({ elicitation }) => elicitation,
  // No elicitation matches: the page reads as many as it may.
  () => '/elicitations?kind=payment',
  () => '/connections',
  () => '/audit',
  // Few lines match.
  () => '/audit?event=admin',
  () => '/elicitations?phase=ended',
  () => '/?range=month',
];

/** Time between two pages that a person opens, and between two loads of a page that reloads. */
export const CLICK_MS = 2_000;

/** An operator in a browser with two tabs: one in use, and one with jobs, whose page reloads while one of them is unfinished. */
export interface Operator {
  /** Opens a page every two seconds, or when the one before is there, for this time. @returns the time of each, in milliseconds */
  browse(seconds: number): Promise<readonly number[]>;
}

/** @param first of {@link clicks}, so that several operators do not open the same page at once */
export async function signedInOperator(
  redisUrl: string,
  { consolePort }: Pick<GatewayProcess, 'consolePort'>,
  first: number,
): Promise<Operator> {
  const cookie = await signInOperator(redisUrl);
  const seen: Seen = { next: '/elicitations', elicitation: '/elicitations' };
  let nth = first;

  async function open(connection: HttpConnection, path: string): Promise<string> {
    const answer = await connection.request(httpRequest('GET', path, consolePort, { cookie }));
    if (answer.status !== 200) throw new Error(`the console answered ${path.split('?')[0]} with ${answer.status}`);
    return answer.body;
  }

  async function click(connection: HttpConnection): Promise<void> {
    const path = clicks[nth % clicks.length]?.(seen) ?? '/';
    nth += 1;
    const body = await open(connection, path);
    const link = (pattern: RegExp) => pattern.exec(body)?.[1]?.replaceAll('&amp;', '&');
    seen.next = link(/href="(\/elicitations\?[^"]*cursor=[^"]*)"/) ?? seen.next;
    seen.elicitation = link(/href="(\/elicitations\/el_[^"/]+)"/) ?? seen.elicitation;
  }

  async function every(seconds: number, act: (connection: HttpConnection) => Promise<unknown>): Promise<number[]> {
    using connection = await HttpConnection.open(consolePort);
    const took: number[] = [];
    const startedAt = performance.now();
    for (let at = 0; at < seconds * 1000; at += CLICK_MS) {
      await delay(Math.max(0, startedAt + at - performance.now()));
      const from = performance.now();
      await act(connection);
      took.push(performance.now() - from);
    }
    return took;
  }

  return {
    async browse(seconds) {
      const [took] = await Promise.all([
        every(seconds, click),
        every(seconds, connection => open(connection, '/jobs')),
      ]);
      return took;
    },
  };
}
