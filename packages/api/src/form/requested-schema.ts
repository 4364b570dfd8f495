import { z } from 'zod/v4';
import { patternSchema } from '../patterns.ts';
import { INERT_RULE, isInert, plainText } from '../plain-text.ts';
import {
  type PropertySchema,
  type RequestedSchema,
  type SelectProperty,
  stringFormats,
  type TextProperty,
  type TitledOption,
  type TitledSelectProperty,
} from './property-schema.ts';
import { unknownKeysIn } from './unknown-keys.ts';
import { MAX_FORM_TEXT_LENGTH, valueFault } from './value-fault.ts';

/**
 * MCP's restricted JSON Schema for forms, as in the schema types of revisions 2025-11-25 and 2026-07-28
 * (`ElicitRequestFormParams` and `PrimitiveSchemaDefinition`, the same in both): one flat object of strings, numbers, booleans
 * and choices. Also accepts `pattern`, which appears only in an example of 2025-11-25.
 *
 * The schema is strict. It refuses an unknown keyword and names its path, because silently dropping a constraint is worse
 * than rejecting it.
 */

/** Maximum size of the whole schema as JSON. Three lists of all countries with their names fit. */
export const MAX_FORM_BYTES = 32 * 1024;
/** Maximum number of fields. A longer form is a questionnaire, not an elicitation. */
export const MAX_FORM_PROPERTIES = 20;
/** There are 249 countries (ISO 3166-1). */
export const MAX_FORM_OPTIONS = 250;

/** What a form may contain within MCP's restrictions. */
export interface FormRules {
  readonly bytes: number;
  readonly properties: number;
  readonly options: number;
  readonly name: z.ZodType<string, string>;
  readonly optionValue: z.ZodType<string, string>;
  readonly defaultText: z.ZodType<string, string>;
  /** Whether two options may have the same title: only where the value is shown too. */
  readonly sameTitles: boolean;
}

const texts = { title: plainText(120).optional(), description: plainText(500).optional() };

/**
 * A value of a choice. Never empty, because a browser form cannot distinguish an empty value from no choice. Survives a page
 * unchanged.
 */
const pageOptionValue = z
  .string()
  .min(1)
  .max(200)
  .refine(isInert, { error: INERT_RULE })
  .refine(value => value.trim() !== '', { error: 'must be visible' });

const optionValuesOf = (rules: FormRules) =>
  z
    .array(rules.optionValue, {
      error: ({ input }) => (input === undefined ? 'a list is a choice: name its options' : undefined),
    })
    .min(1)
    .max(rules.options);
const titledOptionsOf = (rules: FormRules) =>
  z
    .array(z.strictObject({ const: rules.optionValue, title: plainText(120) }))
    .min(1)
    .max(rules.options);

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

function refuseTitledRepeats(
  options: readonly TitledOption[],
  { sameTitles }: FormRules,
  path: PropertyKey[],
  fault: Fault,
): void {
  const values = options.map(option => option.const);
  const titles = options.map(option => option.title);
  refuseRepeats(values, at => [...path, at, 'const'], fault);
  if (!sameTitles) refuseRepeats(titles, at => [...path, at, 'title'], fault);
}

/**
 * The default must be a valid value, except for a `pattern`: in the specification's only example with a pattern, it does not
 * match it. The page shows that default, and reports the fault if the user submits it unchanged.
 */
function refuseUnfitDefault(property: PropertySchema, fault: Fault): void {
  if (property.default === undefined) return;
  const code = valueFault(property, property.default);
  if (code !== undefined) fault(['default'], `is not a valid value of this property: ${code}`);
}

/** Omits absent members instead of setting them to `undefined`, so the schema stays plain JSON. */
function withoutAbsent<T extends object>(members: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const there = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(there) as { [K in keyof T]: Exclude<T[K], undefined> };
}

const TEXT_RULES = ['minLength', 'maxLength', 'pattern', 'format'] as const;

const stringPropertyOf = (rules: FormRules) =>
  z
    .strictObject({
      type: z.literal('string'),
      ...texts,
      minLength: length.optional(),
      maxLength: length.optional(),
      pattern: patternSchema
        .optional()
        .describe('Regular expression in RE2 syntax that must occur in the text; `^…$` for the whole of it.'),
      format: z.enum(stringFormats).optional(),
      enum: optionValuesOf(rules).optional(),
      enumNames: z.array(plainText(120)).max(rules.options).optional(),
      oneOf: titledOptionsOf(rules).optional(),
      default: rules.defaultText.optional(),
    })
    .superRefine((property, context) => {
      const fault = faultsInto(context);
      const { minLength = 0, maxLength = MAX_FORM_TEXT_LENGTH } = property;
      if (minLength > maxLength) fault(['minLength'], 'exceeds the maximum length');
      if (property.enum !== undefined && property.oneOf !== undefined) fault(['oneOf'], 'cannot be combined with enum');
      if (property.enumNames !== undefined && property.enumNames.length !== property.enum?.length)
        fault(['enumNames'], 'needs one name for each value of enum');
      if (property.enum !== undefined || property.oneOf !== undefined)
        for (const rule of TEXT_RULES) if (property[rule] !== undefined) fault([rule], 'has no meaning for a choice');
      refuseRepeats(property.enum ?? [], at => ['enum', at], fault);
      if (!rules.sameTitles) refuseRepeats(property.enumNames ?? [], at => ['enumNames', at], fault);
      refuseTitledRepeats(property.oneOf ?? [], rules, ['oneOf'], fault);
    });

function toTextProperty(
  members: z.output<ReturnType<typeof stringPropertyOf>>,
): TextProperty | SelectProperty | TitledSelectProperty {
  const { minLength, maxLength, pattern, format, enum: values, enumNames, oneOf, ...rest } = members;
  if (values !== undefined) return withoutAbsent({ ...rest, enum: values, enumNames });
  if (oneOf !== undefined) return withoutAbsent({ ...rest, oneOf });
  return withoutAbsent({ ...rest, minLength, maxLength, pattern, format });
}

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
  if (isEmpty) fault([range.minimum === undefined ? 'maximum' : 'minimum'], 'leaves no valid number');
}

const numberPropertySchema = z
  .strictObject({ type: z.enum(['number', 'integer']), ...numberPropertyShape })
  .superRefine((property, context) => refuseEmptyRange(property, faultsInto(context)));

const booleanPropertySchema = z.strictObject({ type: z.literal('boolean'), ...texts, default: z.boolean().optional() });

const multiSelectPropertyOf = (rules: FormRules) =>
  z
    .strictObject({
      type: z.literal('array'),
      ...texts,
      minItems: length.optional(),
      maxItems: length.optional(),
      items: z.union([
        z.strictObject({ type: z.literal('string'), enum: optionValuesOf(rules) }),
        // The types of both revisions omit `type` next to `anyOf`, where `const` makes it redundant.
        z.strictObject({ anyOf: titledOptionsOf(rules) }),
      ]),
      default: z.array(rules.defaultText).max(rules.options).optional(),
    })
    .superRefine((property, context) => {
      const fault = faultsInto(context);
      const { items, minItems = 0, maxItems = rules.options } = property;
      const options = 'enum' in items ? items.enum.length : items.anyOf.length;
      if (minItems > Math.min(maxItems, options)) fault(['minItems'], 'exceeds maxItems or the number of options');
      if ('enum' in items) refuseRepeats(items.enum, at => ['items', 'enum', at], fault);
      else refuseTitledRepeats(items.anyOf, rules, ['items', 'anyOf'], fault);
    });

// Zod before 4.1 cannot discriminate a union of transformed objects, so the transformation follows the union.
const propertyOf = (rules: FormRules) =>
  z
    .discriminatedUnion('type', [
      stringPropertyOf(rules),
      numberPropertySchema,
      booleanPropertySchema,
      multiSelectPropertyOf(rules),
    ])
    .transform(
      (members): PropertySchema => (members.type === 'string' ? toTextProperty(members) : withoutAbsent(members)),
    )
    .superRefine((property, context) => refuseUnfitDefault(property, faultsInto(context)));

/**
 * ASCII letters and digits with `_`, `.` and `-`. The name is used as form field, in fault paths, and as object member in other
 * programs. Refuses inherited members such as `__proto__` and `constructor`, which could corrupt objects of those programs.
 */
const PROPERTY_NAME = /^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/;

const propertyNameSchema = z
  .string()
  .regex(PROPERTY_NAME, { error: 'letters, digits, "_", "." and "-", at most 64, and no digit, "." or "-" first' })
  .refine(isOwnName, { error: 'names a member that every object has' });

function isOwnName(name: string): boolean {
  return !(name in Object.prototype);
}

const wholeSchemaOf = (rules: FormRules) =>
  z
    .strictObject({
      $schema: z
        .enum(['https://json-schema.org/draft/2020-12/schema', 'https://json-schema.org/draft/2020-12/schema#'])
        .optional(),
      type: z.literal('object'),
      properties: z
        .record(rules.name, propertyOf(rules))
        .refine(properties => Object.keys(properties).length <= rules.properties, {
          error: `at most ${rules.properties} properties`,
        }),
      required: z.array(rules.name).max(rules.properties).optional(),
    })
    .superRefine((schema, context) => {
      const { properties, required = [] } = schema;
      const fault = faultsInto(context);
      if (new TextEncoder().encode(JSON.stringify(schema)).byteLength > rules.bytes)
        fault([], `at most ${rules.bytes} bytes of JSON`);
      required.forEach((name, at) => {
        if (!Object.hasOwn(properties, name)) fault(['required', at], 'names no property');
      });
      refuseRepeats(required, at => ['required', at], fault);
    })
    .transform((members): RequestedSchema => withoutAbsent(members));

const wholeSchema = wholeSchemaOf({
  bytes: MAX_FORM_BYTES,
  properties: MAX_FORM_PROPERTIES,
  options: MAX_FORM_OPTIONS,
  name: propertyNameSchema,
  optionValue: pageOptionValue,
  defaultText: inertText,
  sameTitles: false,
});

export type RequestedSchemaInput = z.input<typeof wholeSchema>;

function withoutUnknownKeys(input: RequestedSchemaInput, context: Context): RequestedSchemaInput {
  for (const path of unknownKeysIn(input)) faultsInto(context)(path, "is not part of MCP's restricted schema");
  return input;
}

/** Creates the schema of forms within these rules, for a host that shows them by other means than a page. */
export const requestedSchemaWithin = (rules: FormRules) => z.preprocess(withoutUnknownKeys, wholeSchemaOf(rules));

/** Checked before the schema, which would report only the parent of an unknown key and silently drop `__proto__`. */
export const requestedSchemaSchema = z.preprocess(withoutUnknownKeys, wholeSchema).meta({
  id: 'RequestedSchema',
  description: 'A JSON Schema within the restrictions of MCP (`requestedSchema` of form mode elicitation).',
});
