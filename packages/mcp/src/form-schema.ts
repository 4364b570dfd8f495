import { type RequestedSchema, requestedSchemaSchema, stringFormats } from '@postern/api';
import { z } from 'zod';
import { PosternUsageError } from './errors.ts';

type JSONSchemaOverride = NonNullable<NonNullable<Parameters<typeof z.toJSONSchema>[1]>['override']>;

const formats: ReadonlySet<unknown> = new Set(stringFormats);

/**
 * MCP's restricted JSON Schema for a zod object of strings, numbers, booleans and choices. What a form cannot say is refused
 * here instead of being dropped, as a rule that the user cannot see. Refinements and transformations are invisible to JSON
 * Schema: they are applied to what comes back.
 *
 * @throws {PosternUsageError} `invalid_ask` naming the path
 */
export function toRequestedSchema(schema: z.ZodObject): RequestedSchema {
  let json: unknown;
  try {
    json = z.toJSONSchema(schema, { io: 'input', override: refuseFlags });
  } catch (error) {
    throw new PosternUsageError('invalid_ask', `form: ${error instanceof Error ? error.message : 'not a form'}`);
  }
  const parsed = requestedSchemaSchema.safeParse(restricted(json));
  if (parsed.success) return parsed.data;
  throw new PosternUsageError('invalid_ask', `form: ${z.prettifyError(parsed.error)}`);
}

/** JSON Schema has no flags: without them the pattern would be another rule than the handler's. */
function refuseFlags({ zodSchema, jsonSchema, path }: Parameters<JSONSchemaOverride>[0]): void {
  if (jsonSchema.pattern === undefined || formats.has(jsonSchema.format)) return;
  for (const { _zod: check } of zodSchema._zod.def.checks ?? [])
    if ('pattern' in check.def && check.def.pattern instanceof RegExp && /[ims]/.test(check.def.pattern.flags))
      throw new Error(`${path.join('.')}.pattern: a form knows no flags`);
}

type Json = Readonly<Record<string, unknown>>;

/** zod's words in MCP's, as far as they mean the same. */
function restricted(schema: unknown): unknown {
  if (!isObject(schema) || !isObject(schema['properties'])) return schema;
  // A form has no further members anyway.
  const { $schema: _, additionalProperties: __, properties, ...rest } = schema;
  return { ...rest, properties: mapValues(properties, property => choice(withoutNoise(property))) };
}

/** What zod adds to say what `format` and `integer` say already. */
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

/** A union of literals with titles is a choice of one, a list of such a union a choice of several. */
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

/** A list with one option. */
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
