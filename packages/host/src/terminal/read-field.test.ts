import type { PropertySchema } from '@postern/api';
import { describe, expect, test } from 'vitest';
import { kindText } from './field-text.ts';
import { type FieldReading, readField } from './read-field.ts';

const value = (of: unknown): FieldReading => ({ type: 'value', value: of as string });
const absent: FieldReading = { type: 'absent' };
const fault = 'fault';
const colour: PropertySchema = {
  type: 'string',
  oneOf: [
    { const: '#f00', title: 'Red' },
    { const: '#0f0', title: 'Green' },
  ],
};
const places: PropertySchema = { type: 'string', enum: ['2', '1'] };
const tags: PropertySchema = {
  type: 'array',
  minItems: 1,
  maxItems: 2,
  items: { type: 'string', enum: ['bug', 'docs', 'ui'] },
};

describe('readField', () => {
  test.each<[PropertySchema, string, boolean, FieldReading | 'fault']>([
    [{ type: 'string' }, 'hello', true, value('hello')],
    [{ type: 'string' }, '', true, fault],
    [{ type: 'string' }, '', false, absent],
    [{ type: 'string', default: 'x' }, '', true, value('x')],
    [{ type: 'string', default: 'x' }, ':skip', false, absent],
    [{ type: 'string', default: 'x' }, ':skip', true, fault],
    [{ type: 'string' }, '::cancel', true, value(':cancel')],
    [{ type: 'string', minLength: 3 }, 'ab', true, fault],
    [{ type: 'string', format: 'email' }, 'not an address', true, fault],
    [{ type: 'string', format: 'date' }, '2026-02-31', true, fault],
    [{ type: 'string', format: 'date' }, '2026-02-28', true, value('2026-02-28')],
    [{ type: 'integer' }, '12', true, value(12)],
    [{ type: 'integer' }, '1.5', true, fault],
    [{ type: 'integer', minimum: 5 }, '4', true, fault],
    [{ type: 'number' }, '-1.5e2', true, value(-150)],
    [{ type: 'number' }, '0x10', true, fault],
    [{ type: 'number' }, 'Infinity', true, fault],
    [{ type: 'number' }, '1e999', true, fault],
    [{ type: 'boolean' }, 'Yes', true, value(true)],
    [{ type: 'boolean' }, 'n', true, value(false)],
    [{ type: 'boolean' }, 'maybe', true, fault],
    [{ type: 'boolean', default: true }, '', false, value(true)],
    [colour, '2', true, value('#0f0')],
    [colour, 'Red', true, value('#f00')],
    [colour, '3', true, fault],
    [colour, '0', true, fault],
    [places, '1', true, value('2')],
    [tags, '1, 3', true, value(['bug', 'ui'])],
    [tags, '1 1', true, value(['bug'])],
    [tags, '1,2,3', true, fault],
    [tags, '4', true, fault],
    [tags, ':skip', true, fault],
    [tags, ':skip', false, absent],
    [{ ...tags, minItems: 0, default: ['bug'] }, ':skip', true, value([])],
  ])('%j with %j (required: %s)', (property, line, isRequired, expected) => {
    const reading = readField({ name: '__proto__x', property, isRequired }, line);
    if (expected === fault) expect(reading.type).toBe('fault');
    else expect(reading).toEqual(expected);
  });

  test('shows a pattern and leaves its check to the MCP server', () => {
    const property = { type: 'string', pattern: '^(a+)+$', maxLength: 30 } as const;
    expect(kindText(property)).toContain('^(a+)+$');
    expect(readField({ name: 'code', property, isRequired: true }, `${'a'.repeat(29)}!`).type).toBe('value');
  });
});
