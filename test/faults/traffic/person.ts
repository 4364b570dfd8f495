import { setTimeout as delay } from 'node:timers/promises';
import {
  acceptFormIn,
  createRawBrowser,
  csrfTokenIn,
  destinationIn,
  type RawAnswer,
} from '../../support/raw-browser.ts';
import type { FaultWorld } from '../fault-world.ts';
import type { Operation } from '../history-entry.ts';
import type { SeededRandom } from '../random.ts';
import type { FaultRun } from '../scenario.ts';
import { codeOf, defined } from './caller.ts';

/** State of a page, from the view of its reader. */
export type Page =
  | 'sign_in'
  | 'ask'
  | 'underway'
  | 'completed'
  | 'declined'
  | 'cancelled'
  | 'expired'
  | 'failed'
  | 'refused'
  | 'unavailable';

/** A user with a browser who reloads when a page does not arrive. */
export interface Person {
  readonly sub: string;
  /** Returns the page of an elicitation, after signing in for it. Undefined: not reachable despite reloads. */
  look(elicitationId: string, random: SeededRandom): Promise<SeenPage | undefined>;
  /** Opens the page without a sign-in and without a retry. */
  glance(elicitationId: string): Promise<SeenPage | undefined>;
  press(p: Press): Promise<RawAnswer | undefined>;
  /** Goes from the decision page to the provider and back, and decides there. */
  authorize(elicitationId: string, form: Record<string, string>, p: Authorizing): Promise<void>;
}

export interface SeenPage {
  readonly page: Page;
  readonly answer: RawAnswer;
}

export interface Press {
  readonly op: 'accept' | 'decline';
  readonly elicitationId: string;
  readonly form: Record<string, string>;
}

export interface Authorizing {
  readonly random: SeededRandom;
  readonly decision: 'allow' | 'deny';
}

export interface PersonOptions {
  readonly world: FaultWorld;
  readonly sub: string;
  readonly addresses: () => readonly string[];
  readonly timeoutMs: number;
  readonly reloads: number;
}

export function createPerson({ history, random }: FaultRun, options: PersonOptions): Person {
  const { world, sub, addresses, reloads } = options;
  const who = `person:${sub}`;
  const route = random.fork(`route of ${sub}`);
  let address = '';
  const browser = createRawBrowser({
    address: () => {
      address = route.pick(addresses());
      return address;
    },
    publicUrl: world.publicUrl,
    timeoutMs: options.timeoutMs,
  });

  async function noted(
    op: Operation,
    elicitationId: string,
    work: () => Promise<RawAnswer>,
  ): Promise<SeenPage | undefined> {
    const call = history.nextCall();
    history.record({ who, what: 'request', call, op, to: 'any', elicitationId });
    try {
      const answer = await work();
      const page = pageOf(answer);
      history.scan(`page after ${op}`, answer.body);
      const status = statusShown(page);
      const shown = answer.status === 200 && (page === 'ask' || page === 'underway' || status !== undefined);
      history.record({ who, what: 'response', call, http: answer.status, ...defined({ status }), shown });
      return { page, answer };
    } catch (error) {
      history.record({ who, what: 'response', call, code: codeOf(error) });
      return undefined;
    }
  }

  const open = (elicitationId: string) => noted('open', elicitationId, () => browser.get(`/e/${elicitationId}`));

  async function signIn(elicitationId: string): Promise<void> {
    await noted('sign_in', elicitationId, async () => {
      const callback = await browser.signInAnswer(elicitationId, sub);
      keepSecret(callback);
      return browser.get(callback);
    });
  }

  function keepSecret(callback: URL): void {
    for (const name of ['code', 'state']) history.secret(name, callback.searchParams.get(name) ?? '');
  }

  /** Retries until the page has a meaningful state. */
  async function look(elicitationId: string, own: SeededRandom): Promise<SeenPage | undefined> {
    for (let attempt = 1; attempt <= reloads; attempt += 1) {
      const seen = await open(elicitationId);
      if (seen?.page === 'sign_in') await signIn(elicitationId);
      else if (seen !== undefined && seen.page !== 'unavailable') return seen;
      else await delay(Math.min(25 * 2 ** attempt, 500) + own.below(25));
    }
    return undefined;
  }

  return {
    sub,
    look,
    glance: open,
    async press({ op, elicitationId, form }) {
      const seen = await noted(op, elicitationId, () => browser.post(`/e/${elicitationId}/${op}`, { form }));
      return seen?.answer;
    },
    async authorize(elicitationId, form, { random: own, decision }) {
      const accepted = await noted('accept', elicitationId, () => browser.post(`/e/${elicitationId}/accept`, { form }));
      const { location } = accepted?.answer ?? {};
      if (location === undefined || !location.endsWith('/leaving')) return;
      const leaving = await noted('open', elicitationId, () => browser.get(location));
      if (leaving === undefined || !leaving.answer.body.includes('class="button accent"')) return;
      const callback = await browser.decideAtProvider(destinationIn(leaving.answer), sub, { decision });
      keepSecret(callback);
      // The browser shows an error page; its user reloads.
      for (let attempt = 1; attempt <= reloads; attempt += 1) {
        const seen = await noted('callback', elicitationId, () => browser.get(callback));
        if (seen !== undefined && seen.answer.status < 500) return;
        await delay(Math.min(25 * 2 ** attempt, 500) + own.below(25));
      }
    },
  };
}

const headings: readonly (readonly [Page, string])[] = [
  ['declined', '<h1>You declined'],
  ['cancelled', '<h1>This request was withdrawn'],
  ['expired', '<h1>This request has ended'],
  ['failed', '<h1>This request could not be finished'],
];

function pageOf(answer: RawAnswer): Page {
  const { status, body } = answer;
  if (status >= 500 || status === 429) return 'unavailable';
  if (status === 401 || body.includes('href="/login?')) return body.includes('/accept"') ? 'ask' : 'sign_in';
  if (status >= 400) return 'refused';
  if (body.includes('/accept"')) return 'ask';
  if (body.includes('class="sign good"')) return 'completed';
  return headings.find(([, heading]) => body.includes(heading))?.[0] ?? 'underway';
}

/** Status of the elicitation, as far as the page says it definitively. A page may show an end before it is recorded. */
function statusShown(page: Page): string | undefined {
  return page === 'completed' || page === 'declined' || page === 'cancelled' || page === 'failed' ? page : undefined;
}

/** Returns the form data of the buttons of a page; undefined without buttons. */
export function formsIn({
  answer,
  page,
}: SeenPage): { accept: Record<string, string>; decline: Record<string, string> } | undefined {
  if (page !== 'ask') return undefined;
  return { accept: acceptFormIn(answer), decline: { csrf_token: csrfTokenIn(answer) } };
}
