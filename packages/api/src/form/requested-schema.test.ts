import { describe, expect, test } from 'vitest';
import { z } from 'zod/v4';
import { acceptedSchemas, refusedSchemas } from '../testing/schema-corpus.ts';
import { parseFormContent } from './form-content.ts';
import { defaultContent } from './form-fields.ts';
import { formRequestSchema } from './form-request.ts';
import type { RequestedSchema } from './property-schema.ts';
import { requestedSchemaSchema } from './requested-schema.ts';

const parse = (schema: unknown): RequestedSchema => requestedSchemaSchema.parse(schema);

describe("MCP's restricted schema", () => {
  test.each(Object.entries(acceptedSchemas))('accepts %s unchanged', (_name, schema) => {
    expect(JSON.parse(JSON.stringify(parse(schema)))).toEqual(schema);
  });

  test.each(refusedSchemas)('refuses %s at %j', (_name, path, schema) => {
    const result = requestedSchemaSchema.safeParse(schema);
    expect(result.success).toBe(false);
    const paths = result.error?.issues.map(issue => issue.path.join('.')) ?? [];
    expect(paths[0]).toBe(path);
  });

  test('is plain JSON without undefined members', () => {
    const property = parse({ type: 'object', properties: { a: { type: 'string' } } }).properties['a'];
    expect(Object.keys(property ?? {})).toEqual(['type']);
  });

  test('normalises texts for users, and keeps values unchanged', () => {
    const decomposed = 'Cafe\u0301';
    const schema = parse({
      type: 'object',
      properties: { a: { type: 'string', title: decomposed, enum: [decomposed] } },
    });
    expect(schema.properties['a']).toEqual({ type: 'string', title: 'Café', enum: [decomposed] });
  });

  test('its defaults are valid content', () => {
    for (const accepted of Object.values(acceptedSchemas)) {
      const schema = { ...parse(accepted), required: [] };
      expect(parseFormContent(schema, defaultContent(schema)).faults).toBeUndefined();
    }
  });

  test('names all unknown members at once', () => {
    const result = requestedSchemaSchema.safeParse({
      type: 'object',
      $id: 'x',
      properties: { a: { type: 'string', const: 'x' }, b: { type: 'array', items: { $ref: 'x' } } },
    });
    expect(result.error?.issues.map(issue => issue.path.join('.'))).toEqual([
      '$id',
      'properties.a.const',
      'properties.b.items.$ref',
    ]);
  });

  test('S73: takes three lists of all countries, and no more than 32 KiB', () => {
    const country = (at: number) => ({ const: String(at).padStart(3, '0'), title: `Country ${at} ${'x'.repeat(12)}` });
    const list = { type: 'string', title: 'Where', oneOf: Array.from({ length: 195 }, (_, at) => country(at)) };
    const schemaOf = (...names: string[]) => ({
      type: 'object',
      properties: Object.fromEntries(names.map(name => [name, list])),
    });
    expect(requestedSchemaSchema.safeParse(schemaOf('a', 'b', 'c')).success).toBe(true);
    expect(requestedSchemaSchema.safeParse(schemaOf('a', 'b', 'c', 'd')).success).toBe(false);
    const text = { type: 'string', enum: Array.from({ length: 250 }, (_, at) => `${at}${'é'.repeat(70)}`) };
    expect(requestedSchemaSchema.safeParse({ type: 'object', properties: { text } }).success).toBe(false);
  });

  test('describes itself for the OpenAPI document', () => {
    const { $defs } = z.toJSONSchema(requestedSchemaSchema, { io: 'input' });
    expect($defs?.['RequestedSchema']).toMatchObject({
      type: 'object',
      required: ['type', 'properties'],
      additionalProperties: false,
    });
  });
});

describe('secret fields of a form', () => {
  const requestedSchema = {
    type: 'object',
    properties: { pin: { type: 'string' }, count: { type: 'integer' }, plan: { type: 'string', enum: ['a'] } },
  } as const;

  test('name texts', () => {
    expect(formRequestSchema.parse({ requestedSchema, secretFields: ['pin'] }).secretFields).toEqual(['pin']);
  });

  test.each(['count', 'plan', 'other', 'toString', '__proto__'])('cannot name %s', name => {
    const result = formRequestSchema.safeParse({ requestedSchema, secretFields: [name] });
    expect(result.error?.issues.map(issue => issue.path.join('.'))).toEqual(['secretFields.0']);
  });
});
