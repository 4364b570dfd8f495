import { describe, expect, test } from 'vitest';
import * as z3 from 'zod/v3';
import { z } from 'zod/v4';
import { formSpec } from './form.ts';
import { type FormSchema, hasPatterns, toRequestedSchema, validated } from './form-schema.ts';

const invalid = expect.objectContaining({ code: 'invalid_ask' });

test.each<[string, z.ZodType, object]>([
  [
    'text',
    z.string().min(1).max(40).describe('Where to').meta({ title: 'Branch' }),
    {
      type: 'string',
      minLength: 1,
      maxLength: 40,
      title: 'Branch',
      description: 'Where to',
    },
  ],
  ['text of a pattern', z.string().regex(/^a+$/), { type: 'string', pattern: '^a+$' }],
  ['e-mail', z.email(), { type: 'string', format: 'email' }],
  ['address', z.url(), { type: 'string', format: 'uri' }],
  ['date', z.iso.date(), { type: 'string', format: 'date' }],
  ['time', z.iso.datetime(), { type: 'string', format: 'date-time' }],
  ['number', z.number().min(0.5).max(9), { type: 'number', minimum: 0.5, maximum: 9 }],
  ['integer', z.int(), { type: 'integer' }],
  ['integer in a range', z.int().min(1).max(9), { type: 'integer', minimum: 1, maximum: 9 }],
  ['boolean', z.boolean(), { type: 'boolean' }],
  ['one of a list', z.enum(['a', 'b']), { type: 'string', enum: ['a', 'b'] }],
  ['one of one', z.literal('a'), { type: 'string', enum: ['a'] }],
  ['literals', z.literal(['a', 'b']), { type: 'string', enum: ['a', 'b'] }],
  [
    'one of a list with titles',
    z.union([z.literal('a').meta({ title: 'First' }), z.literal('b')]),
    {
      type: 'string',
      oneOf: [
        { const: 'a', title: 'First' },
        { const: 'b', title: 'b' },
      ],
    },
  ],
  [
    'several of a list',
    z
      .array(z.enum(['a', 'b']))
      .min(1)
      .max(2),
    {
      type: 'array',
      items: { type: 'string', enum: ['a', 'b'] },
      minItems: 1,
      maxItems: 2,
    },
  ],
  [
    'several of a list with titles',
    z.array(z.union([z.literal('a').meta({ title: 'First' }), z.literal('b')])),
    {
      type: 'array',
      items: {
        anyOf: [
          { const: 'a', title: 'First' },
          { const: 'b', title: 'b' },
        ],
      },
    },
  ],
])('%s', (_name, field, property) => {
  expect(toRequestedSchema(z.object({ field }))).toEqual({
    type: 'object',
    properties: { field: property },
    required: ['field'],
  });
});

test.each<[boolean, z.ZodType]>([
  [true, z.string().regex(/^a+$/)],
  [true, z.string().regex(/^a+$/).optional()],
  [true, z.string().startsWith('a')],
  [true, z.email({ pattern: /^(a+)+$/ })],
  [true, z.url({ hostname: /^(a+)+$/ })],
  [true, z.lazy(() => z.url({ hostname: /^(a+)+$/ }))],
  [true, z.preprocess(String, z.string().regex(/^a+$/).optional())],
  [true, z.string().pipe(z.union([z.string().regex(/^a+$/), z.literal('x')]))],
  [true, z.string().pipe(z.intersection(z.string().regex(/^a+$/), z.string()))],
  [true, z.string().pipe(z.stringFormat('slug', /^(a+)+$/))],
  [true, z.string().pipe(z.templateLiteral(['a', z.string().regex(/^(a+)+$/)]))],
  [true, z.string().regex(/^a+$/).catch('a')],
  [true, z.iso.datetime({ pattern: /^(a+)+$/ } as object)],
  [false, z.string().trim().transform(Number).pipe(z.number())],
  [false, z.lazy(() => z.string())],
  [false, z.stringbool()],
  [false, z.email()],
  [false, z.email({ pattern: z.regexes.unicodeEmail })],
  [false, z.url()],
  [false, z.iso.date()],
  [false, z.iso.datetime({ offset: true, precision: 0 })],
  [false, z.string().max(9)],
  [false, z.enum(['a', 'b'])],
])('an expression of the author counts as a pattern, one of zod does not: %s, case %#', (expected, field) => {
  expect(hasPatterns(z.object({ field }))).toBe(expected);
  expect(hasPatterns(z.object({ field: z.any() }).pipe(z.object({ field })))).toBe(expected);
});

test('optional fields and fields with a default may be omitted', () => {
  const schema = z.object({
    a: z.string().optional(),
    b: z.boolean().default(true),
    c: z.enum(['x', 'y']).default('y'),
  });
  expect(toRequestedSchema(schema)).toEqual({
    type: 'object',
    properties: {
      a: { type: 'string' },
      b: { type: 'boolean', default: true },
      c: { type: 'string', enum: ['x', 'y'], default: 'y' },
    },
  });
});

describe('refuses a schema that a form cannot express before anything is sent', () => {
  test.each<[string, z.ZodType]>([
    ['an object', z.object({ inner: z.string() })],
    ['a list of texts', z.array(z.string())],
    ['a list of objects', z.array(z.object({ inner: z.string() }))],
    ['null', z.string().nullable()],
    ['a pattern with a flag', z.string().regex(/^a+$/i)],
    ['two patterns', z.string().regex(/a/).regex(/b/)],
    ['a pattern beyond what a form takes', z.string().regex(new RegExp('a'.repeat(201)))],
    ['an exclusive bound', z.number().gt(3)],
    ['a multiple', z.number().multipleOf(2)],
    ['a format of its own', z.uuid()],
    ['a date of JavaScript', z.date()],
    ['a record', z.record(z.string(), z.string())],
    ['a mixed union', z.union([z.string(), z.number()])],
    ['anything', z.any()],
  ])('%s', (_name, field) => {
    expect(() => toRequestedSchema(z.object({ field }))).toThrow(invalid);
  });

  test('refuses such a schema with the path of the fault', () => {
    const schema = z.object({ good: z.string(), bad: z.string().regex(/a/i) });
    expect(() => toRequestedSchema(schema)).toThrow(/properties.*bad.*pattern/s);
  });

  test.each([
    [{ texts: { a: { title: 'Your password' } } }, true],
    [{ texts: { a: { title: { en: 'Name', de: 'Kennwort' } } } }, true],
    [{ texts: { a: { description: 'Eine PIN' } } }, true],
    [{ texts: { a: { title: { en: 'Name', de: 'Name' } } } }, false],
  ])('S221: looks for secrets in every text that is shown: %j', (options, isForPage) => {
    expect(formSpec(z.object({ a: z.string() }), options)).toMatchObject({ isForPage });
  });

  test('refuses a secret field that is not text', () => {
    expect(() => formSpec(z.object({ a: z.boolean() }), { secretFields: ['a'] })).toThrow(invalid);
    expect(() => formSpec(z.object({ a: z.string() }), { secretFields: ['b'] })).toThrow(invalid);
  });
});

describe('schemas of other libraries', () => {
  const branch = { type: 'object', properties: { branch: { type: 'string', maxLength: 40 } }, required: ['branch'] };
  const schemaOf = (standard: Partial<FormSchema['~standard']>): FormSchema => ({
    '~standard': { version: 1, vendor: 'other', validate: value => ({ value }), ...standard },
  });

  test.each([
    [false, {}],
    [true, { format: 'uri', pattern: '^(a+)+$' }],
  ])('any pattern counts, since none is known: %s', (expected, rules) => {
    const properties = { branch: { type: 'string', ...rules } };
    const jsonSchema = { input: () => ({ type: 'object', properties }) };
    expect(hasPatterns(schemaOf({ jsonSchema }))).toBe(expected);
  });

  test("uses the library's JSON Schema of the input", () => {
    const schema = schemaOf({
      jsonSchema: {
        input: ({ target }) => ({
          $schema: `https://json-schema.org/${target.replace('-2020', '/2020')}/schema`,
          ...branch,
        }),
      },
    });
    expect(toRequestedSchema(schema)).toEqual(branch);
  });

  test('refuses a library without JSON Schema, and zod 3', () => {
    expect(() => toRequestedSchema(schemaOf({}))).toThrow(invalid);
    expect(() => toRequestedSchema(z3.object({ branch: z3.string() }))).toThrow(invalid);
  });

  test('translates schemas of zod before 4.2, which has no JSON Schema', () => {
    const { jsonSchema: _, ...standard } = z.object({})['~standard'];
    const schema = z.object({ branch: z.string().max(40) });
    expect(toRequestedSchema(Object.assign(Object.create(schema), { '~standard': standard }))).toEqual(branch);
  });

  test('waits for an asynchronous check, and names each refused member once', async () => {
    const issues = [{ path: ['branch'] }, { path: [{ key: 'branch' }, 0] }, {}];
    const schema = schemaOf({ validate: async value => (value === 'good' ? { value: 'better' } : { issues }) });
    expect(await validated(schema, 'good')).toEqual({ value: 'better' });
    expect(await validated(schema, 'bad')).toEqual({
      faults: [
        { path: 'branch', code: 'refused' },
        { path: '', code: 'refused' },
      ],
    });
  });
});
