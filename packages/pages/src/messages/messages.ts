import type { en } from './en.ts';

export type MessageKey = keyof typeof en;

/** A complete set of texts. A locale with a missing or an extra text does not compile. */
export type Messages = Readonly<Record<MessageKey, string>>;

/** The names of the placeholders of a text. */
export type PlaceholderOf<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PlaceholderOf<Rest>
  : never;

export type MessagePlaceholder<Key extends MessageKey> = PlaceholderOf<(typeof en)[Key]>;
