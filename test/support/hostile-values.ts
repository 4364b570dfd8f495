import fc from 'fast-check';

/** Values that have broken parsers, stores, pages and logs of others. */

/** Markup that must never come back in a page as it was sent. */
export const MARKUP = '"><svg onload=zz>';
/** A header that nobody sends: whoever sees it in an answer has seen a split one. */
export const INJECTED_HEADER = 'x-split-zz';

export const hostileTexts: readonly string[] = [
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
  // Costly as a pattern.
  'a{0,1000}'.repeat(22),
  `[${'\\pL\\PL'.repeat(32)}]`,
];

/** What is pieced together in a path or a query: encoded rightly or wrongly, and nothing that would end the request line. */
export const hostileUrlParts: readonly string[] = [
  ...['%', '%2', '%zz', '%00', '%2e%2e', '%2f', '%c0%af', '%ud800', ';', ':', '//', '/', '\\', '..', '.'],
  ...['el_', 'cn_', 'cr_', 'a', 'A', '0', '?', '#', '*', '@', '%5c', '+', '&', '=', '[]', '~', '|', '^', '`'],
];

export const hostileNumbers: readonly number[] = [0, -1, -0, 1.5, 2 ** 31, 2 ** 53, -(2 ** 53), 1e308, 5e-324];

/** Of the other types of JSON. */
export const hostileConstants: readonly unknown[] = [
  ...[null, true, false, [], {}, [[]], [null], ['x', 'EX', '1'], [{ '': [{ '': {} }] }]],
  ...[{ status: 'completed' }, { $gt: '' }],
];

/** JSON that no value is written as: numbers that no number can hold, names that are there twice or mean something else. */
export const unwrittenJson: readonly string[] = [
  ...['1e400', '-1e400', '1E+309', '-1E+309', '-9007199254740993', '123456789012345678901234567890'],
  ...['{"a":1,"a":2}', '{"__proto__":{"a":1}}', '{"constructor":{"prototype":{"a":1}}}', '"\\ud800"', '"\\u0000"'],
];

/** Not JSON at all, and none whatever stands around it. */
export const brokenJson: readonly string[] = [
  ...['01', 'NaN', "'a'", '[1,]', '{a:1}', '{"a"}', '"\n"', '"\\x"', '{"__proto__":}', '"'],
];

/** As a header can hold it: nothing that no parser would let through to a route. */
export function asHeader(text: string, maxLength: number): string {
  return text
    .toWellFormed()
    .replace(/[^\t\x20-\x7e\x80-\xff]/g, '?')
    .slice(0, maxLength);
}

const KIB = 1024;

/** Of any code points, lone surrogates among them. (`fc.string` needs seconds of processor time for its alphabets.) */
const anyText = fc
  .array(fc.oneof(fc.nat({ max: 0xff }), fc.nat({ max: 0xffff }), fc.nat({ max: 0x10ffff })), { maxLength: 24 })
  .map(codePoints => String.fromCodePoint(...codePoints));

/** Texts that have broken other parsers, stores, pages and logs, and random ones. */
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
/** Rare, because their size is all there is to them. Those beyond the limit of a body are refused unread. */
const heavy = [
  nested('[', ']', 10_000),
  nested('{"a":', '}', 8_000),
  manyKeys(3_000),
  manyKeys(100_000),
  `[${'0,'.repeat(20_000)}0]`,
  JSON.stringify('x'.repeat(60 * KIB)),
  JSON.stringify('x'.repeat(KIB * KIB)),
];

/** JSON values that some parsers accept and that no caller means. */
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
