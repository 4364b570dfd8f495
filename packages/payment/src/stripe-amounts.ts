import type { Amount, PaymentTerms } from '@postern/elicitation';
import type { ChargeRange, TermsCheck } from './processor.ts';

/**
 * ISO 4217, list one (active codes and funds codes) by minor unit exponent: how many decimals an amount in minor units has.
 *
 * `Intl` is unsuitable. Its digits come from CLDR, which follows price notation (no decimals for IQD, HUF or COP) and changes with the
 * runtime. Reading an amount with other decimals changes the amount. Codes without a minor unit (gold, special drawing rights, testing)
 * are omitted, because payments cannot use them.
 */
const codesByDecimals: readonly (readonly [decimals: number, codes: string])[] = [
  [0, 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'],
  [
    2,
    `AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CNY COP COU
     CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES
     KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR
     NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP
     TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XAD XCD XCG YER ZAR ZMW ZWG`,
  ],
  [3, 'BHD IQD JOD KWD LYD OMR TND'],
  [4, 'CLF UYW'],
];

const decimalsByCode: ReadonlyMap<string, number> = new Map(
  codesByDecimals.flatMap(([decimals, codes]) => codes.split(/\s+/).map(code => [code, decimals] as const)),
);

/** Decimals of an amount in minor units. Undefined unless the code is an active currency with a minor unit. */
export function decimalsOf(currency: string): number | undefined {
  return decimalsByCode.get(currency);
}

/**
 * Currencies that do not have two decimals at Stripe, from its currency page. Stripe differs from ISO 4217 in three currencies: MGA has two
 * decimals in ISO 4217 and none at Stripe; ISK and UGX have none in ISO 4217 and two at Stripe, always 00. HUF and TWD have two in charges,
 * as in ISO 4217; only payouts are whole.
 *
 * @see https://docs.stripe.com/currencies "Zero-decimal", "Three-decimal" and "Special cases"
 */
const zeroDecimals = new Set('BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF'.split(' '));
const threeDecimals = new Set('BHD JOD KWD OMR TND'.split(' '));
const paddedToTwo = new Set(['ISK', 'UGX']);

interface Scale {
  /** Stripe's amount = ISO minor units × up ÷ down. */
  readonly up: number;
  readonly down: number;
  /** Stripe's amount must be a multiple of this. */
  readonly step: number;
}

function scaleOf(currency: string): Scale | undefined {
  const decimals = decimalsOf(currency);
  if (decimals === undefined) return undefined;
  // Card networks settle in hundredths, so the last of three digits must be 0.
  if (threeDecimals.has(currency)) return decimals === 3 ? { up: 1, down: 1, step: 10 } : undefined;
  if (paddedToTwo.has(currency)) return decimals === 0 ? { up: 100, down: 1, step: 100 } : undefined;
  if (zeroDecimals.has(currency)) return { up: 1, down: 10 ** decimals, step: 1 };
  // All others have two decimals at Stripe. Stripe does not take currencies with another number in ISO 4217.
  return decimals === 2 ? { up: 1, down: 1, step: 1 } : undefined;
}

/** Converts an amount to Stripe's units. Undefined if Stripe cannot take exactly this amount. */
export function toStripeAmount({ currency, minorUnits }: Amount): number | undefined {
  const scale = scaleOf(currency);
  if (scale === undefined) return undefined;
  const scaled = minorUnits * scale.up;
  if (!Number.isSafeInteger(scaled) || scaled % (scale.down * scale.step) !== 0) return undefined;
  return scaled / scale.down;
}

/** Converts an amount of Stripe to ISO 4217 minor units. Undefined if they cannot represent it. */
export function fromStripeAmount(amount: number, currency: string): Amount | undefined {
  const code = currency.toUpperCase();
  const scale = scaleOf(code);
  if (scale === undefined) return undefined;
  const scaled = amount * scale.down;
  if (!Number.isSafeInteger(scaled) || scaled % scale.up !== 0) return undefined;
  return { currency: code, minorUnits: scaled / scale.up };
}

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
 * Smallest charge in a currency, in Stripe's units. Stripe applies the minimum of the settlement currency, which the gateway does not know.
 * A currency without a published minimum has none here.
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

/** Maximum number of digits of an amount in Stripe's units. @see https://docs.stripe.com/currencies "Maximum charge amounts" */
const DIGITS = 8;
const moreDigits: ReadonlyMap<string, number> = new Map([
  ['IDR', 12],
  ['COP', 10],
  ['INR', 9],
]);
/** For cards only. Other payment methods keep {@link DIGITS}. */
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

/**
 * Returns the smallest and largest amount that Stripe takes, and the step between amounts, in ISO 4217 minor units. Undefined for a
 * currency that Stripe does not take.
 */
export function stripeRangeOf(
  currency: string,
  paymentMethodTypes: readonly string[],
): (ChargeRange & { readonly step: number }) | undefined {
  const step = supported.has(currency) ? scaleOf(currency)?.step : undefined;
  if (step === undefined) return undefined;
  const min = fromStripeAmount(Math.ceil((minimums.get(currency) ?? 1) / step) * step, currency);
  const max = fromStripeAmount(Math.floor(maximumOf(currency, paymentMethodTypes) / step) * step, currency);
  const stepIso = fromStripeAmount(step, currency);
  if (min === undefined || max === undefined || stepIso === undefined) return undefined;
  return { min: min.minorUnits, max: max.minorUnits, step: stepIso.minorUnits };
}

/** Checks a payment against Stripe's published limits. */
export function checkStripeLimits(
  { amount, items = [] }: Pick<PaymentTerms, 'amount' | 'items'>,
  paymentMethodTypes: readonly string[],
): TermsCheck {
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
  reason: Extract<TermsCheck, { result: 'impossible' }>['reason'],
  member: string,
  message: string,
): TermsCheck {
  return { result: 'impossible', reason, member, message };
}
