import type { Charge } from '@postern/elicitation';
import { Stripe } from 'stripe';
import {
  type ChargeStatus,
  type OpenCharge,
  type PaymentProcessor,
  ProcessorError,
  type ProcessorFetch,
  type ProcessorOptions,
} from './processor.ts';
import type { StripeConfig } from './processor-config.ts';
import { toStripeAmount } from './stripe-amounts.ts';
import {
  type CheckoutSession,
  chargeStatusOf,
  isToldByIntent,
  modeOf,
  parseSession,
  unreadableAnswer,
} from './stripe-answers.ts';
import { checkoutOf } from './stripe-checkout.ts';
import { isReplayedFailure, processorErrorOf, unavailableOf } from './stripe-errors.ts';
import { stripeFetch } from './stripe-fetch.ts';
import { answerOfStripe } from './stripe-limits.ts';
import { readWebhook } from './stripe-webhook.ts';

/** Of the API. Fixed here, whatever the account's default or the library's next one is. */
const API_VERSION = '2026-10-28.endive';
/** Keys tried for one charge: its own, and one more for every stored failure of Stripe's. */
const MAX_KEYS = 4;

/** Stripe Checkout: one Checkout Session per charge; its id is the reference of the charge. */
export function createStripeProcessor(config: StripeConfig, options: ProcessorOptions): PaymentProcessor {
  const stripe = new Stripe(config.secretKey, {
    apiVersion: API_VERSION,
    httpClient: Stripe.createFetchHttpClient(stripeFetch(options.fetch ?? globalFetch)),
    timeout: options.timeoutMs,
    // Whoever calls asks again, on whichever replica; a retry in here would only hide how long that takes.
    maxNetworkRetries: 0,
    telemetry: false,
    ...(config.apiUrl !== undefined && endpointOf(config.apiUrl)),
  });
  const { sessions } = stripe.checkout;
  const gateway = config.gateway ?? options.gateway;
  const apiHost = config.apiUrl === undefined ? undefined : new URL(config.apiUrl).host;
  const destinationHost = config.checkoutHost ?? apiHost ?? 'checkout.stripe.com';

  return {
    name: config.name,
    displayName: config.displayName,
    destinationHost,
    expectedMode: config.secretKey.includes('_test_') ? 'test' : 'live',

    canTake: terms => answerOfStripe(terms, config.paymentMethodTypes),

    async open(charge) {
      const params = checkoutOf(charge, { paymentMethodTypes: config.paymentMethodTypes, gateway });
      if (params === undefined) throw new ProcessorError('refused', { processorCode: 'amount_not_representable' });
      const session = await createSession(charge.key, params).catch((error: unknown) => {
        throw processorErrorOf(error);
      });
      return chargeOf(session, charge);
    },

    async status(reference) {
      return chargeStatusOf(await retrieve(reference));
    },

    async close(reference): Promise<ChargeStatus> {
      try {
        return chargeStatusOf(parseSession(await sessions.expire(reference, {}, {}), reference));
      } catch (error) {
        // Only an open session can be expired. Another one is as it is.
        if (!(error instanceof Stripe.errors.StripeInvalidRequestError)) throw unavailableOf(error);
      }
      const status = chargeStatusOf(await retrieve(reference));
      if (status.state === 'open') throw new ProcessorError('unavailable', { processorCode: 'not_expired' });
      return status;
    },

    webhook: webhook => readWebhook(webhook, { secrets: config.webhookSecrets, gateway, now: options.now }),
  };

  /**
   * A failure that Stripe has stored under a key stays its answer for a day. Everybody who asks is told the same and goes on to the
   * same next key; what the failed request may have left behind has a URL that nobody was ever told.
   */
  async function createSession(key: string, params: Stripe.Checkout.SessionCreateParams): Promise<CheckoutSession> {
    for (let n = 1; ; n += 1) {
      const idempotencyKey = n === 1 ? key : `${key}-${n}`;
      try {
        return parseSession(await sessions.create(params, { idempotencyKey }));
      } catch (error) {
        if (n === MAX_KEYS || !isReplayedFailure(error)) throw error;
      }
    }
  }

  /** Reads the PaymentIntent only where nothing else tells, so that a restricted key needs no right to it for a card payment. */
  async function retrieve(reference: string): Promise<CheckoutSession> {
    try {
      const session = parseSession(await sessions.retrieve(reference), reference);
      if (!isToldByIntent(session)) return session;
      return parseSession(await sessions.retrieve(reference, { expand: ['payment_intent'] }), reference);
    } catch (error) {
      throw unavailableOf(error);
    }
  }

  /** Nobody is led to a page that is not where we said, or that asks for another sum. */
  function chargeOf(session: CheckoutSession, { terms }: OpenCharge): Charge {
    const { id, url, amount_total, currency } = session;
    if (typeof url !== 'string' || amount_total === null || currency === null) throw unreadableAnswer();
    const isSum = amount_total === toStripeAmount(terms.amount) && currency.toUpperCase() === terms.amount.currency;
    if (!isSum) throw new ProcessorError('refused', { processorCode: 'other_amount' });
    const target = URL.parse(url);
    const isSafe = target?.protocol === 'https:' || (apiHost !== undefined && target?.host === apiHost);
    if (target === null || !isSafe || target.host !== destinationHost) {
      throw new ProcessorError('refused', { processorCode: 'other_checkout_host' });
    }
    return { reference: id, url: target.href, mode: modeOf(session) };
  }
}

function endpointOf(apiUrl: string): Pick<Stripe.StripeConfig, 'protocol' | 'host' | 'port'> {
  const { protocol, hostname, port } = new URL(apiUrl);
  const isPlain = protocol === 'http:';
  return { protocol: isPlain ? 'http' : 'https', host: hostname, port: port === '' ? (isPlain ? 80 : 443) : port };
}

const globalFetch: ProcessorFetch = (url, init) => fetch(url, { ...init, redirect: 'error' });
