import { type Charge, type PaymentTerms, textIn } from '@postern/elicitation';
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
import { checkStripeLimits, toStripeAmount } from './stripe-amounts.ts';
import { createStripeRefunds } from './stripe-refunds.ts';
import {
  type CheckoutSession,
  chargeStatusOf,
  detailsOf,
  isReplayedFailure,
  modeOf,
  needsPaymentIntent,
  parseSession,
  processorErrorOf,
  stripeFetch,
  unavailableOf,
  unreadableResponse,
} from './stripe-responses.ts';
import { readWebhook } from './stripe-webhook.ts';

/** Pinned API version, independent of the defaults of the account and the library. */
const API_VERSION = '2026-10-28.endive';
/** Maximum number of keys tried for one charge: its own, and one more for each failure that Stripe has stored. */
const MAX_KEYS = 4;

/** Creates a client of Stripe's API with the configured key. */
export function createStripe(config: StripeConfig, options: Pick<ProcessorOptions, 'fetch' | 'timeoutMs'>): Stripe {
  return new Stripe(config.secretKey, {
    apiVersion: API_VERSION,
    httpClient: Stripe.createFetchHttpClient(stripeFetch(options.fetch ?? globalFetch)),
    timeout: options.timeoutMs,
    // Callers retry. A retry here would only hide the delay from them.
    maxNetworkRetries: 0,
    telemetry: false,
    ...(config.apiUrl !== undefined && endpointOf(config.apiUrl)),
  });
}

/** Stripe Checkout. Each charge is one Checkout Session, whose id is the reference of the charge. */
export function createStripeProcessor(config: StripeConfig, options: ProcessorOptions): PaymentProcessor {
  const stripe = createStripe(config, options);
  const { sessions } = stripe.checkout;
  const gateway = config.gateway ?? options.gateway;
  const refunds = createStripeRefunds(stripe, gateway);
  const apiHost = config.apiUrl === undefined ? undefined : new URL(config.apiUrl).host;
  const destinationHost = config.checkoutHost ?? apiHost ?? 'checkout.stripe.com';

  return {
    name: config.name,
    displayName: config.displayName,
    destinationHost,
    expectedMode: config.secretKey.includes('_test_') ? 'test' : 'live',

    canTake: terms => checkStripeLimits(terms, config.paymentMethodTypes),

    async open(charge) {
      const params = checkoutParamsOf(charge, { paymentMethodTypes: config.paymentMethodTypes, gateway });
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
        // Stripe expires only open sessions, and not while the user is paying. For others, return the current status.
        if (!(error instanceof Stripe.errors.StripeInvalidRequestError)) throw unavailableOf(error);
        const status = chargeStatusOf(await retrieve(reference));
        return status.state === 'open' ? { ...status, refusal: detailsOf(error) } : status;
      }
    },

    canRefund: amount => toStripeAmount(amount) !== undefined,
    refund: refunds.refund,
    refunds: refunds.refunds,
    disputes: refunds.disputes,

    webhook: webhook =>
      readWebhook(webhook, {
        secrets: config.webhookSecrets,
        gateway,
        now: options.now,
        ownerOf: refunds.ownerOf,
      }),
  };

  /**
   * Stripe repeats a stored failure of its own for a day. Every caller gets the same failure and continues with the same next key. If the
   * failed request did create a session, no user has seen its URL.
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

  /** Reads the PaymentIntent only if needed, so that a restricted key does not need access to it for card payments. */
  async function retrieve(reference: string): Promise<CheckoutSession> {
    try {
      const session = parseSession(await sessions.retrieve(reference), reference);
      if (!needsPaymentIntent(session)) return session;
      return parseSession(await sessions.retrieve(reference, { expand: ['payment_intent'] }), reference);
    } catch (error) {
      throw unavailableOf(error);
    }
  }

  /** Refuses a session with another amount or on an unexpected host, so no user is sent there. */
  function chargeOf(session: CheckoutSession, { terms }: OpenCharge): Charge {
    const { id, url, amount_total, currency } = session;
    if (typeof url !== 'string' || amount_total === null || currency === null) throw unreadableResponse();
    const isApprovedAmount =
      amount_total === toStripeAmount(terms.amount) && currency.toUpperCase() === terms.amount.currency;
    if (!isApprovedAmount) throw new ProcessorError('refused', { processorCode: 'other_amount' });
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

type CreateParams = Stripe.Checkout.SessionCreateParams;
type LineItem = Stripe.Checkout.SessionCreateParams.LineItem;

/**
 * Parameters of a Checkout Session. Undefined if Stripe cannot take exactly this amount.
 *
 * Stripe rejects another body under the same key, so all parameters follow from stored data and configuration. None depends on the clock,
 * the browser or a name that may change. So there is no `expires_at`, which must be at least 30 minutes after Stripe's own clock: the
 * session lives for Stripe's 24 hours, and the gateway closes it when the elicitation ends. And `locale` is `auto`: Stripe reads it from
 * the browser.
 */
export function checkoutParamsOf(
  charge: OpenCharge,
  { paymentMethodTypes, gateway }: { readonly paymentMethodTypes: readonly string[]; readonly gateway: string },
): CreateParams | undefined {
  const { terms, digest, elicitationId, mcpServerId, payeeAccount } = charge;
  const lineItems = lineItemsOf(terms, charge.language);
  if (lineItems === undefined) return undefined;
  const metadata = { gateway, elicitationId, digest, mcpServerId };
  return {
    mode: 'payment',
    line_items: lineItems,
    allowed_payment_method_types: [...paymentMethodTypes],
    client_reference_id: elicitationId,
    metadata,
    payment_intent_data: {
      description: terms.reference,
      metadata,
      // A destination charge: the platform takes the payment, and Stripe transfers all of it to the connected account.
      ...(payeeAccount !== undefined && { transfer_data: { destination: payeeAccount } }),
    },
    success_url: charge.returnUrl,
    cancel_url: charge.cancelUrl,
    locale: 'auto',
    submit_type: 'pay',
    // Settings of the Stripe account must not change the approved amount.
    adaptive_pricing: { enabled: false },
    allow_promotion_codes: false,
    automatic_tax: { enabled: false },
  };
}

function lineItemsOf(
  { amount, items = [], reference, payee }: PaymentTerms,
  language: string | undefined,
): LineItem[] | undefined {
  const currency = amount.currency.toLowerCase();
  const total = toStripeAmount(amount);
  if (total === undefined) return undefined;
  const totalLine: LineItem = {
    quantity: 1,
    price_data: { currency, unit_amount: total, product_data: { name: reference, description: payee.name } },
  };
  const lineItems: LineItem[] = [];
  for (const { label, quantity, unitMinorUnits } of items) {
    const unitAmount = toStripeAmount({ currency: amount.currency, minorUnits: unitMinorUnits });
    // Stripe has no negative lines and no fractions of its unit. Then the total is the only line.
    if (unitAmount === undefined || unitAmount < 0) return [totalLine];
    const name = textIn(label, language);
    lineItems.push({ quantity, price_data: { currency, unit_amount: unitAmount, product_data: { name } } });
  }
  return lineItems.length === 0 ? [totalLine] : lineItems;
}
