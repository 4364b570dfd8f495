import fc from 'fast-check';
import {
  asHeader,
  brokenJson,
  hostileConstants,
  hostileNumbers,
  hostileTexts,
  hostileUrlParts,
  unwrittenJson,
} from '../../support/hostile-values.ts';

const KIB = 1024;

/** Of any code points, lone surrogates among them. (`fc.string` needs seconds of processor time for its alphabets.) */
const anyText = fc
  .array(fc.oneof(fc.nat({ max: 0xff }), fc.nat({ max: 0xffff }), fc.nat({ max: 0x10ffff })), { maxLength: 24 })
  .map(codePoints => String.fromCodePoint(...codePoints));

/** Texts that have broken parsers, stores, pages and logs of others, and some that nobody has thought of. */
export const oddText: fc.Arbitrary<string> = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...hostileTexts) },
  { weight: 1, arbitrary: anyText },
);

export const oddHeader: fc.Arbitrary<string> = oddText.map(text => asHeader(text, 2 * KIB));

/** As it stands in a URL, encoded rightly or wrongly; nothing that would end the request line. */
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

/** Taken by some parser, and meant by nobody. */
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
