import type { PaymentTerms } from '@postern/elicitation';
import type { ChargeRange, TermsAnswer } from './processor.ts';
import { fromStripeAmount, stripeStepOf, toStripeAmount } from './stripe-amounts.ts';

/**
 * Presentment currencies of Stripe that are active in ISO 4217.
 *
 * @see https://docs.stripe.com/currencies "Supported presentment currencies", "Three-decimal currencies"
 */
const supported = new Set(
  `AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BWP BYN BZD CAD CDF CHF CLP CNY COP CRC CVE CZK
   DJF DKK DOP DZD EGP ETB EUR FJD FKP GBP GEL GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR ISK JMD JOD JPY KES KGS KHR KMF
   KRW KWD KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN
   PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SEK SGD SHP SLE SOS SRD SZL THB TJS TND TOP TRY TTD TWD TZS UAH UGX USD
   UYU UZS VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW`.split(/\s+/),
);

/**
 * Smallest charge in a currency, in the units of Stripe. Stripe compares with the minimum of the settlement currency, which the gateway
 * does not know; a currency without a published minimum has none here.
 *
 * @see https://docs.stripe.com/currencies "Minimum charge amount by currency"
 */
const minimums: ReadonlyMap<string, number> = new Map([
  ...'ARS AUD BRL CAD CHF COP EUR IDR ILS INR JPY KRW NZD PHP RUB SGD USD ZAR'
    .split(' ')
    .map(currency => [currency, 50] as const),
  ...([
    ['AED', 200],
    ['CZK', 1500],
    ['DKK', 250],
    ['GBP', 30],
    ['HKD', 400],
    ['HUF', 17_500],
    ['MXN', 1000],
    ['MYR', 200],
    ['NOK', 300],
    ['PLN', 200],
    ['RON', 200],
    ['SEK', 300],
    ['THB', 1000],
  ] as const),
]);

/** Digits of an amount in the units of Stripe. @see https://docs.stripe.com/currencies "Maximum charge amounts" */
const DIGITS = 8;
const moreDigits: ReadonlyMap<string, number> = new Map([
  ['IDR', 12],
  ['COP', 10],
  ['INR', 9],
]);
/** By card only. Other methods stay at {@link DIGITS}. */
const moreDigitsByCard: ReadonlyMap<string, number> = new Map(
  ['COP', 'HUF', 'JPY', 'LBP'].map(currency => [currency, 12] as const),
);
/** Largest quantity of one line item of a Checkout Session. */
const MAX_QUANTITY = 999_999;

function maximumOf(currency: string, paymentMethodTypes: readonly string[]): number {
  const isByCard = paymentMethodTypes.every(type => type === 'card');
  const digits = (isByCard ? moreDigitsByCard.get(currency) : undefined) ?? moreDigits.get(currency) ?? DIGITS;
  return 10 ** digits - 1;
}

/** Smallest and largest amount that Stripe takes, and the step between two amounts, in ISO 4217 minor units. Undefined for a currency that Stripe does not take. */
export function stripeRangeOf(
  currency: string,
  paymentMethodTypes: readonly string[],
): (ChargeRange & { readonly step: number }) | undefined {
  const step = supported.has(currency) ? stripeStepOf(currency) : undefined;
  if (step === undefined) return undefined;
  const min = fromStripeAmount(Math.ceil((minimums.get(currency) ?? 1) / step) * step, currency);
  const max = fromStripeAmount(Math.floor(maximumOf(currency, paymentMethodTypes) / step) * step, currency);
  const stepIso = fromStripeAmount(step, currency);
  if (min === undefined || max === undefined || stepIso === undefined) return undefined;
  return { min: min.minorUnits, max: max.minorUnits, step: stepIso.minorUnits };
}

/** Decides whether Stripe can take a payment, by its published limits. */
export function answerOfStripe(
  { amount, items = [] }: Pick<PaymentTerms, 'amount' | 'items'>,
  paymentMethodTypes: readonly string[],
): TermsAnswer {
  const { currency, minorUnits } = amount;
  const range = stripeRangeOf(currency, paymentMethodTypes);
  if (range === undefined)
    return impossible('currency_not_supported', 'amount.currency', `Stripe takes no payments in ${currency}`);
  if (minorUnits < range.min)
    return impossible('amount_too_small', 'amount.minorUnits', `Stripe takes at least ${range.min} in ${currency}`);
  if (minorUnits > range.max)
    return impossible('amount_too_large', 'amount.minorUnits', `Stripe takes at most ${range.max} in ${currency}`);
  if (toStripeAmount(amount) === undefined)
    return impossible(
      'amount_not_exact',
      'amount.minorUnits',
      `Stripe takes ${currency} only in multiples of ${range.step}`,
    );
  const at = items.findIndex(({ quantity }) => quantity > MAX_QUANTITY);
  if (at !== -1)
    return impossible('quantity_too_large', `items.${at}.quantity`, `Stripe takes at most ${MAX_QUANTITY} of an item`);
  return { result: 'possible' };
}

function impossible(
  reason: Extract<TermsAnswer, { result: 'impossible' }>['reason'],
  member: string,
  message: string,
): TermsAnswer {
  return { result: 'impossible', reason, member, message };
}
