import type { Amount } from '@postern/elicitation';
import { decimalsOf } from './currencies.ts';

/**
 * Stripe's own decimals where they are not simply two, from the lists of its currency page. Between them and ISO 4217 stand:
 * MGA, which has two decimals by ISO and none at Stripe; ISK and UGX, which have none by ISO and two at Stripe, always 00.
 * HUF and TWD have two in charges, as by ISO; only payouts to the bank are whole.
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
  /** Stripe's amount is a multiple of this. */
  readonly step: number;
}

function scaleOf(currency: string): Scale | undefined {
  const decimals = decimalsOf(currency);
  if (decimals === undefined) return undefined;
  // Settled in hundredths by the card networks: the last of three digits must be 0.
  if (threeDecimals.has(currency)) return decimals === 3 ? { up: 1, down: 1, step: 10 } : undefined;
  if (paddedToTwo.has(currency)) return decimals === 0 ? { up: 100, down: 1, step: 100 } : undefined;
  if (zeroDecimals.has(currency)) return { up: 1, down: 10 ** decimals, step: 1 };
  // Everything else has two decimals at Stripe. What has another number by ISO is none of Stripe's currencies.
  return decimals === 2 ? { up: 1, down: 1, step: 1 } : undefined;
}

/** Smallest step between two amounts in the units of Stripe. Undefined for a currency that Stripe cannot write. */
export function stripeStepOf(currency: string): number | undefined {
  return scaleOf(currency)?.step;
}

/** The amount as Stripe writes it, or undefined when Stripe cannot take exactly this much. */
export function toStripeAmount({ currency, minorUnits }: Amount): number | undefined {
  const scale = scaleOf(currency);
  if (scale === undefined) return undefined;
  const scaled = minorUnits * scale.up;
  if (!Number.isSafeInteger(scaled) || scaled % (scale.down * scale.step) !== 0) return undefined;
  return scaled / scale.down;
}

/** The amount in ISO 4217 minor units, or undefined when it cannot be written in them. */
export function fromStripeAmount(amount: number, currency: string): Amount | undefined {
  const code = currency.toUpperCase();
  const scale = scaleOf(code);
  if (scale === undefined) return undefined;
  const scaled = amount * scale.down;
  if (!Number.isSafeInteger(scaled) || scaled % scale.up !== 0) return undefined;
  return { currency: code, minorUnits: scaled / scale.up };
}
