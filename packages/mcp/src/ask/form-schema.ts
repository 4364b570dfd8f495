import { type RequestedSchema, requestedSchemaSchema, stringFormats } from '@postern/api';
import { z } from 'zod/v4';
import { type FormContentFault, PosternUsageError, parseStrictly } from '../errors.ts';

type JSONSchemaOverride = NonNullable<NonNullable<Parameters<typeof z.toJSONSchema>[1]>['override']>;

/**
 * A schema of any library that implements Standard Schema and Standard JSON Schema, such as zod 4. Declared structurally, so that
 * a handler may use another copy of zod than this package.
 */
export interface FormSchema<Input extends object = object, Output = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => Validated<Output> | Promise<Validated<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    /** Missing before zod 4.2, whose schemas this package translates itself. */
    readonly jsonSchema?: {
      readonly input: (options: {
        readonly target: 'draft-2020-12';
        readonly libraryOptions?: Record<string, unknown>;
      }) => Record<string, unknown>;
    };
  };
}

type Validated<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | {
      readonly issues: readonly {
        readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
      }[];
    };

/** The input type of the form. */
export type FormInput<Schema extends FormSchema> = NonNullable<Schema['~standard']['types']>['input'];
/** The type that the handler gets. */
export type FormOutput<Schema extends FormSchema> = NonNullable<Schema['~standard']['types']>['output'];

const formats: ReadonlySet<unknown> = new Set(stringFormats);

/**
 * Converts a schema to MCP's restricted JSON Schema for an object of strings, numbers, booleans and choices. Refuses rules that a
 * form cannot express, because the user could not see them. JSON Schema cannot express refinements and transformations, so they
 * apply to the returned content.
 *
 * @throws {PosternUsageError} `invalid_ask` naming the path
 */
export function toRequestedSchema(schema: FormSchema): RequestedSchema {
  let json: unknown;
  try {
    json = toJsonSchema(schema);
  } catch (error) {
    throw new PosternUsageError('invalid_ask', `form: ${error instanceof Error ? error.message : 'not a form'}`);
  }
  return parseStrictly('invalid_ask', 'form', requestedSchemaSchema, restricted(json));
}

const libraryPatterns: ReadonlySet<unknown> = new Set(
  Object.values(z.regexes).map(pattern => pattern instanceof RegExp && pattern.source),
);

/**
 * Whether a field has an expression of the handler's author. The gateway matches it as RE2, but the schema with JavaScript's engine,
 * which may take exponential time for a short text.
 */
export function hasPatterns(schema: FormSchema): boolean {
  if (isZod4(schema)) return holdsPattern(schema, new Set());
  const json = toJsonSchema(schema);
  const properties = isObject(json) && isObject(json['properties']) ? Object.values(json['properties']) : [];
  return properties.some(property => isObject(property) && property['pattern'] !== undefined);
}

/**
 * Looks through everything that a definition of zod refers to, whatever its type: an expression may be in no JSON Schema, such as those
 * of a URL's parts, and those behind a transformation.
 */
function holdsPattern(value: unknown, seen: Set<unknown>): boolean {
  if (typeof value !== 'object' || value === null || seen.has(value)) return false;
  seen.add(value);
  if (value instanceof RegExp) return !libraryPatterns.has(value.source);
  if (Array.isArray(value)) return value.some(each => holdsPattern(each, seen));
  if ('_zod' in value) return holdsPattern((value as z.core.$ZodType)._zod.def, seen);
  const def = value as Readonly<Record<string, unknown>>;
  // The only pattern that zod makes from options.
  if (def['format'] === 'datetime' && def['pattern'] instanceof RegExp) {
    const { source } = z.regexes.datetime(def);
    if (source === def['pattern'].source) seen.add(def['pattern']);
  }
  const lazy = def['type'] === 'lazy' && typeof def['getter'] === 'function' ? [def['getter']()] : [];
  return [...Object.values(def), ...lazy].some(each => holdsPattern(each, seen));
}

function toJsonSchema(schema: FormSchema): unknown {
  const standard: FormSchema['~standard'] | undefined = Object(schema)['~standard'];
  if (standard === undefined)
    throw new Error(
      'needs a schema: z.object({ … }) of zod 4, or one with Standard JSON Schema; not a JSON Schema, not fields alone',
    );
  const { vendor, jsonSchema } = standard;
  const options = { unrepresentable: 'any', override: refuseUnfit } as const;
  if (jsonSchema !== undefined)
    return jsonSchema.input({ target: 'draft-2020-12', ...(vendor === 'zod' ? { libraryOptions: options } : {}) });
  if (isZod4(schema)) return z.toJSONSchema(schema, { io: 'input', ...options });
  throw new Error(
    vendor === 'zod'
      ? 'a schema of zod 3 has no JSON Schema; import zod/v4'
      : `a schema of ${vendor} without Standard JSON Schema (~standard.jsonSchema)`,
  );
}

function isZod4(schema: object): schema is z.ZodType {
  return '_zod' in schema;
}

/** JSON Schema has no flags, and a pattern means something else without its flags. Names what has no JSON Schema at all. */
function refuseUnfit({ zodSchema, jsonSchema, path }: Parameters<JSONSchemaOverride>[0]): void {
  // The oldest zod has none.
  const at = ((path as typeof path | undefined) ?? []).join('.');
  if (Object.keys(jsonSchema).length === 0)
    throw new Error(`${at}: a form cannot ask for a ${zodSchema._zod.def.type}`);
  if (jsonSchema.pattern === undefined || formats.has(jsonSchema.format)) return;
  for (const { _zod: check } of zodSchema._zod.def.checks ?? [])
    if ('pattern' in check.def && check.def.pattern instanceof RegExp && /[ims]/.test(check.def.pattern.flags))
      throw new Error(`${at}.pattern: a form knows no flags`);
}

type Json = Readonly<Record<string, unknown>>;

/** Translates zod's JSON Schema into MCP's subset. */
function restricted(schema: unknown): unknown {
  if (!isObject(schema) || !isObject(schema['properties'])) return schema;
  // A form never has additional members.
  const { $schema: _, additionalProperties: __, properties, ...rest } = schema;
  return { ...rest, properties: mapValues(properties, property => choice(withoutNoise(property))) };
}

/** Removes keywords that `format` and `integer` imply. */
function withoutNoise(property: unknown): unknown {
  if (!isObject(property)) return property;
  const { pattern, minimum, maximum, ...rest } = property;
  const isInteger = rest['type'] === 'integer';
  return {
    ...rest,
    ...(pattern === undefined || formats.has(rest['format']) ? {} : { pattern }),
    ...(minimum === undefined || (isInteger && minimum === Number.MIN_SAFE_INTEGER) ? {} : { minimum }),
    ...(maximum === undefined || (isInteger && maximum === Number.MAX_SAFE_INTEGER) ? {} : { maximum }),
  };
}

/** A union of literals with titles is a single choice; a list of such a union is a multiple choice. */
function choice(property: unknown): unknown {
  if (!isObject(property)) return property;
  const { anyOf, items, ...rest } = property;
  const options = titledOptions(anyOf);
  if (options !== undefined) return { ...rest, type: 'string', oneOf: options };
  const single = singleOption(rest);
  if (single !== undefined) return single;
  if (!isObject(items)) return property;
  const itemOptions = titledOptions(items['anyOf']);
  if (itemOptions !== undefined) return { ...property, items: { anyOf: itemOptions } };
  return { ...property, items: singleOption(items) ?? items };
}

function titledOptions(anyOf: unknown): { const: unknown; title: unknown }[] | undefined {
  if (!Array.isArray(anyOf) || !anyOf.every(isStringConst)) return undefined;
  return anyOf.map(option => ({ const: option['const'], title: option['title'] ?? option['const'] }));
}

/** Turns a single `const` into an `enum`. */
function singleOption(schema: Json): Json | undefined {
  if (!isStringConst(schema)) return undefined;
  const { const: only, ...rest } = schema;
  return { ...rest, enum: [only] };
}

function isStringConst(schema: unknown): schema is Json {
  return isObject(schema) && schema['type'] === 'string' && typeof schema['const'] === 'string';
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function mapValues(object: Json, change: (value: unknown) => unknown): Json {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value)]));
}

/** The first revision with titled options in `oneOf`, and with a choice of several (SEP-1330). Revisions are dates, so they compare as text. */
const CHOICES_REVISION = '2025-11-25';

/** The schema as an MCP client of this revision knows it, if any. Undefined: the newest one. */
export function schemaFor(revision: string | undefined, schema: RequestedSchema): RequestedSchema | undefined {
  if (revision === undefined || revision >= CHOICES_REVISION) return schema;
  const { properties } = schema;
  if (Object.values(properties).some(({ type }) => type === 'array')) return undefined;
  const older = Object.entries(properties).map(([name, property]) => [name, withNames(property)] as const);
  return { ...schema, properties: Object.fromEntries(older) };
}

function withNames(property: RequestedSchema['properties'][string]): RequestedSchema['properties'][string] {
  if (!('oneOf' in property)) return property;
  const { oneOf, ...rest } = property;
  return { ...rest, enum: oneOf.map(option => option.const), enumNames: oneOf.map(({ title }) => title) };
}

export type Checked<Value> = { readonly value: Value } | { readonly faults: readonly FormContentFault[] };

/** Validates content with the handler's schema, which may be stricter than the form that the user saw. */
export async function validated<Schema extends FormSchema>(
  schema: Schema,
  content: unknown,
): Promise<Checked<FormOutput<Schema>>> {
  const result = await schema['~standard'].validate(content);
  if (result.issues === undefined) return { value: result.value };
  const members = result.issues.map(({ path: [member = ''] = [] }) =>
    String(typeof member === 'object' ? member.key : member),
  );
  return { faults: [...new Set(members)].map(path => ({ path, code: 'refused' })) };
}
