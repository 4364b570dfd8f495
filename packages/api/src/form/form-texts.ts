import { z } from 'zod/v4';
import { type LocalText, languageTags, localText, textFor } from '../local-text.ts';
import type { PropertySchema, RequestedSchema } from './property-schema.ts';
import { MAX_FORM_OPTIONS } from './requested-schema.ts';
import { optionValuesOf } from './value-fault.ts';

/** Texts of one property, instead of those in its schema. */
export interface PropertyTexts {
  readonly title?: LocalText | undefined;
  readonly description?: LocalText | undefined;
  /** Titles of the options of a choice, by value. */
  readonly options?: { readonly [value: string]: LocalText } | undefined;
}

/** Texts by the name of their property. */
export type FormTexts = { readonly [property: string]: PropertyTexts };

export const formTextsSchema = z
  .record(
    z.string().max(64),
    z.strictObject({
      title: localText(120).optional(),
      description: localText(500).optional(),
      options: z
        .record(z.string().max(200), localText(120))
        .refine(options => Object.keys(options).length <= MAX_FORM_OPTIONS, {
          error: `at most ${MAX_FORM_OPTIONS} options`,
        })
        .optional()
        .describe('Titles of the options of a choice, by value.'),
    }),
  )
  .describe(
    "Texts of the form's properties in several languages. They replace titles and descriptions of `requestedSchema`, which MCP allows in one language only.",
  );

/** Returns the paths of texts without a property or an option. */
export function strayTexts({ properties }: RequestedSchema, texts: FormTexts): PropertyKey[][] {
  return Object.entries(texts).flatMap(([name, { options = {} }]): PropertyKey[][] => {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (property === undefined) return [[name]];
    const values = new Set(isChoice(property) ? optionValuesOf(property) : []);
    return Object.keys(options)
      .filter(value => !values.has(value))
      .map(value => [name, 'options', value]);
  });
}

const isChoice = (property: PropertySchema) => property.type === 'array' || 'enum' in property || 'oneOf' in property;

/** Returns the names of choices in which two options have one title, in any language. */
export function ambiguousChoices(schema: RequestedSchema, texts: FormTexts): string[] {
  const names = Object.keys(texts).filter(name => texts[name]?.options !== undefined);
  return names.filter(name =>
    languageTags.some(tag => {
      const property = schemaWithTexts(schema, texts, tag).properties[name];
      const titles = property === undefined ? [] : titlesOf(property);
      return new Set(titles).size < titles.length;
    }),
  );
}

function titlesOf(property: PropertySchema): readonly string[] {
  if ('enumNames' in property) return property.enumNames ?? [];
  if ('oneOf' in property) return property.oneOf.map(({ title }) => title);
  return property.type === 'array' && 'anyOf' in property.items ? property.items.anyOf.map(({ title }) => title) : [];
}

/** Returns the schema with the texts for a reader of one language, as MCP clients need it. */
export function schemaWithTexts(schema: RequestedSchema, texts: FormTexts, tag: string | undefined): RequestedSchema {
  const properties = Object.entries(schema.properties).map(([name, property]): [string, PropertySchema] => {
    const own = Object.hasOwn(texts, name) ? texts[name] : undefined;
    return [name, own === undefined ? property : propertyWithTexts(property, own, tag)];
  });
  return { ...schema, properties: Object.fromEntries(properties) };
}

function propertyWithTexts(
  property: PropertySchema,
  { title, description, options = {} }: PropertyTexts,
  tag: string | undefined,
): PropertySchema {
  const titleOf = (value: string, otherwise: string) => {
    const own = Object.hasOwn(options, value) ? options[value] : undefined;
    return own === undefined ? otherwise : textFor(own, tag);
  };
  const titled = ({ const: value, title: otherwise }: { readonly const: string; readonly title: string }) => ({
    const: value,
    title: titleOf(value, otherwise),
  });
  const texts = {
    ...(title === undefined ? {} : { title: textFor(title, tag) }),
    ...(description === undefined ? {} : { description: textFor(description, tag) }),
  };
  if (Object.keys(options).length === 0) return { ...property, ...texts };
  if ('oneOf' in property) return { ...property, ...texts, oneOf: property.oneOf.map(titled) };
  if ('enum' in property) {
    const enumNames = property.enum.map((value, at) => titleOf(value, property.enumNames?.[at] ?? value));
    return { ...property, ...texts, enumNames };
  }
  if (property.type !== 'array') return { ...property, ...texts };
  const { items } = property;
  const anyOf = 'anyOf' in items ? items.anyOf : items.enum.map(value => ({ const: value, title: value }));
  return { ...property, ...texts, items: { anyOf: anyOf.map(titled) } };
}
