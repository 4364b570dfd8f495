import { randomBytes } from 'node:crypto';
import type { Clock } from '@postern/elicitation';
import { invalidRequest, missing } from './stripe-api-error.ts';
import type { StripeEvent, StripeEventType, StripePaymentIntent, StripeSession } from './stripe-objects.ts';
import type { SessionRequest } from './stripe-session-request.ts';

/** The payment that was taken for one Checkout Session. */
export interface StripeCharge {
  readonly checkoutSessionId: string;
  /** From the metadata; empty if absent. */
  readonly elicitationId: string;
  readonly paymentIntentId: string;
  readonly amount: number;
  readonly currency: string;
}

/**
 * Result of an attempt to pay that leaves the session open.
 *
 * - `declined`: by the bank; the user may try another card.
 * - `requires_action`: the bank needs the user, for example for 3-D Secure.
 * - `in_progress`: Stripe is taking the payment, and expires no such session.
 */
export type PayAttempt = 'declined' | 'requires_action' | 'in_progress';

const attempts = {
  declined: { status: 'requires_payment_method', event: 'payment_intent.payment_failed' },
  requires_action: { status: 'requires_action', event: 'payment_intent.requires_action' },
  in_progress: { status: 'processing', event: 'payment_intent.processing' },
} as const;

export interface PayOptions {
  /** `later`: the user has finished, and `settleLater` decides whether the payment succeeds. Default `now`. */
  readonly settles?: 'now' | 'later';
  /** Taken amount, if it differs from the requested one: a fault that a caller must detect. In Stripe's units. */
  readonly amount?: number;
  readonly currency?: string;
}

/** Checkout Sessions with their payment intents, charges and events. */
export class CheckoutSessions {
  readonly #now: Clock;
  readonly #origin: () => string;
  readonly #livemode: boolean;
  readonly #onEvent: (event: StripeEvent) => void;
  readonly #sessions = new Map<string, { readonly session: StripeSession; readonly request: SessionRequest }>();
  readonly #intents = new Map<string, StripePaymentIntent>();
  readonly events: StripeEvent[] = [];
  readonly charges: StripeCharge[] = [];

  /** @param p.origin origin of the payment page */
  constructor(p: { now: Clock; livemode: boolean; origin: () => string; onEvent: (event: StripeEvent) => void }) {
    this.#now = p.now;
    this.#origin = p.origin;
    this.#livemode = p.livemode;
    this.#onEvent = p.onEvent;
  }

  create(request: SessionRequest): StripeSession {
    const id = this.#livemode ? `cs_live_b1${alphanumerics(56)}` : `cs_test_a1${alphanumerics(56)}`;
    const session: StripeSession = {
      id,
      object: 'checkout.session',
      mode: 'payment',
      status: 'open',
      payment_status: 'unpaid',
      // The page needs the fragment after `#`: a link without it does not work.
      url: `${this.#origin()}/c/pay/${id}#fid${encodeURIComponent(randomBytes(300).toString('base64'))}`,
      amount_subtotal: request.total,
      amount_total: request.total,
      currency: request.currency,
      client_reference_id: request.clientReferenceId,
      created: this.#seconds(),
      expires_at: request.expiresAt,
      livemode: this.#livemode,
      locale: request.locale,
      metadata: request.metadata,
      payment_intent: null,
      payment_method_types: request.methods,
      success_url: request.successUrl,
      cancel_url: request.cancelUrl,
      submit_type: request.submitType,
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

  /** @throws StripeApiError 404; 400 unless it is open and no payment is in progress */
  expire(id: string): StripeSession {
    const session = this.get(id);
    if (session.status !== 'open') {
      throw invalidRequest(
        `Only Checkout Sessions with a status in ["open"] can be expired. This Checkout Session has a status of \`${session.status}\`.`,
      );
    }
    // Stripe documents this error without a code.
    if (this.#intents.get(session.payment_intent ?? '')?.status === 'processing') {
      throw invalidRequest("This Checkout Session isn't in an expireable state.");
    }
    this.#close(session);
    return session;
  }

  /** The user tries to pay, without success so far. */
  attempt(id: string, result: PayAttempt): void {
    const { session, request } = this.#entry(id);
    if (session.status !== 'open') throw new Error('this session is not open');
    const intent = this.#confirm(session, request.intent);
    intent.status = attempts[result].status;
    intent.last_payment_error =
      result === 'declined' ? { type: 'card_error', code: 'card_declined', decline_code: 'generic_decline' } : null;
    this.#happen(attempts[result].event, intent);
  }

  /** The user pays. @returns the result; only `paid` and `processing` changed anything */
  pay(id: string, options: PayOptions = {}): 'paid' | 'processing' | 'not_open' {
    const { session, request } = this.#entry(id);
    if (session.status !== 'open') return 'not_open';
    const intent = this.#confirm(session, request.intent, options);
    session.status = 'complete';
    session.url = null;
    session.amount_total = intent.amount;
    session.currency = intent.currency;
    if (options.settles !== 'later') this.#take(session, intent);
    this.#happen('checkout.session.completed', session);
    return options.settles === 'later' ? 'processing' : 'paid';
  }

  /** The result of a payment that settles later. */
  settleLater(id: string, result: 'succeeded' | 'failed'): void {
    const session = this.get(id);
    const intent = this.#intents.get(session.payment_intent ?? '');
    const isUnderWay = session.status === 'complete' && intent?.status === 'processing';
    if (!isUnderWay) throw new Error('this session has no payment under way');
    if (result === 'succeeded') this.#take(session, intent);
    else intent.status = 'requires_payment_method';
    this.#happen(`checkout.session.async_payment_${result}`, session);
  }

  /** Emits an event about an unrelated object. */
  happenElsewhere(type: StripeEventType, object: object): StripeEvent {
    return this.#happen(type, object);
  }

  #entry(id: string) {
    const entry = this.#sessions.get(id);
    if (!entry) throw missing('checkout.session', id);
    const { session } = entry;
    if (session.status === 'open' && session.expires_at <= this.#seconds()) this.#close(session);
    return entry;
  }

  /** There is no PaymentIntent before the user's first attempt to pay. */
  #confirm(session: StripeSession, about: SessionRequest['intent'], options: PayOptions = {}): StripePaymentIntent {
    const known = this.#intents.get(session.payment_intent ?? '');
    const { description, metadata, destination } = about;
    const intent: StripePaymentIntent = {
      id: known?.id ?? `pi_${randomBytes(12).toString('hex')}`,
      object: 'payment_intent',
      status: 'processing',
      amount: options.amount ?? session.amount_total,
      amount_received: 0,
      last_payment_error: null,
      currency: options.currency ?? session.currency,
      created: known?.created ?? this.#seconds(),
      livemode: this.#livemode,
      description,
      metadata,
      transfer_data: destination === null ? null : { destination },
    };
    this.#intents.set(intent.id, intent);
    session.payment_intent = intent.id;
    return intent;
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
    const intent = this.#intents.get(session.payment_intent ?? '');
    if (intent) intent.status = 'canceled';
    session.status = 'expired';
    session.url = null;
    this.#happen('checkout.session.expired', session);
  }

  #happen(type: StripeEventType, object: object): StripeEvent {
    const event: StripeEvent = {
      id: `evt_${randomBytes(12).toString('hex')}`,
      object: 'event',
      api_version: '2026-10-28.endive',
      created: this.#seconds(),
      livemode: this.#livemode,
      pending_webhooks: 1,
      type,
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

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

function alphanumerics(length: number): string {
  return Array.from(randomBytes(length), byte => ALPHABET[byte % ALPHABET.length]).join('');
}
