import type { Locale } from './languages/languages.ts';

/** A decimal number as JavaScript writes it, or the two readings of a text that may be grouped or have a fraction. */
export type TypedNumber =
  | { readonly plain: string }
  | { readonly ambiguous: { readonly whole: string; readonly decimal: string } };

const MAX_LENGTH = 100;
/** Always between thousands: spaces, apostrophes, the Arabic thousands separator. */
const GROUPING = /['\u2019\u02bc \u066c_]/g;
const BIDI_MARKS = /[\u200e\u200f\u061c]/g;
/** Thousands, also as in India: 12,34,567. */
const GROUPED = /^\d{1,3}(?:,\d{2,3})*,\d{3}$/;

/**
 * Reads a number as people write it in any language of the pages: with a point or a comma before the fraction, with groups of
 * thousands, and with the digits of any script. A single point or comma before exactly three digits, as in 1.500, has two
 * readings: neither is chosen.
 *
 * @returns `plain` is the unchanged text if it is no number
 */
export function readTypedNumber(text: string): TypedNumber {
  if (text.length > MAX_LENGTH) return { plain: text };
  const typed = digitsOf(text.normalize('NFKC')).replaceAll(BIDI_MARKS, '').replace('\u2212', '-').trim();
  const [, sign = '', body, exponent] =
    /^([+-]?)([\d.,'\u2019\u02bc \u066b\u066c_]+)(e[+-]?\d{1,4})?$/i.exec(typed) ?? [];
  if (body === undefined) return { plain: text };
  const fullReading = unsignedNumber(body, exponent !== undefined);
  if (fullReading === undefined) return { plain: text };
  if (typeof fullReading === 'string') return { plain: `${sign}${fullReading}${exponent ?? ''}` };
  const [integer, fraction] = fullReading;
  const [signOfReading, shortest] = [sign === '-' ? '-' : '', fraction.replace(/0{1,3}$/, '')];
  const decimal = shortest === '' ? `${integer}.0` : `${integer}.${shortest.length === 3 ? `${shortest}0` : shortest}`;
  return { ambiguous: { whole: `${signOfReading}${integer}${fraction}`, decimal: `${signOfReading}${decimal}` } };
}

/** Returns the plain number, its two parts if they have two readings, or undefined. */
function unsignedNumber(body: string, hasExponent: boolean): string | readonly [string, string] | undefined {
  const [whole = '', arabicFraction, ...more] = body.split('\u066b');
  if (more.length > 0) return undefined;
  if (arabicFraction !== undefined) return joined(ungrouped(whole.replaceAll(/[.,]/g, ' ')), arabicFraction);
  const last = Math.max(body.lastIndexOf('.'), body.lastIndexOf(','));
  if (last === -1) return ungrouped(body);
  const [before, after, separator] = [body.slice(0, last), body.slice(last + 1), body[last]];
  if (before.includes(separator ?? ''))
    return /[.,]/.test(body.replaceAll(separator ?? '', '')) ? undefined : ungrouped(body);
  const isMixed = /[.,'\u2019\u02bc \u066c_]/.test(before);
  if (!isMixed && !hasExponent && /^[1-9]\d{0,2}$/.test(before) && /^\d{3}$/.test(after)) return [before, after];
  return joined(ungrouped(before), after);
}

const joined = (integer: string | undefined, fraction: string): string | undefined =>
  integer === undefined || !/^\d*$/.test(fraction) ? undefined : `${integer}.${fraction}`;

/** Removes separators between thousands; returns undefined if they are elsewhere or of two kinds. */
function ungrouped(text: string): string | undefined {
  if (/^\d*$/.test(text)) return text;
  const separators = new Set(text.replaceAll(/\d/g, ''));
  if (separators.size > 1) return undefined;
  return GROUPED.test(text.replaceAll(GROUPING, ',').replaceAll('.', ',')) ? text.replaceAll(/\D/g, '') : undefined;
}

/** Digits of every script come in runs of ten, zero first (The Unicode Standard, section 4.6). Runs may touch. */
function digitsOf(text: string): string {
  return text.replaceAll(/\p{Nd}/gu, digit => {
    const value = digit.codePointAt(0) ?? 0;
    let first = value;
    while (/^\p{Nd}$/u.test(String.fromCodePoint(first - 1))) first -= 1;
    return String((value - first) % 10);
  });
}

/** Writes a plain decimal number as one types it in a locale: without grouping, and so that it has one reading. */
export function typedNumberText(plain: string, locale: Locale): string {
  if (!/^-?\d+(?:\.\d+)?$/.test(plain)) return plain;
  const fraction = plain.split('.')[1]?.length ?? 0;
  const format = new Intl.NumberFormat(locale, {
    useGrouping: false,
    minimumFractionDigits: Math.min(fraction, 100),
    maximumFractionDigits: 100,
  });
  const written = format.format(plain as Intl.StringNumericLiteral);
  if ('plain' in readTypedNumber(written)) return written;
  return typedNumberText(`${plain}0`, locale);
}
