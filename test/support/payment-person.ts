import type { FakeStripe } from '@postern/testkit/stripe';
import { issueFor, paymentOf, visitorFor } from './asks.ts';
import type { RawAnswer, RawBrowser } from './raw-browser.ts';
import type { Answer, ElicitationAnswer, PayingWorld, World } from './world.ts';

type Ask = Parameters<typeof issueFor>[2];
type StripeSession = FakeStripe['checkoutSessions'][number];

export interface AskedPerson {
  readonly user: string;
  readonly elicitationId: string;
  readonly page: string;
  readonly raw: RawBrowser;
  /** Issues the same request again. */
  askAgain(): Promise<Answer<ElicitationAnswer>>;
  read(): Promise<ElicitationAnswer>;
  /** Presses the named button on the page of this elicitation. */
  press(verb: 'decline' | 'charge'): Promise<RawAnswer>;
  /** Accepts, and is redirected to the processor if there is one. */
  approve(): Promise<RawAnswer>;
  /** Returns from the processor. */
  comeBack(): Promise<RawAnswer>;
}

/** A payment that Stripe has taken: 24.90 euro unless the terms say otherwise. */
export async function paidPerson(world: PayingWorld, ask: Ask = paymentOf()): Promise<AskedPerson> {
  const person = await askPerson(world, ask);
  await person.approve();
  world.stripe.pay(sessionOf(world.stripe, person.elicitationId).id);
  await person.comeBack();
  return person;
}

/** A user of `tracker` in front of the page. Default: a payment by Stripe. */
export async function askPerson(
  world: World,
  ask: Ask = paymentOf(),
  more: { readonly ttlSeconds?: number } = {},
): Promise<AskedPerson> {
  const user = world.subject();
  const { elicitationId } = await issueFor(world, user, { ...ask, ...more });
  const raw = await visitorFor(world, user, elicitationId);
  const page = `/e/${elicitationId}`;
  const subject = { issuer: world.identityProvider.issuer, subject: user };
  return {
    user,
    elicitationId,
    page,
    raw,
    askAgain: () => world.api.issue({ ...ask, ...more, subject } as Parameters<typeof world.api.issue>[0]),
    read: async () => (await world.api.read(elicitationId)).body,
    press: async verb => raw.post(`${page}/${verb}`, { form: { csrf_token: await raw.csrfToken(elicitationId) } }),
    approve: async () => raw.post(`${page}/accept`, { form: await raw.acceptForm(elicitationId) }),
    comeBack: () => raw.get(`${page}/charge`),
  };
}

/** Address of the Stripe webhook of a gateway. */
export const webhookUrlOf = (world: World, replica = 0): string =>
  `${world.gateways[replica]?.address}/webhooks/stripe-main`;

export interface AuditLine {
  readonly event: string;
  readonly elicitationId?: string;
  readonly reason?: string;
  readonly processorReference?: string;
}

/** The audit events of one elicitation at all gateways of this world, in order. */
export function auditOf(world: World, elicitationId: string): readonly AuditLine[] {
  return world
    .log()
    .split('\n')
    .filter(line => line.includes('"audit":true') && line.includes(elicitationId))
    .map(line => JSON.parse(line) as AuditLine);
}

/** Names of the `elicitation.*` audit events. */
export const movesOf = (world: World, elicitationId: string): readonly string[] =>
  auditOf(world, elicitationId)
    .map(({ event }) => event)
    .filter(event => event.startsWith('elicitation.'));

/** The single Checkout Session of an elicitation. @throws if there is not exactly one */
export function sessionOf(stripe: FakeStripe, elicitationId: string): StripeSession {
  const [session, ...others] = stripe.checkoutSessionsOf(elicitationId);
  if (session === undefined || others.length > 0)
    throw new Error(`${others.length + (session === undefined ? 0 : 1)} Checkout Sessions`);
  return session;
}

/** Link on the page of an approved payment, if any. */
export function payLinkIn({ body }: RawAnswer): string | undefined {
  return /href="(http[^"]*\/c\/pay\/[^"]+)"/.exec(body)?.[1];
}
