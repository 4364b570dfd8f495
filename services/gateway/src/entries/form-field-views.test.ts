import { requestedSchemaSchema } from '@postern/api/form';
import { describe, expect, test, vi } from 'vitest';
import { formFieldViews, readFormEntry } from './form-field-views.ts';

const schema = requestedSchemaSchema.parse({
  type: 'object',
  properties: {
    name: { type: 'string', pattern: '^a+$' },
    code: { type: 'string', pattern: '^b+$' },
    amount: { type: 'number' },
    day: { type: 'string', format: 'date', pattern: '^c+$' },
  },
  required: ['name'],
});

describe('a form entry', () => {
  const fields = { name: 'aa', code: 'c', amount: '1.500', day: 'never' };

  test('reports each fault, and matches no text that has another fault', async () => {
    const matches = vi.fn(async (pattern: string, text: string) => pattern === '^a+$' && text === 'aa');
    const { content, faults } = await readFormEntry(schema, fields, matches);
    expect(content).toBeUndefined();
    expect(faults).toEqual([
      { path: 'amount', code: 'ambiguous' },
      { path: 'code', code: 'pattern' },
      { path: 'day', code: 'format' },
    ]);
    expect(matches.mock.calls).toEqual([
      ['^a+$', 'aa'],
      ['^b+$', 'c'],
    ]);
  });

  test('S197: is not accepted if a pattern could not be checked, and the page keeps what was typed', async () => {
    const typed = { name: 'aa', code: 'bb' };
    const { content, faults } = await readFormEntry(schema, typed, async pattern => pattern === '^a+$' || 'unchecked');
    expect(content).toBeUndefined();
    expect(faults).toEqual([{ path: 'code', code: 'unchecked' }]);
    const views = formFieldViews(schema, [], { fields: typed, faults }, { locale: 'en', texts: {} });
    expect(views.slice(0, 2)).toMatchObject([{ value: 'aa' }, { value: 'bb', fault: 'unchecked' }]);
    expect(views[0]?.fault).toBeUndefined();
  });
});

describe('a form of one required boolean', () => {
  const yesNo = requestedSchemaSchema.parse({
    type: 'object',
    properties: { value: { type: 'boolean', default: true } },
    required: ['value'],
  });
  const never = async () => false;

  test('has a button for each answer, and neither of them is preset', () => {
    const views = formFieldViews(yesNo, [], undefined, { locale: 'en', texts: {} });
    expect(views).toEqual([{ control: 'yes-no', name: 'value', label: 'value', required: true }]);
  });

  test.each([
    [{ value: 'true' }, { content: { value: true }, faults: [] }],
    [{ value: 'false' }, { content: { value: false }, faults: [] }],
    [{}, { faults: [{ path: 'value', code: 'missing' }] }],
  ])('%j is an answer only with a pressed button', async (fields, expected) => {
    expect(await readFormEntry(yesNo, fields, never)).toEqual(expected);
  });

  test.each([
    ['optional', { properties: yesNo.properties }],
    ['one of two', { properties: { ...yesNo.properties, other: { type: 'string' } }, required: ['value'] }],
  ])('is a box if it is %s', (_, change) => {
    const schema = requestedSchemaSchema.parse({ type: 'object', ...change });
    expect(formFieldViews(schema, [], undefined, { locale: 'en', texts: {} })[0]).toMatchObject({ control: 'boolean' });
  });
});
