import type { AmountView } from './approval-views.ts';
import { type Html, html, ownText } from './html.ts';
import type { Translator } from './translator.ts';

/** ISO 4217 has no currency with more. */
const maxDecimals = 4;

/**
 * A sum in the words of the locale, exact for every safe integer. Where its symbol could also be that of another currency the
 * code follows: "$24.90 USD".
 *
 * @throws TypeError when it is no sum: `minorUnits` is not a safe integer, or `decimals` or `currency` are not of ISO 4217.
 */
export function amountText(amount: AmountView, t: Translator): string {
  const { figure, code } = amountParts(amount, t);
  return code === undefined ? figure : `${figure}\u00a0${code}`;
}

/** {@link amountText} in markup. */
export function amountHtml(amount: AmountView, t: Translator): Html {
  const { figure, code } = amountParts(amount, t);
  const suffix = code === undefined ? undefined : html` <span class="currency">${ownText(code)}</span>`;
  return html`<bdi class="amount" translate="no"><span class="figure">${ownText(figure)}</span>${suffix}</bdi>`;
}

function amountParts(amount: AmountView, t: Translator): { figure: string; code?: string } {
  const { currency, decimals } = amount;
  if (!/^[A-Z]{3}$/.test(currency)) throw new TypeError('not a currency code of ISO 4217');
  const figures = decimalOf(amount);
  const format = new Intl.NumberFormat(t.locale, {
    style: 'currency',
    currency,
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
  const symbol = format.formatToParts(0).find(({ type }) => type === 'currency')?.value ?? currency;
  const figure = format.format(figures);
  return isSharedSymbol(symbol, t) ? { figure, code: currency } : { figure };
}

/** The sum as a decimal number, by moving the point: a division would lose digits. */
function decimalOf({ minorUnits, decimals }: AmountView): Intl.StringNumericLiteral {
  if (!Number.isSafeInteger(minorUnits)) throw new TypeError('not an integer number of minor units');
  if (!Number.isInteger(decimals) || decimals < 0 || decimals > maxDecimals)
    throw new TypeError('not a number of decimals');
  const digits = String(Math.abs(minorUnits)).padStart(decimals + 1, '0');
  const point = digits.length - decimals;
  const sign = minorUnits < 0 ? '-' : '';
  return `${sign}${digits.slice(0, point)}.${digits.slice(point)}0` as Intl.StringNumericLiteral;
}

const sharedSymbols = new Map<string, ReadonlySet<string>>();

/** Whether people somewhere write another currency with the same symbol, whatever is usual in this locale. */
function isSharedSymbol(symbol: string, { locale }: Translator): boolean {
  let shared = sharedSymbols.get(locale);
  if (shared === undefined) {
    shared = findSharedSymbols(locale);
    sharedSymbols.set(locale, shared);
  }
  return shared.has(bare(symbol));
}

function findSharedSymbols(locale: string): ReadonlySet<string> {
  const seen = new Set<string>();
  const shared = new Set<string>();
  for (const currency of Intl.supportedValuesOf('currency')) {
    const format = new Intl.NumberFormat(locale, { style: 'currency', currency, currencyDisplay: 'narrowSymbol' });
    const symbol = bare(format.formatToParts(0).find(({ type }) => type === 'currency')?.value ?? currency);
    if (seen.has(symbol)) shared.add(symbol);
    seen.add(symbol);
  }
  return shared;
}

/** "FCFA" and "F CFA" are too close to tell two currencies apart. */
function bare(symbol: string): string {
  return symbol.replace(/\s/gu, '');
}
