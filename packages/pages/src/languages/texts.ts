import type { texts } from './en/index.ts';
import type { Message, Plural } from './message.ts';

type English = typeof texts;

/** A file of texts, present in each language. */
type Area = keyof English;

type Translated<Text> = Text extends { readonly select: infer Name }
  ? { readonly [Option in keyof Text]: Option extends 'select' ? Name : string }
  : Text extends { readonly plural: infer Name }
    ? string | (Plural & { readonly plural: Name })
    : string;

/** The texts of one area in another language. Does not compile while a text is missing. */
export type Texts<Name extends Area> = { readonly [Key in keyof English[Name]]: Translated<English[Name][Key]> };

export interface Language {
  readonly texts: { readonly [Name in Area]: Texts<Name> };
  /** What scopes allow, by preset and scope; English serves for the ones left out. */
  readonly scopes: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

export type MessageKey = { [Name in Area]: keyof English[Name] }[Area];

type MessageOf<Key extends MessageKey> = {
  [Name in Area]: Key extends keyof English[Name] ? English[Name][Key] : never;
}[Area];

type PlaceholderIn<Text> = Text extends `${string}{${infer Name}}${infer Rest}` ? Name | PlaceholderIn<Rest> : never;
type Wording<Text> = Text extends string
  ? Text
  : { [Name in keyof Text]: Name extends 'plural' | 'select' ? never : Text[Name] }[keyof Text];
type NumberName<Text> = Text extends { readonly plural: infer Name extends string } ? Name : never;
type SelectName<Text> = Text extends { readonly select: infer Name extends string } ? Name : never;
type SelectOption<Text> = Text extends { readonly select: string } ? Exclude<keyof Text, 'select'> : never;

type ValuesOf<Text, Value> = Readonly<
  Record<Exclude<PlaceholderIn<Wording<Text>>, NumberName<Text> | SelectName<Text>>, Value> &
    Record<NumberName<Text>, number> &
    Record<SelectName<Text>, SelectOption<Text>>
>;

/** The arguments that fill in the placeholders of a text; none if it has no placeholder. */
export type Values<Key extends MessageKey, Value> = [keyof ValuesOf<MessageOf<Key>, Value>] extends [never]
  ? []
  : [values: ValuesOf<MessageOf<Key>, Value>];

export type Catalogue = Readonly<Record<MessageKey, Message>>;
