import { providerConfigSchema, providerJsonSchema } from '@postern/authorization';
import { z } from 'zod';
import { configSchema } from './config-schema.ts';
import { REFERENCE_PATTERN } from './references.ts';

/** Location of the published schema. */
export const configJsonSchemaUrl = new URL('../../../postern.config.schema.json', import.meta.url);

type JsonSchema = Readonly<Record<string, unknown>>;

/** Keywords that hold subschemas. Without `if` and `not`, which test values rather than allow them. */
const nested: ReadonlySet<string> = new Set(['items', 'additionalProperties', 'contains', 'then', 'else']);
const nestedLists: ReadonlySet<string> = new Set(['anyOf', 'allOf', 'oneOf']);
const constraints = ['pattern', 'format', 'maxLength', 'enum', 'const', 'not'];

/** Returns the JSON Schema of `postern.config.yaml` for editors, which describes the file before its references are resolved. */
function configJsonSchema(): JsonSchema {
  const schema = z.toJSONSchema(configSchema, {
    io: 'input',
    target: 'draft-2020-12',
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      const { properties } = jsonSchema;
      if (zodSchema === providerConfigSchema && isSchemas(properties))
        Object.assign(jsonSchema, providerJsonSchema({ ...jsonSchema, properties }));
      // A reference may become either tag of a discriminated union.
      if (zodSchema._zod.def.type === 'union' && jsonSchema.oneOf !== undefined) {
        jsonSchema.anyOf = jsonSchema.oneOf;
        delete jsonSchema.oneOf;
      }
      // Some validators check `format` more strictly than the gateway does. The patterns suffice.
      delete jsonSchema.format;
    },
  });
  return {
    ...withReferences(z.record(z.string(), z.unknown()).parse(schema)),
    $defs: {
      reference: {
        description:
          'The gateway replaces ${env:NAME} with that environment variable, and ${file:path} with the trimmed content of that file.',
        type: 'string',
        pattern: REFERENCE_PATTERN,
      },
    },
  };
}

/** Returns the schema as published. */
export function configJsonSchemaText(): string {
  return `${JSON.stringify(configJsonSchema(), undefined, 2)}\n`;
}

/** Allows a reference wherever the schema expects a number or a constrained string. */
function withReferences(schema: JsonSchema): JsonSchema {
  const visited = Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [keyword, visit(keyword, value)]),
  );
  const { description, default: fallback, ...rest } = visited;
  const isCheckedText = rest['type'] === 'string' && constraints.some(keyword => keyword in rest);
  if (!isCheckedText && rest['type'] !== 'integer' && rest['type'] !== 'number') return visited;
  return {
    description,
    default: fallback,
    anyOf: [rest, { $ref: '#/$defs/reference' }],
  };
}

function visit(keyword: string, value: unknown): unknown {
  if (nested.has(keyword) && isSchema(value)) return withReferences(value);
  if (nestedLists.has(keyword) && Array.isArray(value))
    return value.map(item => (isSchema(item) ? withReferences(item) : item));
  if (keyword === 'properties' && isSchemas(value))
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withReferences(item)]));
  return value;
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isSchemas(value: unknown): value is Readonly<Record<string, JsonSchema>> {
  return isSchema(value) && Object.values(value).every(isSchema);
}
