import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { filledSchemas } from '../testing/schema-arbitrary.ts';
import { type FormContent, parseFormContent } from './form-content.ts';
import { contentFromFields, defaultContent, type FormFields, fieldsFromContent } from './form-fields.ts';
import type { RequestedSchema } from './property-schema.ts';
import { requestedSchemaSchema } from './requested-schema.ts';

const schemaOf = (answer: object, required: string[] = ['answer']): RequestedSchema =>
  requestedSchemaSchema.parse({ type: 'object', properties: { answer }, required });

const titled = ['a', 'b', 'c'].map(value => ({ const: value, title: value.toUpperCase() }));

describe('untrusted form content', () => {
  test.each([
    ['a text', { type: 'string' }, ['', 'a', ' a ', '👩‍👩‍👧‍👦'], [['type', 1, null, true, ['a'], {}, '\ud800']]],
    [
      'a text of some length',
      { type: 'string', minLength: 2, maxLength: 3 },
      ['ab', '👍👍👍', 'e\u0301'],
      [
        ['too_short', 'a', '👍'],
        ['too_long', 'abcd', '👍👍👍👍'],
      ],
    ],
    ['a text of any length', { type: 'string' }, ['a'.repeat(4096)], [['too_long', 'a'.repeat(4097)]]],
    ['an address', { type: 'string', format: 'email' }, ['a@b.example'], [['format', 'a', '']]],
    [
      'a number',
      { type: 'number', minimum: 0.5, maximum: 2 },
      [0.5, 1, 2],
      [
        ['minimum', 0.4, -1],
        ['maximum', 2.1],
        ['type', '1', null, Number.NaN, Number.POSITIVE_INFINITY],
      ],
    ],
    [
      'a whole number',
      { type: 'integer', minimum: 0 },
      [0, 1.0, Number.MAX_SAFE_INTEGER],
      [
        ['type', 1.5, 2 ** 53, '1', 1n],
        ['minimum', -1],
      ],
    ],
    ['yes or no', { type: 'boolean' }, [true, false], [['type', 'true', 0, null]]],
    [
      'a choice',
      { type: 'string', enum: ['a', 'b'] },
      ['a', 'b'],
      [
        ['not_an_option', 'A', '', 'toString'],
        ['type', ['a']],
      ],
    ],
    [
      'a titled choice',
      { type: 'string', oneOf: titled },
      ['a'],
      [
        ['not_an_option', 'A'],
        ['type', 1],
      ],
    ],
    [
      'several',
      { type: 'array', minItems: 1, maxItems: 2, items: { anyOf: titled } },
      [['a'], ['b', 'c']],
      [
        ['too_few', []],
        ['too_many', ['a', 'b', 'c']],
        ['not_an_option', ['x'], ['a', 'a'], [1], [['a']]],
        ['type', 'a', { 0: 'a' }, null],
      ],
    ],
  ] as const)('%s', (_name, property, accepted, refused) => {
    const schema = schemaOf(property);
    for (const answer of accepted) {
      expect(parseFormContent(schema, { answer })).toEqual({ content: { answer } });
      expect(parseFormContent(schemaOf(property, []), { answer })).toEqual({ content: { answer } });
    }
    for (const [code, ...answers] of refused) {
      for (const answer of answers) {
        expect({ answer, ...parseFormContent(schema, { answer }) }).toEqual({
          answer,
          faults: [{ path: 'answer', code }],
        });
      }
    }
  });

  test('is checked against a pattern only if the caller has a matcher', () => {
    const schema = schemaOf({ type: 'string', minLength: 2, pattern: '^(a+)+$', format: 'email' }, []);
    const matches = vi.fn((_pattern: string, text: string) => text.startsWith('a'));
    const answer = 'b@b.example';
    expect(parseFormContent(schema, { answer })).toEqual({ content: { answer } });
    expect(contentFromFields(schema, { answer })).toEqual({ content: { answer } });
    const faults = [{ path: 'answer', code: 'pattern' }];
    expect(parseFormContent(schema, { answer }, matches)).toEqual({ faults });
    expect(contentFromFields(schema, { answer }, matches)).toEqual({ faults });
    expect(matches).toHaveBeenCalledWith('^(a+)+$', answer);
    expect(parseFormContent(schema, { answer: 'a@b.example' }, matches).faults).toBeUndefined();
    // All other checks run first, so that no text above its maximum length is matched.
    matches.mockClear();
    expect(parseFormContent(schema, { answer: 'a'.repeat(5000) }, matches).faults?.[0]?.code).toBe('too_long');
    expect(contentFromFields(schema, { answer: '' }, matches)).toEqual({ content: {} });
    expect(matches).not.toHaveBeenCalled();
  });

  test('must have all required properties and may omit the others', () => {
    expect(parseFormContent(schemaOf({ type: 'string' }), {})).toEqual({
      faults: [{ path: 'answer', code: 'missing' }],
    });
    expect(parseFormContent(schemaOf({ type: 'string' }), { answer: undefined }).faults).toHaveLength(1);
    expect(parseFormContent(schemaOf({ type: 'string', default: 'a' }, []), {})).toEqual({ content: {} });
  });

  test('must not have properties outside the schema', () => {
    const schema = schemaOf({ type: 'string' }, []);
    for (const name of ['other', 'toString', 'constructor']) {
      expect(parseFormContent(schema, { [name]: 'x' })).toEqual({ faults: [{ path: name, code: 'unknown' }] });
    }
  });

  test('does not reach a prototype', () => {
    const schema = schemaOf({ type: 'string' }, []);
    const polluting = JSON.parse('{"__proto__":{"answer":"x"},"answer":"a"}');
    expect(parseFormContent(schema, polluting)).toEqual({ faults: [{ path: '__proto__', code: 'unknown' }] });
    expect(parseFormContent(schema, Object.create({ answer: 'inherited' }))).toEqual({ content: {} });
    expect(Object.hasOwn(Object.prototype, 'answer')).toBe(false);
  });

  test('an unvalidated schema cannot set a prototype either', () => {
    const properties = JSON.parse('{"__proto__":{"type":"array","items":{"type":"string","enum":["a"]}}}');
    const { content } = parseFormContent({ type: 'object', properties }, JSON.parse('{"__proto__":["a"]}'));
    expect(Object.getPrototypeOf(content)).toBe(Object.prototype);
    expect(Object.keys(content ?? {})).toEqual(['__proto__']);
  });

  test('faults never contain the typed values', () => {
    const { faults } = parseFormContent(schemaOf({ type: 'string', maxLength: 3 }), { answer: 'hunter2' });
    expect(JSON.stringify(faults)).not.toContain('hunter2');
  });
});

describe('an answer from a browser', () => {
  const read = (property: object, fields: FormFields, required: string[] = []) =>
    contentFromFields(schemaOf(property, required), fields);

  test.each([
    ['a text as it is', { type: 'string' }, ' a ', ' a '],
    ['line breaks as LF', { type: 'string' }, 'a\r\nb\r\n', 'a\nb\n'],
    ['an address without surrounding white space', { type: 'string', format: 'email' }, ' a@b.example ', 'a@b.example'],
    ['a date', { type: 'string', format: 'date' }, '2026-03-04', '2026-03-04'],
    ['a time in one', { type: 'string', format: 'date-time' }, '2026-03-04T14:30:00Z', '2026-03-04T14:30:00Z'],
    [
      'a time in two',
      { type: 'string', format: 'date-time' },
      ['2026-03-04T14:30', '+05:45'],
      '2026-03-04T14:30:00+05:45',
    ],
    [
      'a time with seconds',
      { type: 'string', format: 'date-time' },
      ['2026-03-04T14:30:15.5', 'Z'],
      '2026-03-04T14:30:15.5Z',
    ],
    ['a number', { type: 'number' }, '1.50', 1.5],
    ['a whole number', { type: 'integer' }, ' 12 ', 12],
    ['a whole number with a point', { type: 'integer' }, '12.0', 12],
    ['a ticked box', { type: 'boolean' }, 'true', true],
    ['a choice', { type: 'string', enum: ['a'] }, 'a', 'a'],
    ['one of several', { type: 'array', items: { anyOf: titled } }, 'a', ['a']],
    ['two of several', { type: 'array', items: { anyOf: titled } }, ['a', 'c'], ['a', 'c']],
  ])('%s', (_name, property, answer, value) => {
    expect(read(property, { answer })).toEqual({ content: { answer: value } });
  });

  test.each([
    ['text', { type: 'string', minLength: 2 }],
    ['address', { type: 'string', format: 'email' }],
    ['number', { type: 'number', minimum: 1 }],
    ['choice', { type: 'string', enum: ['a'] }],
    ['several', { type: 'array', minItems: 1, items: { anyOf: titled } }],
  ])('an empty %s counts as no answer', (_name, property) => {
    const unanswered: readonly FormFields[] = [{}, { answer: '' }];
    for (const fields of unanswered) {
      expect(read(property, fields)).toEqual({ content: {} });
      expect(read(property, fields, ['answer']).faults?.map(({ path }) => path)).toEqual(['answer']);
    }
  });

  test('an empty time counts as no answer, whatever its offset', () => {
    expect(read({ type: 'string', format: 'date-time' }, { answer: ['', '+01:00'] })).toEqual({ content: {} });
  });

  test('an unticked box is false', () => {
    for (const required of [[], ['answer']])
      expect(read({ type: 'boolean' }, {}, required)).toEqual({ content: { answer: false } });
  });

  test('no selection in a required list is an empty list', () => {
    expect(read({ type: 'array', items: { anyOf: titled } }, {}, ['answer'])).toEqual({ content: { answer: [] } });
    expect(read({ type: 'array', minItems: 1, items: { anyOf: titled } }, {}, ['answer'])).toEqual({
      faults: [{ path: 'answer', code: 'too_few' }],
    });
  });

  test.each([
    ['a word for a number', { type: 'number' }, 'two', 'type'],
    ['an integer beyond the safe range', { type: 'integer' }, '9007199254740993', 'type'],
    ['a fraction', { type: 'integer' }, '1.5', 'type'],
    ['two values for one property', { type: 'string' }, ['a', 'b'], 'type'],
    ['two numbers', { type: 'number' }, ['1', '2'], 'type'],
    ['a box with another value', { type: 'boolean' }, 'on', 'type'],
    ['a time without its offset', { type: 'string', format: 'date-time' }, ['2026-03-04T14:30'], 'format'],
    ['a time in three', { type: 'string', format: 'date-time' }, ['2026-03-04T14:30', 'Z', 'Z'], 'type'],
    [
      'a time with a word as its offset',
      { type: 'string', format: 'date-time' },
      ['2026-03-04T14:30', 'Berlin'],
      'format',
    ],
    ['a day that does not exist', { type: 'string', format: 'date-time' }, ['2026-02-30T14:30', 'Z'], 'format'],
    ['a value outside the list', { type: 'string', enum: ['a'] }, 'b', 'not_an_option'],
    ['a duplicate selection', { type: 'array', items: { anyOf: titled } }, ['a', 'a'], 'not_an_option'],
  ])('refuses %s', (_name, property, answer, code) => {
    for (const required of [[], ['answer']]) {
      expect(read(property, { answer }, required)).toEqual({ faults: [{ path: 'answer', code }] });
    }
  });

  test('refuses fields that are not in the schema', () => {
    expect(read({ type: 'string' }, { other: 'x' })).toEqual({ faults: [{ path: 'other', code: 'unknown' }] });
  });
});

describe('for any schema', () => {
  test('accepts generated content unchanged', () => {
    fc.assert(
      fc.property(filledSchemas(), ({ schema, content }) => {
        expect(parseFormContent(requestedSchemaSchema.parse(schema), content)).toEqual({ content });
      }),
    );
  });

  test('content survives conversion to form fields and back', () => {
    fc.assert(
      fc.property(filledSchemas(), ({ schema: input, content }) => {
        const schema = requestedSchemaSchema.parse(input);
        expect(contentFromFields(schema, fieldsFromContent(schema, content))).toEqual({
          content: asFormsHaveIt(schema, content),
        });
      }),
    );
  });

  test('its defaults are valid content', () => {
    fc.assert(
      fc.property(filledSchemas(), ({ schema: input }) => {
        const schema = { ...requestedSchemaSchema.parse(input), required: [] };
        expect(contentFromFields(schema, fieldsFromContent(schema, defaultContent(schema))).faults).toBeUndefined();
      }),
    );
  });

  test('names a missing required answer', () => {
    fc.assert(
      fc.property(filledSchemas(), ({ schema: input, content }) => {
        const schema = requestedSchemaSchema.parse(input);
        for (const name of schema.required ?? []) {
          const { [name]: _left, ...rest } = content;
          expect(parseFormContent(schema, rest)).toEqual({ faults: [{ path: name, code: 'missing' }] });
        }
      }),
    );
  });
});

/** A form sends no empty answers, and an unticked box is false. */
function asFormsHaveIt(schema: RequestedSchema, content: FormContent): FormContent {
  const entries = Object.entries(schema.properties).flatMap(([name, property]) => {
    const value = content[name] ?? (property.type === 'boolean' ? false : undefined);
    const isEmptyList = Array.isArray(value) && value.length === 0 && schema.required?.includes(name) !== true;
    return value === undefined || isEmptyList ? [] : [[name, value] as const];
  });
  return Object.fromEntries(entries);
}
