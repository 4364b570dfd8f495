/**
 * A text whose wording depends on a number: `plural` names its placeholder, and each category of CLDR that the language
 * distinguishes has its wording.
 */
export type Plural = { readonly plural: string; readonly other: string } & {
  readonly [Category in Intl.LDMLPluralRule]?: string;
};

/** A text whose wording depends on a value from a fixed list: `select` names its placeholder. */
export interface Select {
  readonly select: string;
  readonly [option: string]: string;
}

/** One text of a language. `{name}` is a placeholder. */
export type Message = string | Plural | Select;

/** Adds a note for translators to an English text: where it is shown, or what a placeholder contains. */
export function noted<const Text extends Message>(text: Text, _note: string): Text {
  return text;
}

/**
 * Returns the wording for these values.
 *
 * @throws TypeError if the value that decides is missing or has no wording
 */
export function wordingOf(
  message: Message,
  values: Readonly<Record<string, unknown>> | undefined,
  rules: Intl.PluralRules,
): string {
  if (typeof message === 'string') return message;
  if (isSelect(message)) {
    const option = String(values?.[message.select]);
    const wording = Object.hasOwn(message, option) && option !== 'select' ? message[option] : undefined;
    if (wording === undefined) throw new TypeError(`no wording for {${message.select}}`);
    return wording;
  }
  const number = values?.[message.plural];
  if (typeof number !== 'number') throw new TypeError(`{${message.plural}} is not a number`);
  return message[rules.select(number)] ?? message.other;
}

function isSelect(message: Plural | Select): message is Select {
  return 'select' in message;
}
