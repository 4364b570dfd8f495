import { z } from 'zod/v4';

export type Json = Record<string, unknown>;

const COMPONENTS = '#/components/schemas/';
/** Members by which a union of named objects may be told apart. */
const DISCRIMINATORS = ['kind', 'type'];

export interface OpenApiSchemas {
  /** Returns the named schemas of all schemas so far. */
  components(): Readonly<Record<string, Json>>;
  /** Returns the JSON Schema. Named schemas move to the components; all other schemas stay in place. */
  schemaOf(schema: z.ZodType, io: 'input' | 'output'): Json;
}

/**
 * Converts the schemas of the contract to those of an OpenAPI 3.1 document.
 * @param p.hasTimePatterns whether times have their pattern besides their format
 * @param p.shown a default as its description shows it
 */
export function createOpenApiSchemas(p: {
  readonly hasTimePatterns: boolean;
  readonly shown: (value: unknown) => string;
}): OpenApiSchemas {
  const components: Record<string, Json> = {};
  return {
    components() {
      for (const definition of Object.values(components)) addDiscriminator(definition, components);
      return components;
    },
    schemaOf(schema, io) {
      const text = JSON.stringify(
        z.toJSONSchema(schema, {
          io,
          target: 'draft-2020-12',
          override({ zodSchema, jsonSchema }) {
            // Later releases add members to responses.
            if (io === 'output' && zodSchema._zod.def.type === 'object') delete jsonSchema.additionalProperties;
            if (!p.hasTimePatterns && jsonSchema.format === 'date-time') delete jsonSchema.pattern;
            if (zodSchema._zod.def.type === 'default')
              describeDefault(jsonSchema, p.shown(zodSchema._zod.def.defaultValue));
          },
        }),
      ).replaceAll('#/$defs/', COMPONENTS);
      const { $schema: _, $defs = {}, ...rest } = JSON.parse(text) as Json & { $defs?: Record<string, Json> };
      for (const [name, { id: __, ...definition }] of Object.entries($defs)) {
        const known = components[name];
        if (known !== undefined && JSON.stringify(known) !== JSON.stringify(definition))
          throw new TypeError(`${name} has another schema in requests than in responses`);
        components[name] = definition;
      }
      return rest;
    },
  };
}

/**
 * Moves the default into the description. Client generators, openapi-typescript among them, take a member with the keyword `default`
 * for one that is always present, and would require it in requests.
 */
function describeDefault(schema: { default?: unknown; description?: string }, value: string): void {
  const text = `Default: \`${value}\`.`;
  schema.description = schema.description === undefined ? text : `${schema.description} ${text}`;
  delete schema.default;
}

/** Adds the discriminator (OpenAPI 3.1 section 4.8.25) to a union of named objects that differ in a constant member. */
function addDiscriminator(definition: Json, components: Readonly<Record<string, Json>>): void {
  const members = membersOf(definition);
  if (members === undefined || 'discriminator' in definition) return;
  for (const propertyName of DISCRIMINATORS) {
    const mapping = members.flatMap(ref =>
      constantsOf(ref, propertyName, components).map(value => [value, ref] as const),
    );
    const values = new Set(mapping.map(([value]) => value));
    if (values.size !== mapping.length || new Set(mapping.map(([, ref]) => ref)).size !== members.length) continue;
    definition['discriminator'] = { propertyName, mapping: Object.fromEntries(mapping) };
    return;
  }
}

/** References to the members of a union; undefined unless it is a union of named schemas. */
function membersOf(schema: Json | undefined): string[] | undefined {
  const members = (schema?.['oneOf'] ?? schema?.['anyOf']) as Json[] | undefined;
  const refs = members?.flatMap(member => (typeof member['$ref'] === 'string' ? [member['$ref']] : []));
  return refs === undefined || refs.length !== members?.length ? undefined : refs;
}

/** The values that a member has in an object, or in all objects of a union. */
function constantsOf(ref: string, property: string, components: Readonly<Record<string, Json>>): string[] {
  const schema = components[ref.slice(COMPONENTS.length)];
  const refs = membersOf(schema);
  if (refs !== undefined) return [...new Set(refs.flatMap(member => constantsOf(member, property, components)))];
  const { const: value } = (schema?.['properties'] as Record<string, Json> | undefined)?.[property] ?? {};
  return typeof value === 'string' ? [value] : [];
}
