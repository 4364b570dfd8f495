import { invalidRequest } from './stripe-api-error.ts';

/**
 * Stripe's amounts by currency, copied from its documentation independently of the code under test.
 * @see https://docs.stripe.com/currencies
 */
const zeroDecimals = 'bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf'.split(' ');
const threeDecimals = 'bhd jod kwd omr tnd'.split(' ');
/** Two decimals, always 00. */
const padded = ['isk', 'ugx'];
const twoDecimals =
  `aed afn all amd ang aoa ars aud awg azn bam bbd bdt bmd bnd bob brl bsd bwp byn bzd cad cdf chf cny cop crc cve
  czk dkk dop dzd egp etb eur fjd fkp gbp gel gip gmd gtq gyd hkd hnl htg huf idr ils inr jmd kes kgs khr kyd kzt lak lbp lkr lrd
  lsl mad mdl mkd mmk mnt mop mur mvr mwk mxn myr mzn nad ngn nio nok npr nzd pab pen pgk php pkr pln qar ron rsd rub sar sbd scr
  sek sgd shp sle sos srd std szl thb tjs top try ttd twd tzs uah usd uyu uzs wst xcd xcg yer zar zmw`.split(/\s+/);
const currencies = new Set([...zeroDecimals, ...threeDecimals, ...padded, ...twoDecimals]);

/** For an account with payouts in the currency of the charge. */
const minimums: Readonly<Record<string, number>> = {
  usd: 50,
  aed: 200,
  ars: 50,
  aud: 50,
  brl: 50,
  cad: 50,
  chf: 50,
  cop: 50,
  czk: 1500,
  dkk: 250,
  eur: 50,
  gbp: 30,
  hkd: 400,
  huf: 17500,
  idr: 50,
  ils: 50,
  inr: 50,
  jpy: 50,
  krw: 50,
  mxn: 1000,
  myr: 200,
  nok: 300,
  nzd: 50,
  php: 50,
  pln: 200,
  ron: 200,
  rub: 50,
  sek: 300,
  sgd: 50,
  thb: 1000,
  zar: 50,
};
const digits: Readonly<Record<string, number>> = { idr: 12, cop: 10, inr: 9 };
const digitsByCard: Readonly<Record<string, number>> = { cop: 12, huf: 12, jpy: 12, lbp: 12 };

/** @throws StripeApiError 400 */
export function checkCurrency(currency: string): void {
  if (!currencies.has(currency)) throw invalidRequest(`Invalid currency: ${currency}`, { param: 'currency' });
}

/** @throws StripeApiError 400 for a price that Stripe cannot charge exactly */
export function checkStep(amount: number, currency: string): void {
  if (threeDecimals.includes(currency) && amount % 10 !== 0) {
    throw invalidRequest('The last digit must be 0', { code: 'invalid_charge_amount' });
  }
  if (padded.includes(currency) && amount % 100 !== 0) {
    throw invalidRequest('Must be divisible by 100', { code: 'invalid_charge_amount_no_decimal_compatible' });
  }
}

/** @throws StripeApiError 400 for a sum below the minimum or above the maximum */
export function checkTotal(total: number, currency: string, methods: readonly string[]): void {
  if (total < (minimums[currency] ?? 1)) {
    throw invalidRequest("The Checkout Session's total amount due is too small", { code: 'amount_too_small' });
  }
  const byCard = methods.every(method => method === 'card') ? digitsByCard[currency] : undefined;
  if (String(total).length > (byCard ?? digits[currency] ?? 8)) {
    throw invalidRequest("The Checkout Session's total amount due is too large", { code: 'amount_too_large' });
  }
}
