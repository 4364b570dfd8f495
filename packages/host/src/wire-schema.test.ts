import { describe, expect, test } from 'vitest';
import { parseRequestedSchema } from './wire-schema.ts';

const form = (properties: Record<string, unknown>, rest: object = {}) => ({ type: 'object', properties, ...rest });

describe('a form of an MCP server', () => {
  test('stays unchanged within the restricted schema', () => {
    const schema = form({
      name: { type: 'string', default: 'x' },
      tags: { type: 'array', items: { type: 'string', enum: ['a'] } },
    });
    expect(parseRequestedSchema(schema)).toEqual(schema);
  });

  test('loses annotations, and its texts become inert', () => {
    const wire = form(
      {
        code: { type: 'string', pattern: '^[A-Z]{2}$' },
        long: { type: 'string', pattern: 'a'.repeat(201) },
        none: { type: 'string', pattern: 7 },
        hidden: { type: 'string', pattern: 'a\u202e' },
        one: { type: 'string', enum: ['a'], pattern: 'a' },
        many: { type: 'integer', pattern: '1' },
        name: {
          type: 'string',
          format: 'hostname',
          examples: ['x'],
          title: 'A\u001b[31m\nname\u202e',
          default: 'y',
        },
        colour: { type: 'string', oneOf: [{ const: 'r', title: 'Re\u200bd' }] },
        tags: { type: 'array', items: { anyOf: [{ const: 't', title: 'T\n1' }] } },
        old: { type: 'string', enum: ['o'], enumNames: ['O\u0007ld'], description: '\u0000' },
      },
      { $schema: 'https://json-schema.org/draft/2020-12/schema', title: 'Form', additionalProperties: false },
    );
    expect(parseRequestedSchema(wire)).toEqual(
      form({
        code: { type: 'string', pattern: '^[A-Z]{2}$' },
        long: { type: 'string' },
        none: { type: 'string' },
        hidden: { type: 'string' },
        one: { type: 'string', enum: ['a'] },
        many: { type: 'integer' },
        name: { type: 'string', title: 'A name', default: 'y' },
        colour: { type: 'string', oneOf: [{ const: 'r', title: 'Red' }] },
        tags: { type: 'array', items: { anyOf: [{ const: 't', title: 'T 1' }] } },
        old: { type: 'string', enum: ['o'], enumNames: ['Old'] },
      }),
    );
  });

  test('drops a default that violates its own schema', () => {
    const wire = form({
      age: { type: 'integer', minimum: 18, default: 3 },
      name: { type: 'string', minLength: 1, default: '' },
    });
    expect(parseRequestedSchema(wire)).toEqual(
      form({ age: { type: 'integer', minimum: 18 }, name: { type: 'string', minLength: 1 } }),
    );
  });

  test('loses an invalid default of several values, and only the default', () => {
    const items = { type: 'string', enum: ['a'] };
    const wire = form({
      tags: { type: 'array', items, default: ['a', 1] },
      other: { type: 'array', items, default: ['b'] },
    });
    expect(parseRequestedSchema(wire)).toEqual(
      form({ tags: { type: 'array', items }, other: { type: 'array', items } }),
    );
  });

  test('S231: may have as many invalid defaults as properties', () => {
    const fields = (field: object) =>
      form(Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`f${at}`, field])));
    const field = { type: 'string', maxLength: 1 };
    expect(parseRequestedSchema(fields({ ...field, default: 'xx' }))).toEqual(fields(field));
  });

  test('S231: is refused with too many properties before any of them is read', () => {
    let reads = 0;
    const properties = {};
    for (let at = 0; at < 9_500; at += 1)
      Object.defineProperty(properties, `f${at}`, { enumerable: true, get: () => reads++ });
    expect(() => parseRequestedSchema(form(properties))).toThrow(
      expect.objectContaining({ code: 'invalid_request', message: expect.stringContaining('200 properties') }),
    );
    expect(reads).toBe(0);
  });

  test.each([
    ['values', { type: 'string', enum: ['a', ...Array(4_000).keys()] }],
    ['titled values', { type: 'string', oneOf: Array.from({ length: 4_000 }, (_, at) => ({ const: at })) }],
  ])('S231: is refused for the first of many wrong %s', (_name, property) => {
    const properties = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`f${at}`, property]));
    const outcome = () => parseRequestedSchema(form(properties));
    expect(outcome).toThrow(expect.objectContaining({ code: 'invalid_request' }));
    expect(outcome).toThrow(expect.objectContaining({ message: expect.not.stringMatching(/f0\.(?:enum|oneOf)\.1\b/) }));
  });

  test.each<[string, object, object?]>([
    [
      'any names',
      {
        'first name': { type: 'string' },
        Größe: { type: 'integer' },
        '1': { type: 'boolean' },
        '': { type: 'string' },
      },
    ],
    ['a name of every object', { constructor: { type: 'string' }, toString: { type: 'string' } }],
    ['25 fields', Object.fromEntries(Array.from({ length: 25 }, (_, at) => [`f${at}`, { type: 'string' }]))],
    ['300 options', { a: { type: 'string', enum: Array.from({ length: 300 }, (_, at) => `${at}`) } }],
    ['an empty option', { a: { type: 'string', enum: ['', 'a'], default: '' } }],
    ['a long option, and one over several lines', { a: { type: 'string', enum: ['a'.repeat(500), 'a\nb'] } }],
    [
      'titles that repeat',
      {
        a: {
          type: 'string',
          oneOf: [
            { const: '1', title: 'A' },
            { const: '2', title: 'A' },
          ],
        },
      },
    ],
    [
      'several of titled options',
      { a: { type: 'array', items: { anyOf: [{ const: '', title: 'None' }] }, default: [''] } },
    ],
    [
      'several of options',
      { a: { type: 'array', minItems: 1, maxItems: 1, items: { type: 'string', enum: ['a', ''] } } },
    ],
    [
      'an option without a title',
      {
        a: {
          type: 'string',
          oneOf: [
            { const: 'a', title: '' },
            { const: '', title: '' },
          ],
        },
      },
      {
        a: {
          type: 'string',
          oneOf: [
            { const: 'a', title: 'a' },
            { const: '', title: '(empty)' },
          ],
        },
      },
    ],
    ['repeated options', { a: { type: 'string', enum: ['a', 'a'] } }, { a: { type: 'string', enum: ['a'] } }],
    [
      'names for some options',
      { a: { type: 'string', enum: ['a', 'b'], enumNames: ['A'] } },
      { a: { type: 'string', enum: ['a', 'b'] } },
    ],
    [
      'a length of a choice',
      { a: { type: 'string', enum: ['a'], maxLength: 9 } },
      { a: { type: 'string', enum: ['a'] } },
    ],
    [
      'a type beside titled options',
      { a: { type: 'array', items: { type: 'string', anyOf: [{ const: 'a', title: 'A' }] } } },
      { a: { type: 'array', items: { anyOf: [{ const: 'a', title: 'A' }] } } },
    ],
  ])('may have %s', (_name, properties, shown = properties) => {
    const parsed = () => parseRequestedSchema(form({ ...properties }));
    expect(parsed).not.toThrow();
    expect(parsed()).toEqual(form({ ...shown }));
  });

  test('may require properties of any name, once and if they exist', () => {
    const properties = { 'first name': { type: 'string' } };
    expect(parseRequestedSchema(form(properties, { required: ['first name', 'first name', 'other'] }))).toEqual(
      form(properties, { required: ['first name'] }),
    );
  });

  test.each([
    ['fields', form(Object.fromEntries(Array.from({ length: 201 }, (_, at) => [`f${at}`, { type: 'string' }])))],
    ['bytes', form({ a: { type: 'string', enum: ['a'.repeat(512 * 1024)] } })],
    ['options', form({ a: { type: 'string', enum: Array.from({ length: 5_001 }, (_, at) => `${at}`) } })],
  ])('is refused with too many %s', (_name, wire) => {
    expect(() => parseRequestedSchema(wire)).toThrow(expect.objectContaining({ code: 'invalid_request' }));
  });

  test.each([
    ['nested objects', form({ a: form({ b: { type: 'string' } }) }), 'properties.a'],
    ['arrays of objects', form({ a: { type: 'array', items: form({}) } }), 'properties.a'],
    ['references', form({ a: { $ref: '#/x' } }), 'properties.a'],
    ['unknown types', form({ a: { type: 'null' } }), 'properties.a'],
    ['unknown keywords', form({ a: { type: 'string', not: {} } }), 'properties.a'],
    ['a property named default that is none', form({ default: { type: 'null' } }), 'properties.default'],
    ['other roots', { type: 'array' }, 'type'],
    ['nothing', undefined, 'requestedSchema'],
  ])('is refused with %s', (_name, wire, path) => {
    expect(() => parseRequestedSchema(wire)).toThrow(
      expect.objectContaining({ code: 'invalid_request', message: expect.stringContaining(path) }),
    );
  });
});
