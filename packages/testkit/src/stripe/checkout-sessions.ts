import { randomBytes } from 'node:crypto';
import type { Clock } from '@postern/elicitation';
import { invalidRequest, missing } from './stripe-api-error.ts';
import type { StripeEvent, StripeEventType, StripePaymentIntent, StripeSession } from './stripe-objects.ts';
import type { SessionRequest } from './stripe-session-request.ts';

/** The money that was taken for one Checkout Session. */
export interface StripeCharge {
  readonly checkoutSessionId: string;
  /** From the metadata; empty when there is none. */
  readonly elicitationId: string;
  readonly paymentIntentId: string;
  readonly amount: number;
  readonly currency: string;
}

export interface PayOptions {
  /** `later`: the person has done their part; the money comes or does not come with `settleLater`. Default `now`. */
  readonly settles?: 'now' | 'later';
  /** What is taken, when it is not what was asked for: the fault that a caller must notice. In Stripe's units. */
  readonly amount?: number;
  readonly currency?: string;
}

/** Checkout Sessions, their payment intents, the money taken and the events of it. */
export class CheckoutSessions {
  readonly #now: Clock;
  readonly #origin: () => string;
  readonly #livemode: boolean;
  readonly #onEvent: (event: StripeEvent) => void;
  readonly #sessions = new Map<string, { readonly session: StripeSession; readonly request: SessionRequest }>();
  readonly #intents = new Map<string, StripePaymentIntent>();
  readonly events: StripeEvent[] = [];
  readonly charges: StripeCharge[] = [];

  constructor(p: { now: Clock; livemode: boolean; origin: () => string; onEvent: (event: StripeEvent) => void }) {
    this.#now = p.now;
    this.#origin = p.origin;
    this.#livemode = p.livemode;
    this.#onEvent = p.onEvent;
  }

  create(request: SessionRequest): StripeSession {
    const id = `cs_${this.#livemode ? 'live' : 'test'}_${randomBytes(24).toString('hex')}`;
    const session: StripeSession = {
      ...{ id, object: 'checkout.session', mode: 'payment', status: 'open', payment_status: 'unpaid' },
      url: `${this.#origin()}/c/pay/${id}`,
      ...{ amount_subtotal: request.total, amount_total: request.total, currency: request.currency },
      client_reference_id: request.clientReferenceId,
      ...{ created: this.#seconds(), expires_at: request.expiresAt, livemode: this.#livemode, locale: request.locale },
      ...{ metadata: request.metadata, payment_intent: null, payment_method_types: request.methods },
      ...{ success_url: request.successUrl, cancel_url: request.cancelUrl, submit_type: request.submitType },
      ui_mode: 'hosted_page',
    };
    this.#sessions.set(id, { session, request });
    return session;
  }

  /** @throws StripeApiError 404 */
  get(id: string): StripeSession {
    return this.#entry(id).session;
  }

  itemsOf(id: string): SessionRequest['items'] {
    return this.#entry(id).request.items;
  }

  /** @throws StripeApiError 404 */
  intent(id: string): StripePaymentIntent {
    const intent = this.#intents.get(id);
    if (!intent) throw missing('payment_intent', id);
    return intent;
  }

  all(): readonly StripeSession[] {
    return [...this.#sessions.keys()].map(id => this.get(id));
  }

  /** @throws StripeApiError 404; 400 unless it is open */
  expire(id: string): StripeSession {
    const session = this.get(id);
    if (session.status !== 'open') {
      throw invalidRequest('Only Checkout Sessions with a status in ["open"] can be expired.');
    }
    this.#close(session);
    return session;
  }

  /** The person pays. @returns what came of it; only `paid` and `processing` changed anything */
  pay(id: string, options: PayOptions = {}): 'paid' | 'processing' | 'not_open' {
    const { session, request } = this.#entry(id);
    if (session.status !== 'open') return 'not_open';
    const intent: StripePaymentIntent = {
      ...{ id: `pi_${randomBytes(12).toString('hex')}`, object: 'payment_intent', status: 'processing' },
      ...{ amount: options.amount ?? session.amount_total, amount_received: 0 },
      ...{ currency: options.currency ?? session.currency, created: this.#seconds(), livemode: this.#livemode },
      ...request.intent,
    };
    this.#intents.set(intent.id, intent);
    session.status = 'complete';
    session.url = null;
    session.payment_intent = intent.id;
    session.amount_total = intent.amount;
    session.currency = intent.currency;
    if (options.settles !== 'later') this.#take(session, intent);
    this.#happen('checkout.session.completed', session);
    return options.settles === 'later' ? 'processing' : 'paid';
  }

  /** What came of a payment that settles later. */
  settleLater(id: string, result: 'succeeded' | 'failed'): void {
    const session = this.get(id);
    const intent = this.#intents.get(session.payment_intent ?? '');
    if (intent?.status !== 'processing') throw new Error('this session has no payment under way');
    if (result === 'succeeded') this.#take(session, intent);
    else intent.status = 'requires_payment_method';
    this.#happen(`checkout.session.async_payment_${result}`, session);
  }

  /** An event about anything else. */
  happenElsewhere(type: StripeEventType, object: Readonly<Record<string, unknown>>): StripeEvent {
    return this.#happen(type, object);
  }

  #entry(id: string) {
    const entry = this.#sessions.get(id);
    if (!entry) throw missing('checkout.session', id);
    const { session } = entry;
    if (session.status === 'open' && session.expires_at <= this.#seconds()) this.#close(session);
    return entry;
  }

  #take(session: StripeSession, intent: StripePaymentIntent): void {
    intent.status = 'succeeded';
    intent.amount_received = intent.amount;
    session.payment_status = 'paid';
    const { amount, currency, id: paymentIntentId } = intent;
    const elicitationId = session.metadata['elicitationId'] ?? '';
    this.charges.push({ checkoutSessionId: session.id, elicitationId, paymentIntentId, amount, currency });
  }

  #close(session: StripeSession): void {
    session.status = 'expired';
    session.url = null;
    this.#happen('checkout.session.expired', session);
  }

  #happen(type: StripeEventType, object: object): StripeEvent {
    const event: StripeEvent = {
      ...{ id: `evt_${randomBytes(12).toString('hex')}`, object: 'event', api_version: '2026-10-28.endive' },
      ...{ created: this.#seconds(), livemode: this.#livemode, pending_webhooks: 1, type },
      data: { object: structuredClone(object) as Readonly<Record<string, unknown>> },
    };
    this.events.push(event);
    this.#onEvent(event);
    return event;
  }

  #seconds(): number {
    return Math.floor(this.#now() / 1000);
  }
}
