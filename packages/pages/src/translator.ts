import { type Html, html, joinHtml, ownText } from './html.ts';
import type { Locale } from './locale.ts';
import { en } from './messages/en.ts';
import type { MessageKey, MessagePlaceholder, Messages } from './messages/messages.ts';
import { zhHans } from './messages/zh-hans.ts';

type Values<Key extends MessageKey, Value> = [MessagePlaceholder<Key>] extends [never]
  ? []
  : [values: Readonly<Record<MessagePlaceholder<Key>, Value>>];

interface Language {
  readonly messages: Messages;
  readonly direction: 'ltr' | 'rtl';
}

const languages: Readonly<Record<Locale, Language>> = {
  en: { messages: en, direction: 'ltr' },
  'zh-Hans': { messages: zhHans, direction: 'ltr' },
};

/** The texts of one locale. */
export interface Translator {
  /** Returns a text as markup; string values are untrusted and isolated in `<bdi>`. */
  html<Key extends MessageKey>(key: Key, ...values: Values<Key, string | Html>): Html;
  /** Returns a text without markup, for titles and attributes; values are enclosed in Unicode isolates (UAX 9). */
  plain<Key extends MessageKey>(key: Key, ...values: Values<Key, string>): string;
  readonly locale: Locale;
  readonly direction: 'ltr' | 'rtl';
}

export function translatorFor(locale: Locale): Translator {
  const { messages, direction } = languages[locale];
  return {
    html: (key, ...values) =>
      joinHtml(
        splitMessage(messages[key]).map(part =>
          part.isPlaceholder ? html`${valueFor(values[0], part.text)}` : ownText(part.text),
        ),
      ),
    plain: (key, ...values) =>
      splitMessage(messages[key])
        .map(part => (part.isPlaceholder ? isolate(valueFor<string>(values[0], part.text)) : part.text))
        .join(''),
    locale,
    direction,
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

function valueFor<Value>(values: Readonly<Record<string, Value>> | undefined, name: string): Value {
  const value = values !== undefined && Object.hasOwn(values, name) ? values[name] : undefined;
  if (value === undefined) throw new TypeError(`no value for {${name}}`);
  return value;
}
