import fc from 'fast-check';

/** Markup that must never come back in a page as it was sent. */
export const MARKUP = '"><svg onload=zz>';
/** A header that nobody sends: whoever sees it in an answer has seen a split one. */
export const INJECTED_HEADER = 'x-split-zz';

const KIB = 1024;

const texts = [
  '',
  ' ',
  '\0',
  'a\0b',
  `\r\n${INJECTED_HEADER}: 1`,
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
  'é'.repeat(300),
  'x'.repeat(255),
  'x'.repeat(256),
  'x'.repeat(4097),
  '👩‍👩‍👧‍👦'.repeat(90),
  '\u0301'.repeat(600),
];

/** Of any code points, lone surrogates among them. (`fc.string` needs seconds of processor time for its alphabets.) */
const anyText = fc
  .array(fc.oneof(fc.nat({ max: 0xff }), fc.nat({ max: 0xffff }), fc.nat({ max: 0x10ffff })), { maxLength: 24 })
  .map(codePoints => String.fromCodePoint(...codePoints));

/** Texts that have broken parsers, stores, pages and logs of others, and some that nobody has thought of. */
export const oddText: fc.Arbitrary<string> = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...texts) },
  { weight: 1, arbitrary: anyText },
);

/** As a header can hold it: nothing that no parser would let through to a route. */
export const oddHeader: fc.Arbitrary<string> = oddText.map(text =>
  text
    .toWellFormed()
    .replace(/[^\t\x20-\x7e\x80-\xff]/g, '?')
    .slice(0, 2 * KIB),
);

/** As it stands in a URL, encoded rightly or wrongly; nothing that would end the request line. */
export const oddInUrl: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: oddText.map(text => encodeURIComponent(text.toWellFormed()).slice(0, 3 * KIB)) },
  {
    weight: 1,
    arbitrary: fc
      .array(
        fc.constantFrom(
          ...['%', '%2', '%zz', '%00', '%2e%2e', '%2f', '%c0%af', '%ud800', ';', ':', '//', '/', '\\', '..', '.'],
          ...['el_', 'cn_', 'cr_', 'a', 'A', '0', '?', '#', '*', '@', '%5c', '+', '&', '=', '[]', '~', '|', '^', '`'],
        ),
        { maxLength: 10 },
      )
      .map(parts => parts.join('')),
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

/** JSON, but for the numbers that no number can hold and the names that are there twice. */
const odd = [
  ...['0', '-1', '-0', '1.5', '2147483648', '9007199254740992', '-9007199254740993', '1e308', '5e-324', '1e400'],
  ...['-1E+309', 'null', 'true', 'false', '[]', '{}', '[[]]', '[null]', '["x","EX","1"]', '{"$gt":""}'],
  ...['{"a":1,"a":2}', '{"__proto__":{"a":1}}', '{"constructor":{"prototype":{"a":1}}}', '"\\ud800"', '"\\u0000"'],
  ...[
    '{"status":"completed"}',
    '"2026-02-30T00:00:00Z"',
    '[{"":[{"":{}}]}]',
    '123456789012345678901234567890',
    '\ufeff{}',
  ],
];
/** Not JSON at all. */
const broken = ['01', 'NaN', "'a'", '[1,]', '{a:1}', '{"a"}', '"\n"', '"\\x"', '', '{"__proto__":}', '"'];

export const oddJson: fc.Arbitrary<string> = fc.oneof(
  { weight: 60, arbitrary: oddText.map(text => JSON.stringify(text)) },
  { weight: 80, arbitrary: fc.constantFrom(...odd) },
  { weight: 20, arbitrary: fc.constantFrom(...broken) },
  { weight: 10, arbitrary: fc.jsonValue({ maxDepth: 2 }).map(value => JSON.stringify(value)) },
  { weight: 1, arbitrary: fc.constantFrom(...heavy) },
);

export const brokenJson: fc.Arbitrary<string> = fc.constantFrom(...broken.filter(text => text !== ''));
