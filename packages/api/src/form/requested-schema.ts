import { z } from 'zod';
import { isInert } from '../inert-text.ts';
import { patternSchema } from '../patterns.ts';
import { INERT_RULE, plainText } from '../plain-text.ts';
import { strangersIn } from './strangers.ts';
import { MAX_FORM_TEXT_LENGTH, valueFault } from './value-fault.ts';

/**
 * MCP's restricted JSON Schema for forms, as the schema types of revisions 2025-11-25 and 2026-07-28 have it (`ElicitRequestFormParams`
 * and `PrimitiveSchemaDefinition`, the same in both): one flat object of strings, numbers, booleans and choices. `pattern`, which
 * only an example in the prose of 2025-11-25 has, is taken as well.
 *
 * It is strict. What stands outside is refused with its path instead of being dropped, because a rule that nobody checks is
 * worse than one that cannot be written.
 */

/** More is a questionnaire, which no one answers in the middle of something else. */
/** Of the whole schema as JSON. Three lists of all countries with their names fit. */
export const MAX_FORM_BYTES = 32 * 1024;
export const MAX_FORM_PROPERTIES = 20;
/** There are 249 countries (ISO 3166-1). */
export const MAX_FORM_OPTIONS = 250;

export const stringFormats = ['email', 'uri', 'date', 'date-time'] as const;
export type StringFormat = (typeof stringFormats)[number];

type Texts = { readonly title?: string; readonly description?: string };

/** A value, and what people read in its place. */
export type TitledOption = { readonly const: string; readonly title: string };

export type TextProperty = Texts & {
  readonly type: 'string';
  /** In Unicode code points (JSON Schema Validation 6.3). */
  readonly minLength?: number;
  readonly maxLength?: number;
  /** A regular expression that occurs in the text (JSON Schema Validation 6.3.3). Never run here: see `PatternMatcher`. */
  readonly pattern?: string;
  readonly format?: StringFormat;
  readonly default?: string;
};

export type SelectProperty = Texts & {
  readonly type: 'string';
  readonly enum: readonly string[];
  /** What people read, in the order of `enum`. The older spelling of `oneOf`. */
  readonly enumNames?: readonly string[];
  readonly default?: string;
};

export type TitledSelectProperty = Texts & {
  readonly type: 'string';
  readonly oneOf: readonly TitledOption[];
  readonly default?: string;
};

export type NumberProperty = Texts & {
  readonly type: 'number' | 'integer';
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: number;
};

export type BooleanProperty = Texts & { readonly type: 'boolean'; readonly default?: boolean };

export type MultiSelectProperty = Texts & {
  readonly type: 'array';
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items:
    | { readonly type: 'string'; readonly enum: readonly string[] }
    | { readonly anyOf: readonly TitledOption[] };
  readonly default?: readonly string[];
};

export type PropertySchema =
  | TextProperty
  | SelectProperty
  | TitledSelectProperty
  | NumberProperty
  | BooleanProperty
  | MultiSelectProperty;

export type RequestedSchema = {
  readonly $schema?: string;
  readonly type: 'object';
  readonly properties: { readonly [name: string]: PropertySchema };
  readonly required?: readonly string[];
};

const texts = { title: plainText(120).optional(), description: plainText(500).optional() };

/**
 * A value that somebody chooses. It is never empty, which a browser form could not tell from no choice, and keeps every
 * character on its way through a page.
 */
const optionValue = z
  .string()
  .min(1)
  .max(200)
  .refine(isInert, { error: INERT_RULE })
  .refine(value => value.trim() !== '', { error: 'must be visible' });

const optionValues = z.array(optionValue).min(1).max(MAX_FORM_OPTIONS);
const titledOptions = z
  .array(z.strictObject({ const: optionValue, title: plainText(120) }))
  .min(1)
  .max(MAX_FORM_OPTIONS);

const length = z.int().min(0).max(Number.MAX_SAFE_INTEGER);
const inertText = z.string().max(MAX_FORM_TEXT_LENGTH).refine(isInert, { error: INERT_RULE });

type Context = { addIssue(issue: { code: 'custom'; path: PropertyKey[]; message: string }): void };
type Fault = (path: PropertyKey[], message: string) => void;

const faultsInto =
  (context: Context): Fault =>
  (path, message) =>
    context.addIssue({ code: 'custom', path, message });

function refuseRepeats(values: readonly string[], pathOf: (at: number) => PropertyKey[], fault: Fault): void {
  const seen = new Set<string>();
  values.forEach((value, at) => {
    if (seen.has(value)) fault(pathOf(at), 'stands here twice');
    seen.add(value);
  });
}

function refuseTitledRepeats(options: readonly TitledOption[], path: PropertyKey[], fault: Fault): void {
  const values = options.map(option => option.const);
  const titles = options.map(option => option.title);
  refuseRepeats(values, at => [...path, at, 'const'], fault);
  refuseRepeats(titles, at => [...path, at, 'title'], fault);
}

/**
 * The default must be an answer that would be accepted, but for a `pattern`: the default of the one example with a pattern does not
 * match it. It stands on the page, and whoever sends it unchanged is told.
 */
function refuseUnfitDefault(property: PropertySchema, fault: Fault): void {
  if (property.default === undefined) return;
  const code = valueFault(property, property.default);
  if (code !== undefined) fault(['default'], `does not fit what is asked for: ${code}`);
}

/** Absent members are not there as `undefined` either: the schema stays plain JSON. */
function withoutAbsent<T extends object>(members: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const there = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(there) as { [K in keyof T]: Exclude<T[K], undefined> };
}

const TEXT_RULES = ['minLength', 'maxLength', 'pattern', 'format'] as const;

const stringPropertySchema = z
  .strictObject({
    type: z.literal('string'),
    ...texts,
    minLength: length.optional(),
    maxLength: length.optional(),
    pattern: patternSchema
      .optional()
      .describe('Regular expression in RE2 syntax that must occur in the text; `^…$` for the whole of it.'),
    format: z.enum(stringFormats).optional(),
    enum: optionValues.optional(),
    enumNames: z.array(plainText(120)).max(MAX_FORM_OPTIONS).optional(),
    oneOf: titledOptions.optional(),
    default: inertText.optional(),
  })
  .superRefine((property, context) => {
    const fault = faultsInto(context);
    const { minLength = 0, maxLength = MAX_FORM_TEXT_LENGTH } = property;
    if (minLength > maxLength) fault(['minLength'], 'no text is this long and short enough');
    if (property.enum !== undefined && property.oneOf !== undefined) fault(['oneOf'], 'stands beside enum');
    if (property.enumNames !== undefined && property.enumNames.length !== property.enum?.length)
      fault(['enumNames'], 'needs one name for each value of enum');
    if (property.enum !== undefined || property.oneOf !== undefined)
      for (const rule of TEXT_RULES)
        if (property[rule] !== undefined) fault([rule], 'has no meaning where one of a list is chosen');
    refuseRepeats(property.enum ?? [], at => ['enum', at], fault);
    refuseRepeats(property.enumNames ?? [], at => ['enumNames', at], fault);
    refuseTitledRepeats(property.oneOf ?? [], ['oneOf'], fault);
  })
  .transform((members): TextProperty | SelectProperty | TitledSelectProperty => {
    const { minLength, maxLength, pattern, format, enum: values, enumNames, oneOf, ...rest } = members;
    if (values !== undefined) return withoutAbsent({ ...rest, enum: values, enumNames });
    if (oneOf !== undefined) return withoutAbsent({ ...rest, oneOf });
    return withoutAbsent({ ...rest, minLength, maxLength, pattern, format });
  });

const numberPropertyShape = {
  ...texts,
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  default: z.number().optional(),
};

type NumberRange = { type: 'number' | 'integer'; minimum?: number | undefined; maximum?: number | undefined };

function refuseEmptyRange(range: NumberRange, fault: Fault): void {
  const { minimum = -Infinity, maximum = Infinity } = range;
  const isEmpty =
    range.type === 'integer'
      ? Math.max(Math.ceil(minimum), Number.MIN_SAFE_INTEGER) > Math.min(Math.floor(maximum), Number.MAX_SAFE_INTEGER)
      : minimum > maximum;
  if (isEmpty) fault([range.minimum === undefined ? 'maximum' : 'minimum'], 'no number is large and small enough');
}

const numberPropertySchema = z
  .strictObject({ type: z.enum(['number', 'integer']), ...numberPropertyShape })
  .superRefine((property, context) => refuseEmptyRange(property, faultsInto(context)))
  .transform((members): NumberProperty => withoutAbsent(members));

const booleanPropertySchema = z
  .strictObject({ type: z.literal('boolean'), ...texts, default: z.boolean().optional() })
  .transform((members): BooleanProperty => withoutAbsent(members));

const multiSelectPropertySchema = z
  .strictObject({
    type: z.literal('array'),
    ...texts,
    minItems: length.optional(),
    maxItems: length.optional(),
    items: z.union([
      z.strictObject({ type: z.literal('string'), enum: optionValues }),
      // The types of both revisions leave `type` out beside `anyOf`; it says nothing that `const` does not.
      z.strictObject({ anyOf: titledOptions }),
    ]),
    default: z.array(inertText).max(MAX_FORM_OPTIONS).optional(),
  })
  .superRefine((property, context) => {
    const fault = faultsInto(context);
    const { items, minItems = 0, maxItems = MAX_FORM_OPTIONS } = property;
    const options = 'enum' in items ? items.enum.length : items.anyOf.length;
    if (minItems > Math.min(maxItems, options)) fault(['minItems'], 'so many cannot be chosen');
    if ('enum' in items) refuseRepeats(items.enum, at => ['items', 'enum', at], fault);
    else refuseTitledRepeats(items.anyOf, ['items', 'anyOf'], fault);
  })
  .transform((members): MultiSelectProperty => withoutAbsent(members));

const propertySchema = z
  .discriminatedUnion('type', [
    stringPropertySchema,
    numberPropertySchema,
    booleanPropertySchema,
    multiSelectPropertySchema,
  ])
  .superRefine((property, context) => refuseUnfitDefault(property, faultsInto(context)));

/**
 * Letters and digits of ASCII with `_`, `.` and `-`: it names a form field, stands in fault paths and becomes a member of objects
 * in programs of other people, and none of these has a use for more. Members that every object inherits, `__proto__` and
 * `constructor` among them, are refused so that no such program can be led astray.
 */
const PROPERTY_NAME = /^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/;

const propertyNameSchema = z
  .string()
  .regex(PROPERTY_NAME, { error: 'letters, digits, "_", "." and "-", at most 64, and no digit, "." or "-" first' })
  .refine(isOwnName, { error: 'names a member that every object has' });

function isOwnName(name: string): boolean {
  return !(name in Object.prototype);
}

const wholeSchema = z
  .strictObject({
    $schema: z
      .enum(['https://json-schema.org/draft/2020-12/schema', 'https://json-schema.org/draft/2020-12/schema#'])
      .optional(),
    type: z.literal('object'),
    properties: z
      .record(propertyNameSchema, propertySchema)
      .refine(properties => Object.keys(properties).length <= MAX_FORM_PROPERTIES, {
        error: `at most ${MAX_FORM_PROPERTIES} properties`,
      }),
    required: z.array(z.string().max(64)).max(MAX_FORM_PROPERTIES).optional(),
  })
  .superRefine((schema, context) => {
    const { properties, required = [] } = schema;
    const fault = faultsInto(context);
    if (new TextEncoder().encode(JSON.stringify(schema)).byteLength > MAX_FORM_BYTES)
      fault([], `at most ${MAX_FORM_BYTES} bytes of JSON`);
    required.forEach((name, at) => {
      if (!Object.hasOwn(properties, name)) fault(['required', at], 'names no property');
    });
    refuseRepeats(required, at => ['required', at], fault);
  })
  .transform((members): RequestedSchema => withoutAbsent(members));

export type RequestedSchemaInput = z.input<typeof wholeSchema>;

/** Checked before the schema sees it, which would name the object around a stranger and drop `__proto__` in silence. */
export const requestedSchemaSchema = z
  .preprocess((input: RequestedSchemaInput, context) => {
    for (const path of strangersIn(input)) faultsInto(context)(path, "is not part of MCP's restricted schema");
    return input;
  }, wholeSchema)
  .describe('A JSON Schema within the restrictions of MCP (`requestedSchema` of form mode elicitation).');
