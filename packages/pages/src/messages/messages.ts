import type { en } from './en.ts';

export type MessageKey = keyof typeof en;

/** A complete set of texts. A locale that lacks one, or has one too many, does not compile. */
export type Messages = Readonly<Record<MessageKey, string>>;

/** The names in braces of a text. */
export type PlaceholderOf<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PlaceholderOf<Rest>
  : never;

export type MessagePlaceholder<Key extends MessageKey> = PlaceholderOf<(typeof en)[Key]>;
