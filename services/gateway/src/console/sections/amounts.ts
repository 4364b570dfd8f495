import type { Amount } from '@postern/elicitation';
import { decimalsOf } from '@postern/payment';

/** An amount with the decimals of its currency, such as `12.50 EUR`. A currency that this release does not know stays in minor units. */
export function amountText({ currency, minorUnits }: Amount): string {
  const plain = plainAmount({ currency, minorUnits });
  return plain === undefined ? `${minorUnits} minor units of ${currency}` : `${plain} ${currency}`;
}

/** An amount as {@link typedAmount} reads it. Undefined for a currency that this release does not know. */
export function plainAmount({ currency, minorUnits }: Amount): string | undefined {
  const decimals = decimalsOf(currency);
  if (decimals === undefined) return undefined;
  const digits = String(minorUnits).padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  return decimals === 0 ? whole : `${whole}.${digits.slice(-decimals)}`;
}

/**
 * Reads an amount that a person typed, in minor units. Undefined unless it has exactly the decimals of its currency after a full stop, and
 * no other sign: `5` could be five euros or five cents, and `5,000` five or five thousand.
 */
export function typedAmount(text: string, currency: string): number | undefined {
  const decimals = decimalsOf(currency);
  if (decimals === undefined) return undefined;
  const [, whole, fraction = ''] = /^(\d{1,12})(?:\.(\d{1,4}))?$/.exec(text) ?? [];
  if (whole === undefined || fraction.length !== decimals) return undefined;
  const minorUnits = Number(`${whole}${fraction}`);
  return Number.isSafeInteger(minorUnits) && minorUnits > 0 ? minorUnits : undefined;
}
