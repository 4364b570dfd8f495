import type { AmountView } from './approval-views.ts';
import { type Html, html, ownText } from './html.ts';
import type { Translator } from './translator.ts';

/** Maximum number of decimals in ISO 4217. */
const maxDecimals = 4;

/**
 * Formats an amount for a locale, exact for every safe integer. Appends the currency code if the symbol is ambiguous:
 * "$24.90 USD".
 *
 * @throws TypeError if `minorUnits` is not a safe integer, or `decimals` or `currency` do not conform to ISO 4217.
 */
export function amountText(amount: AmountView, t: Translator): string {
  const { figure, code } = amountParts(amount, t);
  return code === undefined ? figure : `${figure}\u00a0${code}`;
}

/** {@link amountText} as markup. */
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

/** Returns the amount as a decimal number, without a division, which would lose digits. */
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

/** Whether another currency has the same symbol in any locale. */
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

/** Normalises symbols, because "FCFA" and "F CFA" look alike. */
function bare(symbol: string): string {
  return symbol.replace(/\s/gu, '');
}
