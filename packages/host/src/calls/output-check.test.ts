import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv';
import { AjvJsonSchemaValidator as AjvJsonSchemaValidatorV1 } from '@modelcontextprotocol/sdk/validation/ajv';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type CompileSchema, outputCheck } from './output-check.ts';

const compilers: Record<string, CompileSchema> = {
  'SDK v2': schema => {
    const validate = new AjvJsonSchemaValidator().getValidator(schema);
    return content => validate(content).valid;
  },
  'SDK v1': schema => {
    const validate = new AjvJsonSchemaValidatorV1().getValidator(schema);
    return content => validate(content).valid;
  },
};
const many = <T>(count: number, of: (at: number) => T) => Array.from({ length: count }, (_, at) => of(at));
const named = <T>(count: number, of: (at: number) => T) =>
  Object.fromEntries(many(count, at => [`p${at}`, of(at)] as const));
const nested = (levels: number, inner: unknown = {}) =>
  many(levels, () => 0).reduce<unknown>(content => ({ a: content }), inner);
const refused = expect.objectContaining({ code: 'invalid_result' });

/** Each level leads twice to the next one. */
const doubling = (levels: number, keyword: 'allOf' | 'anyOf' | 'oneOf', leaf: object = { type: 'string' }) => ({
  $defs: {
    ...named(levels, at => ({ [keyword]: many(2, () => ({ $ref: `#/$defs/p${at + 1}` })) })),
    [`p${levels}`]: leaf,
  },
  properties: { a: { $ref: '#/$defs/p0' } },
});
/** Each level of the content is visited twice as often as the one above. */
const doublingByContent = {
  $defs: { x: { anyOf: many(2, () => ({ properties: { a: { $ref: '#/$defs/x' } }, required: ['z'] })) } },
  $ref: '#/$defs/x',
};
const tree = {
  $defs: {
    node: {
      type: 'object',
      required: ['value'],
      properties: { value: { type: 'integer' }, nodes: { type: 'array', items: { $ref: '#/$defs/node' } } },
    },
  },
  $ref: '#/$defs/node',
};
const row = { type: 'object', required: ['p0', 'p19'], additionalProperties: false, properties: named(20, () => ({})) };

describe.each(Object.entries(compilers))('an output schema with %s', (_sdk, compile) => {
  test.each<[string, object, unknown, boolean]>([
    ['of a result', { properties: { a: { type: 'string' } } }, { a: 'x' }, true],
    ['with a wrong type', { properties: { a: { type: 'string' } } }, { a: 1 }, false],
    ['that requires more', { required: ['b'] }, { a: 1 }, false],
    ['with another member', { properties: {}, additionalProperties: false }, { a: 1 }, false],
    ['with a listed value', { properties: { a: { enum: ['x'] } } }, { a: 'y' }, false],
    ['with alternatives', { oneOf: [{ required: ['a'] }, { required: ['b'] }] }, { c: 1 }, false],
    ['that is a tree', tree, { value: 1, nodes: [{ value: 2, nodes: [] }] }, true],
    ['with a wrong leaf of a tree', tree, { value: 1, nodes: [{ value: 2, nodes: [{}] }] }, false],
    ['that refers to itself for each level', { properties: { a: { $ref: '#' } } }, nested(150), true],
    ['that fails on the last level', { type: 'object', properties: { a: { $ref: '#' } } }, nested(150, 1), false],
    ['with escapes', { $defs: { 'a/b c': false }, properties: { a: { $ref: '#/$defs/a~1b%20c' } } }, { a: 1 }, false],
    [
      'with an id',
      { $id: 'https://a/b', properties: { a: { $ref: 'https://a/b#/$defs/x' } }, $defs: { x: false } },
      { a: 1 },
      false,
    ],
    [
      'with an id within',
      { properties: { a: { $id: 'T0', type: 'object', properties: { a: { $ref: 'T0' } } } } },
      nested(3, 1),
      false,
    ],
    ['with 8,192 alternatives', doubling(13, 'anyOf'), { a: 'x' }, true],
    ['that none of 8,192 alternatives allows', doubling(13, 'oneOf'), { a: {} }, false],
    ['of 10,000 rows', { items: row }, many(10_000, () => named(20, at => `${at}`)), true],
    [
      'of 10,000 rows, the last one wrong',
      { items: row },
      [...many(9_999, () => named(20, () => 1)), { p0: 1 }],
      false,
    ],
    [
      'of 10,000 wrong references',
      { items: { $ref: '#/$defs/x' }, $defs: { x: { allOf: [{ $ref: '#/$defs/y' }] }, y: { type: 'object' } } },
      many(10_000, () => 0),
      false,
    ],
  ])('S231: decides about content %s', (_name, schema, content, expected) => {
    expect(outputCheck({ ...schema }, compile)(content)).toBe(expected);
  });

  test.each<[string, object]>([
    ['members that every object inherits', { items: { properties: { toString: { type: 'string' } } } }],
    ['pattern', { items: { type: 'string', pattern: '^(a+)+$' } }],
    ['pattern behind a reference to an annotation', { items: { $ref: '#/default' }, default: { pattern: '^(a+)+$' } }],
    ['patternProperties', { items: { patternProperties: { '^(a+)+$': false }, additionalProperties: false } }],
    ['propertyNames', { items: { propertyNames: { pattern: '^(a+)+$' } } }],
    ['format', { items: { type: 'string', format: 'url' } }],
    ['uniqueItems', { uniqueItems: true }],
    ['contains', { contains: false }],
    ['values that are objects', { items: { enum: [{ a: 1 }, { b: 1 }] } }],
    ['negations', { items: { not: { pattern: '^(a+)+$' }, if: true, else: true } }],
    ['one of several alternatives', { items: { oneOf: [{ pattern: 'x' }, { pattern: 'y' }] } }],
  ])('S231: is not checked for %s', (_keyword, schema) => {
    const text = `http://${'a'.repeat(30)}!`;
    expect(outputCheck({ ...schema }, compile)([text, text])).toBe(true);
    expect(outputCheck({ ...schema, maxItems: 1 }, compile)([text, text])).toBe(false);
  });

  test.each<[string, object]>([
    ['doubles 18 times', doubling(18, 'anyOf')],
    ['doubles 100 times', doubling(100, 'oneOf')],
    ['refers to itself endlessly', { allOf: [{ $ref: '#' }] }],
    ['refers to itself endlessly below', { properties: { a: { $ref: '#/properties/a' } } }],
    ['consists of 2,001 schemas', { properties: named(2_000, () => true) }],
    [
      'repeats itself by references',
      {
        ...named(1_000, () => ({})),
        items: named(60, at => ({ $ref: `#/p${at}` })),
        allOf: many(2_000, at => ({ $ref: `#/p${at % 1000}` })),
      },
    ],
    ['has 5,001 names', { allOf: many(51, () => ({ required: many(100, at => `n${at}`) })) }],
    ['refers to nothing', { properties: { a: { $ref: '#/$defs/none' } } }],
    ['refers to another document', { properties: { a: { $ref: 'https://a/b#' } } }],
    ['refers with a broken escape', { properties: { a: { $ref: '#/%' } } }],
    ['refers dynamically', { properties: { a: { $dynamicRef: '#a' } } }],
    ['is too deep', many(1_001, () => 0).reduce<object>(items => ({ items }), {})],
    ['contains no schema', { items: 1 }],
  ])('S231: is refused before the call if it %s', (_name, schema) => {
    expect(() => outputCheck({ ...schema }, compile)).toThrow(refused);
  });

  test.each<[string, object, unknown]>([
    ['for content that is visited 2^30 times', doublingByContent, nested(30)],
    [
      'for 20,000 rows with 200 alternatives',
      { items: { anyOf: many(200, at => ({ const: at })) } },
      many(20_000, () => -1),
    ],
    [
      'for a text that is measured 200 times',
      { items: { allOf: many(200, () => ({ minLength: 1 })) } },
      ['x'.repeat(4_000_000)],
    ],
    ['for content that is too deep', { properties: { a: { $ref: '#' } } }, nested(5_000)],
  ])('S231: is refused %s', (_name, schema, content) => {
    const check = outputCheck({ ...schema }, compile);
    expect(() => check(content)).toThrow(refused);
    expect(check(0)).toBe(true);
  });
});

test('S231: Ajv repeats no definition at its references, and keeps no errors', () => {
  const schemas: Record<string, unknown>[] = [];
  const schema = { $defs: { x: { type: 'string' } }, anyOf: [{ $ref: '#/$defs/x' }] };
  outputCheck(schema, root => {
    schemas.push(root);
    return () => true;
  });
  const silent = (inner: object) => ({ not: { not: inner } });
  expect(schemas).toEqual([
    {
      $defs: { any: true, d0: { $ref: '#/$defs/any', ...silent({ type: 'string' }) } },
      ...silent({ allOf: [silent({ anyOf: [{ allOf: [{ $ref: '#/$defs/d0' }] }] })] }),
    },
  ]);
});

/** Schemas of few keywords, names and values, so that they accept the content about as often as not. */
function schemaOf(isReducible: boolean, isReferring: boolean): fc.Arbitrary<Record<string, unknown>> {
  const { schema } = fc.letrec<{ schema: Record<string, unknown>; inner: Record<string, unknown> }>(tie => {
    const inner = tie('inner');
    const list = fc.array(inner, { minLength: 1, maxLength: 2 });
    const keywords: Record<string, fc.Arbitrary<unknown>> = {
      type: fc.constantFrom('string', 'integer', 'array', 'object', ['object', 'null']),
      enum: fc.uniqueArray(fc.constantFrom('', 'a', 'b', 1, null), { minLength: 1 }),
      required: fc.uniqueArray(fc.constantFrom('a', 'b')),
      maxLength: fc.constantFrom(0, 1),
      minItems: fc.constantFrom(0, 1),
      properties: fc.dictionary(fc.constantFrom('a', 'b'), inner, { noNullPrototype: true }),
      additionalProperties: fc.oneof(fc.boolean(), inner),
      items: inner,
      prefixItems: list,
      allOf: list,
      anyOf: list,
      ...(isReferring && { $ref: fc.constantFrom('#/$defs/x', '#/$defs/y') }),
      ...(isReducible && { oneOf: list, not: inner, if: inner, else: inner, contains: inner }),
      ...(isReducible && { pattern: fc.constant('a'), format: fc.constant('ipv4'), uniqueItems: fc.boolean() }),
    };
    const some = fc.uniqueArray(fc.constantFrom(...Object.keys(keywords)), { minLength: 1, maxLength: 3 });
    return {
      inner: fc.oneof({ maxDepth: 2 }, fc.constant({}), tie('schema')),
      schema: some.chain(names =>
        fc.record(Object.fromEntries(Object.entries(keywords).filter(([name]) => names.includes(name))), {
          noNullPrototype: true,
        }),
      ),
    };
  });
  return schema;
}
const contents = fc.letrec(tie => ({
  content: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom('', 'a', 'b', 1, null),
    fc.array(tie('content'), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('content'), { maxKeys: 2, noNullPrototype: true }),
  ),
})).content;

test.each([
  ['all that it accepts', true],
  ['nothing else, if it has only keywords that are checked', false],
])('a reduced output schema accepts %s', (_what, isReducible) => {
  const compile = compilers['SDK v2'];
  const compared = { true: 0, false: 0 };
  const some = schemaOf(isReducible, false);
  const schemas = fc
    .tuple(schemaOf(isReducible, true), some, some)
    .map(([root, x, y]) => ({ ...root, $defs: { x, y } }));
  fc.assert(
    fc.property(schemas, fc.array(contents, { minLength: 4, maxLength: 4 }), (schema, values) => {
      const whole = compile?.(schema);
      for (const content of values) {
        const expected = whole?.(content) === true;
        compared[`${expected}`] += 1;
        if (compile !== undefined && (expected || !isReducible))
          expect(outputCheck(schema, compile)(content)).toBe(expected);
      }
    }),
    { numRuns: 50 },
  );
  expect(Math.min(compared.true, compared.false)).toBeGreaterThan(10);
});
