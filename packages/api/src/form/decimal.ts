/** Maximum length of the input, longer than any number typed by hand. */
const MAX_LENGTH = 100;
const DECIMAL = /^([+-]?)(\d*)(?:\.(\d*))?(?:e([+-]?\d{1,4}))?$/i;

/**
 * Parses a typed number. Accepts full-width digits of Chinese and Japanese keyboards, and the typographic minus. Refuses
 * grouping and decimal commas, because 1,500 is ambiguous.
 *
 * @returns undefined for invalid decimal numbers, and for numbers that JavaScript and most JSON libraries would round,
 * because theirs have 53 bits
 */
export function numberFromText(text: string): number | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const plain = text.normalize('NFKC').trim().replace('\u2212', '-');
  const typed = significantOf(plain);
  if (typed === undefined) return undefined;
  const value = Number(plain);
  // If the shortest text of this number (ECMA-262 Number::toString) has other digits than the input, it was rounded.
  return typed === significantOf(String(value)) ? value + 0 : undefined;
}

/** Canonical form of a decimal number: its digits without outer zeros, and the exponent of the last digit. */
function significantOf(text: string): string | undefined {
  const [whole, sign = '', integer = '', fraction = '', exponent = '0'] = DECIMAL.exec(text) ?? [];
  if (whole === undefined || integer + fraction === '') return undefined;
  const digits = (integer + fraction).replace(/^0+/, '');
  const significant = digits.replace(/(?<!0)0+$/, '');
  if (significant === '') return '0';
  const last = Number(exponent) - fraction.length + digits.length - significant.length;
  return `${sign === '-' ? '-' : ''}${significant}e${last}`;
}
