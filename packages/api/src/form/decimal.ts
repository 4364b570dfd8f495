/** More digits than any number has that is typed by hand. */
const MAX_LENGTH = 100;
const DECIMAL = /^([+-]?)(\d*)(?:\.(\d*))?(?:e([+-]?\d{1,4}))?$/i;

/**
 * The number that a person typed. Full-width digits, as Chinese and Japanese keyboards write them, and the typographic minus are
 * understood; grouping and decimal commas are not, because 1,500 means two different numbers.
 *
 * @returns undefined for what is no decimal number, and for one that would come out as another: a number of JavaScript and of
 * most JSON libraries has 53 bits.
 */
export function numberFromText(text: string): number | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const plain = text.normalize('NFKC').trim().replace('\u2212', '-');
  const typed = significantOf(plain);
  if (typed === undefined) return undefined;
  const value = Number(plain);
  // The shortest text that reads back as this number (ECMA-262 Number::toString) has the digits that were typed, or it is another.
  return typed === significantOf(String(value)) ? value + 0 : undefined;
}

/** One spelling for each decimal number: its digits without zeros at either end, and the exponent of the last one. */
function significantOf(text: string): string | undefined {
  const [whole, sign = '', integer = '', fraction = '', exponent = '0'] = DECIMAL.exec(text) ?? [];
  if (whole === undefined || integer + fraction === '') return undefined;
  const digits = (integer + fraction).replace(/^0+/, '');
  const significant = digits.replace(/(?<!0)0+$/, '');
  if (significant === '') return '0';
  const last = Number(exponent) - fraction.length + digits.length - significant.length;
  return `${sign === '-' ? '-' : ''}${significant}e${last}`;
}
