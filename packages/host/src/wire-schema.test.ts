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

  test.each([
    ['nested objects', form({ a: form({ b: { type: 'string' } }) }), 'properties.a'],
    ['arrays of objects', form({ a: { type: 'array', items: form({}) } }), 'properties.a'],
    ['references', form({ a: { $ref: '#/x' } }), 'properties.a'],
    ['unknown types', form({ a: { type: 'null' } }), 'properties.a'],
    ['unknown keywords', form({ a: { type: 'string', not: {} } }), 'properties.a'],
    ['other roots', { type: 'array' }, 'type'],
    ['nothing', undefined, 'requestedSchema'],
  ])('is refused with %s', (_name, wire, path) => {
    expect(() => parseRequestedSchema(wire)).toThrow(
      expect.objectContaining({ code: 'invalid_request', message: expect.stringContaining(path) }),
    );
  });
});
