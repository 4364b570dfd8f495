import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ARGUMENT_LIMITS, confirmationRequestSchema } from './confirmations.ts';
import {
  canonicalJson,
  compactJson,
  hasRepeatedName,
  type JsonNode,
  JsonTextError,
  memberOf,
  readJson,
  readJsonText,
  stringOf,
  withMembers,
} from './json-text.ts';

const ample = { depth: 100, values: 1000 };
const read = (text: string) => readJson(text, ample);
const codeOf = (text: string, limits = ample) => {
  try {
    readJson(text, limits);
    return undefined;
  } catch (error) {
    return (error as { code?: string }).code;
  }
};

describe('a JSON text', () => {
  test('keeps the text of numbers and the order of members', () => {
    const text = '{"b":1.0,"10":[1e2,-0,12345678901234567890,1E400],"2":{"__proto__":null,"é":true}}';
    expect(compactJson(read(text))).toBe(text);
    expect(canonicalJson(read(text))).toBe(
      '{"10":[1e2,-0,12345678901234567890,1E400],"2":{"__proto__":null,"é":true},"b":1.0}',
    );
  });

  test('is written without white space and with the fewest escapes', () => {
    const text = ' { "a\\u0062" :\n[ "\\u00e9\\/\\u0007\\"\\ud83d\\ude00" , {} , [] ] } ';
    expect(compactJson(read(text))).toBe('{"ab":["é/\\u0007\\"😀",{},[]]}');
  });

  test('sorts names by UTF-16 code units (RFC 8785 section 3.2.3)', () => {
    const text = '{"€":1,"\\r":2,"\\ufb33":3,"1":4,"😀":5,"\\u0080":6,"ö":7}';
    expect([...canonicalJson(read(text)).matchAll(/:(\d)/g)].map(([, digit]) => digit).join('')).toBe('2467153');
  });

  test('says what JSON.parse says', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 5 }), fc.constantFrom(undefined, 1, '\t'), (json, space) => {
        const text = JSON.stringify(JSON.parse(json), undefined, space);
        expect(JSON.parse(compactJson(read(text)))).toEqual(JSON.parse(json));
        expect(canonicalJson(read(canonicalJson(read(text))))).toBe(canonicalJson(read(text)));
      }),
    );
  });

  test.each([
    ['', 'not_json'],
    ["{'a':1}", 'not_json'],
    ['{"a":01}', 'not_json'],
    ['{"a":1}}', 'not_json'],
    ['{"a":NaN}', 'not_json'],
    ['\ufeff{}', 'not_json'],
    ['{"a":1,"a":1}', 'duplicate_name'],
    ['{"a":1,"\\u0061":1}', 'duplicate_name'],
    ['[{"x":{"__proto__":1,"__proto__":2}}]', 'duplicate_name'],
    ['{"a":"\\ud800"}', 'lone_surrogate'],
    ['{"\\udc00\\ud800":1}', 'lone_surrogate'],
    ['["\ud800"]', 'lone_surrogate'],
  ])('%j is refused: %s', (text, code) => {
    expect(codeOf(text)).toBe(code);
  });

  test('has a limited depth and number of values', () => {
    expect(codeOf('[[[1]]]', { depth: 3, values: 9 })).toBeUndefined();
    expect(codeOf('[[[1]]]', { depth: 2, values: 9 })).toBe('too_deep');
    expect(codeOf('{"a":[1,2]}', { depth: 9, values: 3 })).toBeUndefined();
    expect(codeOf('{"a":[1,2]}', { depth: 9, values: 2 })).toBe('too_many_values');
    expect(codeOf('['.repeat(10_000) + ']'.repeat(10_000))).toBe('too_deep');
  });
});

describe('the arguments of a confirmation', () => {
  const parse = (text: unknown) => confirmationRequestSchema.safeParse({ title: 'x', arguments: text });
  const filled = (bytes: number, character = 'x') =>
    `{"a":"${character.repeat(Math.floor((bytes - 8) / Buffer.byteLength(character)))}"}`;

  test('are stored without white space', () => {
    expect(parse('{ "b": 1.0, "a": [ ] }').data?.arguments).toBe('{"b":1.0,"a":[]}');
    expect(parse('{}').data?.arguments).toBe('{}');
    expect(parse(undefined).data?.arguments).toBeUndefined();
  });

  const { bytes, depth, values } = ARGUMENT_LIMITS;
  const nested = (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
  const counted = (count: number) => `{"a":[${Array(count - 1).fill('1')}]}`;

  test.each([
    ['bytes', filled(bytes)],
    ['bytes of UTF-8', filled(bytes, 'é')],
    ['levels', nested(depth)],
    ['values', counted(values)],
  ])('may have the most %s', (_, text) => {
    expect(parse(text).success).toBe(true);
  });

  test.each([
    ['a byte too many', filled(bytes + 1)],
    ['a byte of UTF-8 too many', filled(bytes + 2, 'é')],
    ['a level too many', nested(depth + 1)],
    ['a value too many', counted(values + 1)],
    ['a list', '[]'],
    ['a text', '"a"'],
    ['a repeated name', '{"a":1,"a":1}'],
    ['a lone surrogate', '{"a":"\\ud800"}'],
    ['no JSON', '{a:1}'],
    ['an object instead of its text', { a: 1 }],
  ])('are refused with %s, and the member is named', (_, text) => {
    const { error } = parse(text);
    expect(error?.issues.map(({ path }) => path.join('.'))).toEqual(['arguments']);
  });
});

/** The value of a node, from the places of its parts alone. */
function valueIn(text: string, node: JsonNode): unknown {
  if (node.type === 'array') return node.elements.map(item => valueIn(text, item));
  if (node.type === 'object')
    return Object.fromEntries(node.members.map(({ name, value }) => [name, valueIn(text, value)]));
  return node.type === 'string' ? node.text : JSON.parse(text.slice(node.start, node.end));
}

test('finds every value of a JSON text at its place, with any white space', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(undefined, 1, '\t'), (value, space) => {
      const text = ` ${JSON.stringify(value, undefined, space)}\n`;
      const node = readJsonText(text);
      expect(text.slice(node.start, node.end)).toBe(text.trim());
      expect(JSON.stringify(valueIn(text, node))).toBe(JSON.stringify(JSON.parse(text)));
    }),
  );
});

test.each(['', '{', '{"a":1,}', "{'a':1}", '{"a":NaN}', '[1 2]', '\uFEFF{}', '{"a":01}', 'nul'])('refuses %j', text => {
  expect(() => readJsonText(text)).toThrow(JsonTextError);
});

test('refuses values that are nested too deeply, and reads those at the limit', () => {
  expect(() => readJsonText(`${'['.repeat(501)}${']'.repeat(501)}`)).toThrow(JsonTextError);
  expect(readJsonText(`${'['.repeat(500)}${']'.repeat(500)}`).type).toBe('array');
});

test('keeps the digits of numbers', () => {
  const text = '{"a":12345678901234567890,"b":1.0,"c":-1e-2}';
  const digits = ['a', 'b', 'c'].map(name => {
    const node = memberOf(readJsonText(text), name);
    return node && text.slice(node.start, node.end);
  });
  expect(digits).toEqual(['12345678901234567890', '1.0', '-1e-2']);
});

test('reads names and strings with escapes', () => {
  const node = readJsonText('{"m\\u0065thod":"a\\\\","b":"\\"\\ud83d\\ude00"}');
  expect([stringOf(node, 'method'), stringOf(node, 'b')]).toEqual(['a\\', '"😀']);
});

test.each([
  ['{"a":1,"a":2}', true],
  ['{"a":{"b":[{"c":1,"\\u0063":2}]}}', true],
  ['{"a":1,"b":{"a":1}}', false],
])('a name stands twice in %s: %s', (text, isRepeated) => {
  expect(hasRepeatedName(readJsonText(text))).toBe(isRepeated);
});

test('replaces, adds and removes members, and leaves the rest as it came', () => {
  const text = '{ "id" : 1.0, "p": {"b": 1.50 ,"a":2, "c" : [ ] } }';
  const of = memberOf(readJsonText(text), 'p');
  if (of?.type !== 'object') throw new Error('an object');
  expect(withMembers(text, of, { a: undefined, z: undefined })).toBe('{ "id" : 1.0, "p": {"b": 1.50,"c" : [ ]} }');
  expect(withMembers(text, of, { a: '"x"' })).toBe('{ "id" : 1.0, "p": {"b": 1.50,"c" : [ ],"a":"x"} }');
  expect(withMembers(text, of, { z: undefined })).toBe(text);
});

test('reads texts of millions of characters', () => {
  const texts = ['\\'.repeat(2e6), '"'.repeat(1e6)].map(inner => JSON.stringify(inner));
  for (const text of [...texts, `[${'1,'.repeat(5e5)}1]`]) expect(readJsonText(text).end).toBe(text.length);
});
