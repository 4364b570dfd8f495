import type { FakeStripe } from '@postern/testkit/stripe';
import { acceptWith } from './asks.ts';
import { sessionOf } from './payment-person.ts';
import type { RawAnswer, RawBrowser } from './raw-browser.ts';
import type { World } from './world.ts';

/** The input of these users, by field name. */
export const typed: Readonly<Record<string, string>> = {
  account: 'acme-shop',
  api_key: 'ak_0123456789secret',
  name: 'Alice',
  parcels: '2',
  size: 'large',
  branch: 'release',
  token: 'token-0123456789secret',
};

/** The part of the input that no MCP message may contain. */
export const typedSecrets: readonly string[] = ['ak_0123456789secret', 'token-0123456789secret'];

/** A user who opens pages of any kind, all in one browser. */
export interface VerbPerson {
  readonly user: string;
  /** Accepts any kind of elicitation, enters the required input, and pays if necessary. */
  accept(elicitationId: string): Promise<void>;
  /** Accepts only. */
  approve(elicitationId: string): Promise<void>;
  decline(elicitationId: string): Promise<void>;
}

/** @param p.browser returns the browser for the next request; all of them share their cookies */
export function createVerbPerson(p: {
  readonly world: World;
  readonly stripe: FakeStripe;
  readonly user: string;
  readonly browser: () => RawBrowser;
}): VerbPerson {
  const { world, stripe, user, browser } = p;
  let isSignedIn = false;

  async function open(elicitationId: string): Promise<RawAnswer> {
    if (!isSignedIn) await browser().signIn(elicitationId, user);
    isSignedIn = true;
    const page = expectStatus(await browser().get(`/e/${elicitationId}`), 200);
    // A payment needs a recent sign-in; other kinds do not.
    if (!page.body.includes(`href="/login?e=${elicitationId}"`)) return page;
    await browser().signIn(elicitationId, user);
    return expectStatus(await browser().get(`/e/${elicitationId}`), 200);
  }

  async function connect(elicitationId: string): Promise<void> {
    const callback = await browser().decideAtProvider(await browser().accept(elicitationId), 'alice');
    expectStatus(await browser().get(callback), 303);
  }

  async function pay(elicitationId: string): Promise<void> {
    expectStatus(await acceptWith(browser(), elicitationId), 303);
    const { status } = (await world.api.read(elicitationId)).body;
    if (status !== 'active') return;
    expectStatus(await browser().get(`/e/${elicitationId}`), 200);
    stripe.pay(sessionOf(stripe, elicitationId).id);
    expectStatus(await browser().get(`/e/${elicitationId}/charge`), 303);
  }

  return {
    user,
    async accept(elicitationId) {
      const page = await open(elicitationId);
      const { kind } = (await world.api.read(elicitationId)).body;
      if (kind === 'authorization') return await connect(elicitationId);
      if (kind === 'payment') return await pay(elicitationId);
      const names = [...page.body.matchAll(/ name="field\.(\w+)"/g)].map(([, name = '']) => name);
      const fields = Object.entries(typed).filter(([name]) => names.includes(name));
      expectStatus(await acceptWith(browser(), elicitationId, Object.fromEntries(fields)), 303);
    },
    async approve(elicitationId) {
      await open(elicitationId);
      expectStatus(await acceptWith(browser(), elicitationId), 303);
    },
    async decline(elicitationId) {
      await open(elicitationId);
      const form = { csrf_token: await browser().csrfToken(elicitationId) };
      expectStatus(await browser().post(`/e/${elicitationId}/decline`, { form }), 303);
    },
  };
}

function expectStatus(answer: RawAnswer, status: number): RawAnswer {
  if (answer.status !== status)
    throw new Error(`${answer.status} where ${status} was expected: ${answer.location ?? ''}`);
  return answer;
}
