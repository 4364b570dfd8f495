import type { GatewayConfigInput } from '@postern/gateway';
import { type FakeStripe, startFakeStripe } from '@postern/testkit/stripe';
import { issueFor, paymentConfig, paymentOf, visitorFor } from './asks.ts';
import type { RawAnswer, RawBrowser } from './raw-browser.ts';
import { type Answer, type ElicitationAnswer, startWorld, type World, type WorldOptions } from './world.ts';

type Ask = Parameters<typeof issueFor>[2];
type StripeSession = FakeStripe['checkoutSessions'][number];

export interface AuditLine {
  readonly event: string;
  readonly elicitationId?: string;
  readonly reason?: string;
  readonly processorReference?: string;
}

/** A stage with an imitation of Stripe, and a clock that both go by. */
export interface PaymentWorld extends AsyncDisposable {
  readonly stage: World;
  readonly stripe: FakeStripe;
  /** What the gateways of the stage were started with, for processes beside them. */
  readonly config: GatewayConfigInput;
  /** Lets time go by for the gateways of the stage and for Stripe. Processes keep to the machine's time. */
  pass(seconds: number): void;
  /** Lets time go by once it has been looked at so often: a moment in the middle of something. */
  passAfter(looks: number, seconds: number): void;
  /** The machine's time again. */
  backToNow(): void;
  /** Where Stripe calls a gateway of the stage. */
  webhookUrl(replica?: number): string;
  /** A person whom `tracker` has asked, in front of the page. Default: for a payment by Stripe. */
  asked(ask?: Ask, more?: { readonly ttlSeconds?: number }): Promise<AskedPerson>;
  /** The audit events of one elicitation at the gateways of the stage, in order. */
  audited(elicitationId: string): readonly AuditLine[];
  /** Their names, without what says nothing about the elicitation itself. */
  movesOf(elicitationId: string): readonly string[];
}

export interface AskedPerson {
  readonly user: string;
  readonly elicitationId: string;
  readonly page: string;
  readonly raw: RawBrowser;
  /** Issues the same ask again. */
  askAgain(): Promise<Answer<ElicitationAnswer>>;
  read(): Promise<ElicitationAnswer>;
  /** Presses the button of this elicitation's page that is named so. */
  press(verb: 'decline' | 'charge'): Promise<RawAnswer>;
  /** Agrees, and is sent to pay where there is somebody to pay at. */
  approve(): Promise<RawAnswer>;
  /** Comes back from the processor. */
  comeBack(): Promise<RawAnswer>;
}

export interface PaymentWorldOptions extends Omit<WorldOptions, 'now' | 'config'> {
  readonly config?: (stripe: FakeStripe, base: GatewayConfigInput) => Partial<GatewayConfigInput>;
}

export async function startPaymentWorld({ config, ...options }: PaymentWorldOptions = {}): Promise<PaymentWorld> {
  await using stack = new AsyncDisposableStack();
  let ahead = 0;
  let looks = Number.POSITIVE_INFINITY;
  let then = 0;
  const now = () => {
    looks -= 1;
    if (looks < 0) {
      ahead += then;
      looks = Number.POSITIVE_INFINITY;
    }
    return Date.now() + ahead;
  };
  const stripe = stack.use(await startFakeStripe({ now: () => Date.now() + ahead }));
  const { processors, payment } = paymentConfig(stripe);
  let started: GatewayConfigInput | undefined;
  const stage = stack.use(
    await startWorld({
      ...options,
      now,
      mcpServer: { payment, limits: { requestsPerMinute: 1_000_000 }, ...options.mcpServer },
      config: ({ base }) => {
        const changes = {
          processors,
          limits: { pageRequestsPerMinute: 1_000_000 },
          ...config?.(stripe, base),
        } satisfies Partial<GatewayConfigInput>;
        started ??= { ...base, ...changes };
        return changes;
      },
    }),
  );
  if (started === undefined) throw new TypeError('no gateway was started');
  const owned = stack.move();

  const audited = (elicitationId: string): AuditLine[] =>
    stage
      .log()
      .split('\n')
      .filter(line => line.includes('"audit":true') && line.includes(elicitationId))
      .map(line => JSON.parse(line) as AuditLine);

  return {
    stage,
    stripe,
    config: started,
    pass(seconds) {
      ahead += seconds * 1000;
    },
    passAfter(count, seconds) {
      looks = count;
      then = seconds * 1000;
    },
    backToNow() {
      ahead = 0;
      looks = Number.POSITIVE_INFINITY;
    },
    webhookUrl: (replica = 0) => `${stage.gateways[replica]?.address}/webhooks/stripe-main`,
    audited,
    movesOf: elicitationId =>
      audited(elicitationId)
        .map(({ event }) => event)
        .filter(event => event.startsWith('elicitation.')),
    async asked(ask = paymentOf(), more = {}) {
      const user = stage.subject();
      const { elicitationId } = await issueFor(stage, user, { ...ask, ...more });
      const raw = await visitorFor(stage, user, elicitationId);
      const page = `/e/${elicitationId}`;
      const subject = { issuer: stage.identityProvider.issuer, subject: user };
      return {
        ...{ user, elicitationId, page, raw },
        askAgain: () => stage.api.issue({ ...ask, ...more, subject } as Parameters<typeof stage.api.issue>[0]),
        read: async () => (await stage.api.read(elicitationId)).body,
        press: async verb => raw.post(`${page}/${verb}`, { form: { csrf_token: await raw.csrfToken(elicitationId) } }),
        approve: async () => raw.post(`${page}/accept`, { form: await raw.acceptForm(elicitationId) }),
        comeBack: () => raw.get(`${page}/charge`),
      };
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** The one Checkout Session of an elicitation. @throws when there are none or several */
export function sessionOf(stripe: FakeStripe, elicitationId: string): StripeSession {
  const [session, ...others] = stripe.checkoutSessionsOf(elicitationId);
  if (session === undefined || others.length > 0)
    throw new Error(`${others.length + (session === undefined ? 0 : 1)} Checkout Sessions`);
  return session;
}

/** Where the page of an approved payment leads, if it leads anywhere yet. */
export function payLinkIn({ body }: RawAnswer): string | undefined {
  return /href="(http[^"]*\/c\/pay\/[^"]+)"/.exec(body)?.[1];
}
