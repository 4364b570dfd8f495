import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type JsonNode, memberOf, readJson, repeatedName, stringOf, withMembers } from './json-text.ts';

/** The value of a node, from the places of its parts alone. */
function valueIn(text: string, node: JsonNode): unknown {
  if (node.kind === 'array') return node.items.map(item => valueIn(text, item));
  if (node.kind === 'object')
    return Object.fromEntries(node.members.map(({ name, value }) => [name, valueIn(text, value)]));
  return node.kind === 'string' ? node.value : JSON.parse(text.slice(node.start, node.end));
}

test('finds every value of a JSON text at its place, with any white space', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(undefined, 1, '\t'), (value, space) => {
      const text = ` ${JSON.stringify(value, undefined, space)}\n`;
      const node = readJson(text);
      expect(text.slice(node.start, node.end)).toBe(text.trim());
      expect(JSON.stringify(valueIn(text, node))).toBe(JSON.stringify(JSON.parse(text)));
    }),
  );
});

test.each(['', '{', '{"a":1,}', "{'a':1}", '{"a":NaN}', '[1 2]', '\uFEFF{}', '{"a":01}', 'nul'])('refuses %j', text => {
  expect(() => readJson(text)).toThrow(SyntaxError);
});

test('refuses values that are nested too deeply, and reads those at the limit', () => {
  expect(() => readJson(`${'['.repeat(501)}${']'.repeat(501)}`)).toThrow(SyntaxError);
  expect(readJson(`${'['.repeat(500)}${']'.repeat(500)}`).kind).toBe('array');
});

test('keeps the digits of numbers', () => {
  const text = '{"a":12345678901234567890,"b":1.0,"c":-1e-2}';
  const digits = ['a', 'b', 'c'].map(name => {
    const node = memberOf(readJson(text), name);
    return node && text.slice(node.start, node.end);
  });
  expect(digits).toEqual(['12345678901234567890', '1.0', '-1e-2']);
});

test('reads names and strings with escapes', () => {
  const node = readJson('{"m\\u0065thod":"a\\\\","b":"\\"\\ud83d\\ude00"}');
  expect([stringOf(node, 'method'), stringOf(node, 'b')]).toEqual(['a\\', '"😀']);
});

test.each([
  ['{"a":1,"a":2}', 'a'],
  ['{"a":{"b":[{"c":1,"\\u0063":2}]}}', 'c'],
  ['{"a":1,"b":{"a":1}}', undefined],
])('finds a name that stands twice in %s', (text, name) => {
  expect(repeatedName(readJson(text))).toBe(name);
});

test('replaces, adds and removes members, and leaves the rest as it came', () => {
  const text = '{ "id" : 1.0, "p": {"b": 1.50 ,"a":2, "c" : [ ] } }';
  const of = memberOf(readJson(text), 'p');
  if (of?.kind !== 'object') throw new Error('an object');
  expect(withMembers(text, of, { a: undefined, z: undefined })).toBe('{ "id" : 1.0, "p": {"b": 1.50,"c" : [ ]} }');
  expect(withMembers(text, of, { a: '"x"' })).toBe('{ "id" : 1.0, "p": {"b": 1.50,"c" : [ ],"a":"x"} }');
  expect(withMembers(text, of, { z: undefined })).toBe(text);
});

test('reads texts of millions of characters', () => {
  const texts = ['\\'.repeat(2e6), '"'.repeat(1e6)].map(inner => JSON.stringify(inner));
  for (const text of [...texts, `[${'1,'.repeat(5e5)}1]`]) expect(readJson(text).end).toBe(text.length);
});
