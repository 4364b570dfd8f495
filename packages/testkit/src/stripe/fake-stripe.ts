import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Clock } from '@postern/elicitation';
import { listenHttp } from '../providers/http-listener.ts';
import { CheckoutSessions, type PayAttempt, type PayOptions, type StripeCharge } from './checkout-sessions.ts';
import { IdempotencyLedger } from './idempotency-ledger.ts';
import { answerPayPage } from './pay-page.ts';
import { StripeApi, type StripeApiRequest, type StripeWebhookEndpoint } from './stripe-api.ts';
import { type StripeFault, StripeFaults, type StripeRequestKind } from './stripe-faults.ts';
import type { StripeDispute, StripeEvent, StripeEventType, StripeRefund, StripeSession } from './stripe-objects.ts';
import { StripeRefunds } from './stripe-refunds.ts';
import { type SignedWebhook, signWebhook } from './stripe-signature.ts';

export interface FakeStripeOptions {
  /** Expiry and signatures follow it. Default: the system's clock. */
  readonly now?: Clock;
  readonly port?: number;
  /** Port in its URLs, if a proxy is in front of it. Default: its own. */
  readonly publicPort?: number;
  /**
   * Host of its https links, like Stripe's `checkout.stripe.com` or the domain of an account. The fake does not listen there:
   * tests pay with `pay`. Default: its own origin, which serves its page.
   */
  readonly checkoutHost?: string;
  readonly secretKey?: string;
  /** `livemode` of its responses, independent of the key. Default false. */
  readonly livemode?: boolean;
  /** Also accepted: a restricted key that may write Checkout Sessions but not read PaymentIntents. */
  readonly restrictedKey?: string;
  /** Also accepted: a restricted key without any permission. */
  readonly powerlessKey?: string;
  /** Webhook endpoints of the account, as the API lists them. Default: none. */
  readonly webhookEndpoints?: readonly StripeWebhookEndpoint[];
  readonly webhookSecrets?: readonly string[];
  /** Called with each event. The listener delivers it. */
  readonly onEvent?: (event: StripeEvent) => void;
}

/** A held request. */
export interface Hold {
  /** Resolves once a request is held. */
  readonly reached: Promise<void>;
  release(): void;
}

/**
 * The part of Stripe that Checkout in mode `payment` needs, over HTTP on a loopback address: the API for the official library,
 * the payment page, and webhooks on demand. It acts only on requests and calls of the test.
 */
export interface FakeStripe extends AsyncDisposable {
  readonly origin: string;
  readonly port: number;
  readonly secretKey: string;
  /** Secrets of the one webhook endpoint. During rotation there are two, and every webhook is signed with both. */
  webhookSecrets: readonly string[];
  /** All payments taken. */
  readonly charges: readonly StripeCharge[];
  chargesOf(elicitationId: string): readonly StripeCharge[];
  /** @throws StripeApiError if there is no session with this id */
  checkoutSession(id: string): StripeSession;
  readonly checkoutSessions: readonly StripeSession[];
  checkoutSessionsOf(elicitationId: string): readonly StripeSession[];
  /** The sessions created by requests with this idempotency key. */
  checkoutSessionsUnder(idempotencyKey: string): readonly StripeSession[];
  requests(kind?: StripeApiRequest['kind']): readonly StripeApiRequest[];
  /** The user tries to pay, without success so far. */
  attempt(id: string, result: PayAttempt): void;
  /** The user pays, as on the page. */
  pay(id: string, options?: PayOptions): 'paid' | 'processing' | 'not_open';
  settleLater(id: string, result: 'succeeded' | 'failed'): void;
  /** All refunds and disputes. */
  readonly refunds: readonly StripeRefund[];
  readonly disputes: readonly StripeDispute[];
  /** Status of the refunds that are made from now on. Default `succeeded`. */
  refundsBeginAs(status: StripeRefund['status']): void;
  /** Somebody makes a refund in the dashboard. In Stripe's units. @throws StripeApiError */
  refundInDashboard(paymentIntentId: string, amount: number): StripeRefund;
  /** A pending refund succeeds or fails, or a bank sends a refund back. */
  settleRefund(id: string, result: 'succeeded' | 'failed'): void;
  /** The payer disputes a payment, or the dispute gets this status of Stripe. */
  dispute(
    paymentIntentId: string,
    status: string,
    caseType?: string,
    claimed?: Pick<StripeDispute, 'amount' | 'currency'>,
  ): void;
  /** Expires an open session. @throws StripeApiError if it is not open, or a payment is in progress */
  expire(id: string): void;
  fault(fault: StripeFault): void;
  clearFaults(): void;
  loseAnswer(kind: StripeRequestKind, when: 'before' | 'after', nth?: number): void;
  /** Holds the next request of the kind. */
  hold(kind: StripeRequestKind, when: 'before' | 'after'): Hold;
  /** Simulates the day after which Stripe forgets idempotency keys. */
  forgetKeys(): void;
  /** All events in order. */
  readonly events: readonly StripeEvent[];
  eventsOf(id: string): readonly StripeEvent[];
  /** Emits an event about another object of the same account. */
  happenElsewhere(type: StripeEventType, object: Readonly<Record<string, unknown>>): StripeEvent;
  signed(event: StripeEvent, as?: { readonly secrets?: readonly string[]; readonly at?: number }): SignedWebhook;
  /** Sends an event; tests may repeat and reorder calls. @returns the status of the response */
  deliver(url: string, event: StripeEvent): Promise<number>;
  close(): Promise<void>;
}

export async function startFakeStripe(options: FakeStripeOptions = {}): Promise<FakeStripe> {
  const now = options.now ?? Date.now;
  const secretKey = options.secretKey ?? `sk_test_${randomBytes(12).toString('hex')}`;
  const keys = new IdempotencyLedger();
  const faults = new StripeFaults();
  const checkout = new CheckoutSessions({
    now,
    livemode: options.livemode ?? false,
    origin: () => (options.checkoutHost === undefined ? origin : `https://${options.checkoutHost}`),
    onEvent: event => options.onEvent?.(event),
  });
  const refunds = new StripeRefunds(checkout, () => Math.floor(now() / 1000));
  const api = new StripeApi({
    secretKey,
    restrictedKey: options.restrictedKey,
    powerlessKey: options.powerlessKey,
    now,
    checkout,
    refunds,
    keys,
    faults,
    webhookEndpoints: options.webhookEndpoints ?? [],
  });
  const listener = await listenHttp(handle, options);
  const origin = `http://127.0.0.1:${options.publicPort ?? listener.port}`;

  const fake: FakeStripe = {
    origin,
    port: listener.port,
    secretKey,
    webhookSecrets: options.webhookSecrets ?? [`whsec_${randomBytes(16).toString('hex')}`],
    charges: checkout.charges,
    chargesOf: elicitationId => checkout.charges.filter(charge => charge.elicitationId === elicitationId),
    checkoutSession: id => checkout.get(id),
    get checkoutSessions() {
      return checkout.all();
    },
    checkoutSessionsOf: elicitationId =>
      checkout.all().filter(({ metadata }) => metadata['elicitationId'] === elicitationId),
    checkoutSessionsUnder: key => api.idsUnder(key).map(id => checkout.get(id)),
    requests: kind => api.requests.filter(request => kind === undefined || request.kind === kind),
    attempt: (id, result) => checkout.attempt(id, result),
    pay: (id, payOptions) => checkout.pay(id, payOptions),
    settleLater: (id, result) => checkout.settleLater(id, result),
    refunds: refunds.refunds,
    disputes: refunds.disputes,
    refundsBeginAs(status) {
      refunds.newStatus = status;
    },
    refundInDashboard: (paymentIntentId, amount) =>
      refunds.create({ payment_intent: paymentIntentId, amount: String(amount) }),
    settleRefund: (id, result) => refunds.settle(id, result),
    dispute: (...about) => refunds.dispute(...about),
    expire: id => {
      checkout.expire(id);
    },
    fault: fault => faults.add(fault),
    clearFaults: () => faults.clear(),
    loseAnswer: (kind, when, nth = 1) => faults.add({ kind, nth, does: { loseAnswer: when } }),
    hold(kind, when) {
      const reached = Promise.withResolvers<void>();
      const hold = Promise.withResolvers<void>();
      faults.add({ kind, does: { hold: hold.promise, when, reached: reached.resolve } });
      return { reached: reached.promise, release: hold.resolve };
    },
    forgetKeys: () => keys.forgetAll(),
    events: checkout.events,
    eventsOf: id => checkout.events.filter(({ data }) => data.object['id'] === id),
    happenElsewhere: (type, object) => checkout.happenElsewhere(type, object),
    signed: (event, as = {}) =>
      signWebhook({ payload: JSON.stringify(event), secrets: as.secrets ?? fake.webhookSecrets, at: as.at ?? now() }),
    async deliver(url, event) {
      const answer = await fetch(url, { method: 'POST', ...fake.signed(event) });
      await answer.body?.cancel();
      return answer.status;
    },
    close: () => listener.close(),
    [Symbol.asyncDispose]: () => listener.close(),
  };
  return fake;

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', headers } = request;
    const url = new URL(request.url ?? '/', origin);
    const body = await text(request);
    const payId = /^\/c\/pay\/(\w+)$/.exec(url.pathname)?.[1];
    if (payId !== undefined) {
      const page = answerPayPage(checkout, { id: payId, method, body });
      if (page.status === 303) response.writeHead(303, { location: page.location }).end();
      else response.writeHead(page.status, { 'content-type': 'text/html; charset=utf-8' }).end(page.html);
      return;
    }
    const answer = await api.answer({ method, url, headers, body });
    if (answer === undefined) response.destroy();
    else response.writeHead(answer.status, answer.headers).end(answer.body);
  }
}
