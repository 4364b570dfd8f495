import fc from 'fast-check';

/** Values that have broken parsers, stores, pages and logs elsewhere. */

/** Markup that a page must never contain unescaped. */
export const MARKUP = '"><svg onload=zz>';
/** A header that no client sends. Its presence in a response proves header injection. */
export const INJECTED_HEADER = 'x-split-zz';

const hostileTexts: readonly string[] = [
  '',
  ' ',
  '\0',
  'a\0b',
  `\r\n${INJECTED_HEADER}: 1`,
  '\r\nSet-Cookie: a=b',
  '\n',
  '\u202egpj.exe',
  '\u2066a\u2069',
  '\u200d',
  '\ufeff',
  '\u{e0041}',
  '\ud800',
  'a\udc00b',
  '\uffff',
  MARKUP,
  `&quot;${MARKUP}`,
  '</textarea><script>zz</script>',
  "' OR 1=1 --",
  '*',
  'x EX 1',
  '{00}',
  '{{constructor}}',
  '${env:HOME}',
  '__proto__',
  'constructor',
  'hasOwnProperty',
  'toString',
  '../../etc/passwd',
  '..\\..\\x',
  '%00',
  '%',
  '%zz',
  '%c0%af',
  'javascript:alert(1)',
  'https://evil.example',
  '//evil.example',
  '/\\evil.example',
  'data:text/html,x',
  '1e400',
  '-0',
  '0',
  '1',
  '9007199254740992',
  'NaN',
  'true',
  'null',
  'undefined',
  '[object Object]',
  '2026-02-30T00:00:00Z',
  'é'.repeat(300),
  'x'.repeat(255),
  'x'.repeat(256),
  'x'.repeat(4097),
  'x'.repeat(9000),
  '👩‍👩‍👧‍👦'.repeat(90),
  '👩‍👩‍👧‍👦'.repeat(400),
  '\u0301'.repeat(600),
  '\u0301'.repeat(3000),
  // A catastrophic regular expression.
  'a{0,1000}'.repeat(22),
  `[${'\\pL\\PL'.repeat(32)}]`,
];

/** Fragments of a path or query, encoded correctly or not. None ends the request line. */
const hostileUrlParts: readonly string[] = [
  ...['%', '%2', '%zz', '%00', '%2e%2e', '%2f', '%c0%af', '%ud800', ';', ':', '//', '/', '\\', '..', '.'],
  ...['el_', 'cn_', 'cr_', 'a', 'A', '0', '?', '#', '*', '@', '%5c', '+', '&', '=', '[]', '~', '|', '^', '`'],
];

const hostileNumbers: readonly number[] = [0, -1, -0, 1.5, 2 ** 31, 2 ** 53, -(2 ** 53), 1e308, 5e-324];

/** Values of the other JSON types. */
const hostileConstants: readonly unknown[] = [
  ...[null, true, false, [], {}, [[]], [null], ['x', 'EX', '1'], [{ '': [{ '': {} }] }]],
  ...[{ status: 'completed' }, { $gt: '' }],
];

/** JSON that no serializer writes: numbers out of range, duplicate or special names. */
export const unwrittenJson: readonly string[] = [
  ...['1e400', '-1e400', '1E+309', '-1E+309', '-9007199254740993', '123456789012345678901234567890'],
  ...['{"a":1,"a":2}', '{"__proto__":{"a":1}}', '{"constructor":{"prototype":{"a":1}}}', '"\\ud800"', '"\\u0000"'],
];

/** Invalid JSON in any context. */
export const brokenJson: readonly string[] = [
  ...['01', 'NaN', "'a'", '[1,]', '{a:1}', '{"a"}', '"\n"', '"\\x"', '{"__proto__":}', '"'],
];

/** Values that are valid in a header. */
function asHeader(text: string, maxLength: number): string {
  return text
    .toWellFormed()
    .replace(/[^\t\x20-\x7e\x80-\xff]/g, '?')
    .slice(0, maxLength);
}

const KIB = 1024;

/** Strings of any code points, including lone surrogates. (`fc.string` takes seconds of processor time for its alphabets.) */
const anyText = fc
  .array(fc.oneof(fc.nat({ max: 0xff }), fc.nat({ max: 0xffff }), fc.nat({ max: 0x10ffff })), { maxLength: 24 })
  .map(codePoints => String.fromCodePoint(...codePoints));

/** Strings that have broken parsers, stores, pages and logs elsewhere, and random ones. */
export const oddText: fc.Arbitrary<string> = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...hostileTexts) },
  { weight: 1, arbitrary: anyText },
);

export const oddHeader: fc.Arbitrary<string> = oddText.map(text => asHeader(text, 2 * KIB));

/** Text within a URL, encoded correctly or not. Contains nothing that ends the request line. */
export const oddInUrl: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: oddText.map(text => encodeURIComponent(text.toWellFormed()).slice(0, 3 * KIB)) },
  {
    weight: 1,
    arbitrary: fc.array(fc.constantFrom(...hostileUrlParts), { maxLength: 10 }).map(parts => parts.join('')),
  },
);

const nested = (open: string, close: string, depth: number) => `${open.repeat(depth)}1${close.repeat(depth)}`;
const manyKeys = (count: number) => `{${Array.from({ length: count }, (_, n) => `"k${n}":${n}`).join(',')}}`;
/** Rare, because only their size matters. Values above the body limit are refused unread. */
const heavy = [
  nested('[', ']', 10_000),
  nested('{"a":', '}', 8_000),
  manyKeys(3_000),
  manyKeys(100_000),
  `[${'0,'.repeat(20_000)}0]`,
  JSON.stringify('x'.repeat(60 * KIB)),
  JSON.stringify('x'.repeat(KIB * KIB)),
];

/** JSON values that some parsers accept and that no caller intends. */
const odd = [
  ...hostileNumbers.map(number => (Object.is(number, -0) ? '-0' : JSON.stringify(number))),
  ...hostileConstants.map(value => JSON.stringify(value)),
  ...unwrittenJson,
  '\ufeff{}',
];

export const oddJson: fc.Arbitrary<string> = fc.oneof(
  { weight: 60, arbitrary: oddText.map(text => JSON.stringify(text)) },
  { weight: 80, arbitrary: fc.constantFrom(...odd) },
  { weight: 20, arbitrary: fc.constantFrom('', ...brokenJson) },
  { weight: 10, arbitrary: fc.jsonValue({ maxDepth: 2 }).map(value => JSON.stringify(value)) },
  { weight: 1, arbitrary: fc.constantFrom(...heavy) },
);
