import { type ForeignText, foreign, foreignPlain } from './foreign-text.ts';
import { type Html, isHtml, joinHtml, ownText } from './html.ts';
import { catalogueOf, type Locale, languageOf } from './languages/languages.ts';
import { wordingOf } from './languages/message.ts';
import type { MessageKey, Values } from './languages/texts.ts';

/** The texts of one locale. Numbers among the values are written as the locale writes them. */
export interface Translator {
  /** Returns a text as markup; string values are untrusted and isolated in `<bdi>`. */
  html<Key extends MessageKey>(key: Key, ...values: Values<Key, ForeignText | number | Html>): Html;
  /** Returns a text without markup, for titles and attributes; values are enclosed in Unicode isolates (UAX 9). */
  plain<Key extends MessageKey>(key: Key, ...values: Values<Key, ForeignText | number>): string;
  readonly locale: Locale;
  /** IANA name of the reader's time zone, UTC if it is not known. */
  readonly timeZone: string;
  readonly direction: 'ltr' | 'rtl';
}

export function translatorFor({
  locale,
  timeZone = 'UTC',
}: {
  readonly locale: Locale;
  readonly timeZone?: string;
}): Translator {
  const catalogue = catalogueOf(locale);
  const rules = new Intl.PluralRules(locale);
  const numbers = new Intl.NumberFormat(locale);
  const parts = (key: MessageKey, values: Readonly<Record<string, unknown>> | undefined) =>
    splitMessage(wordingOf(catalogue[key], values, rules));
  return {
    html: (key, ...[values]) =>
      joinHtml(
        parts(key, values).map(part => {
          if (!part.isPlaceholder) return ownText(part.text);
          const value = valueFor<ForeignText | number | Html>(values, part.text);
          if (typeof value === 'number') return ownText(numbers.format(value));
          return isHtml(value) ? value : foreign(value, { locale });
        }),
      ),
    plain: (key, ...[values]) =>
      parts(key, values)
        .map(part => {
          if (!part.isPlaceholder) return part.text;
          const value = valueFor<ForeignText | number>(values, part.text);
          return typeof value === 'number' ? numbers.format(value) : isolate(foreignPlain(value, { locale }));
        })
        .join(''),
    locale,
    timeZone,
    direction: languageOf(locale).direction,
  };
}

/** Encloses an untrusted value in FIRST STRONG ISOLATE and POP DIRECTIONAL ISOLATE, like `<bdi>` in markup. */
export function isolate(value: string): string {
  return `\u2068${value}\u2069`;
}

/** Splits the text only once, so braces in a value are never replaced. */
function splitMessage(message: string): { isPlaceholder: boolean; text: string }[] {
  return message.split(/\{([A-Za-z]+)\}/).map((text, index) => ({ isPlaceholder: index % 2 === 1, text }));
}

function valueFor<Value>(values: Readonly<Record<string, unknown>> | undefined, name: string): Value {
  const value = values !== undefined && Object.hasOwn(values, name) ? values[name] : undefined;
  if (value === undefined) throw new TypeError(`no value for {${name}}`);
  return value as Value;
}
