import { isShortRun } from '@postern/testkit/run-size';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { createPatterns } from '../../../services/gateway/src/entries/patterns.ts';
import { startTurnMeter } from './turn-meter.ts';

const SEED = 20_261_128;
/** Maximum length of a pattern in the API. */
const MAX_LENGTH = 200;
/** As in the fuzzer of routes. */
const TURN_MS = 20;
const MEASUREMENTS = 8;

const patterns = createPatterns();
afterAll(() => patterns[Symbol.asyncDispose]());

const codePoint = fc.oneof(
  fc.integer({ min: 0x20, max: 0x7e }),
  fc.integer({ min: 0x80, max: 0x1_e943 }),
  // Letters with many or long folds, the ends of planes, and surrogates.
  fc.constantFrom(0x17f, 0x1e9e, 0x212a, 0xd7ff, 0xd800, 0xffff, 0x1_e943, 0x10_fffe, 0x10_ffff),
);
const hex = codePoint.map(point => `\\x{${point.toString(16)}}`);
const perl = fc.constantFrom('\\d', '\\D', '\\s', '\\S', '\\w', '\\W');
const posix = fc.constantFrom('[:alpha:]', '[:^alpha:]', '[:word:]', '[:^ascii:]', '[:graph:]');
const unicode = fc
  .tuple(fc.constantFrom('p', 'P'), fc.constantFrom('L', '{^L}', '{Lu}', '{Greek}', '{Han}', '{Any}', '{So}', '{M}'))
  .map(([sign, name]) => `\\${sign}${name}`);
const range = fc.tuple(codePoint, codePoint).map(ends =>
  ends
    .toSorted((a, b) => a - b)
    .map(point => `\\x{${point.toString(16)}}`)
    .join('-'),
);
const bracket = fc
  .tuple(
    fc.constantFrom('', '^'),
    fc.array(fc.oneof(range, range, hex, perl, posix, unicode), { minLength: 1, maxLength: 6 }),
  )
  .map(([sign, items]) => `[${sign}${items.join('')}]`);
const flags = fc
  .tuple(fc.subarray(['i', 'm', 's', 'U']), fc.subarray(['i', 'm', 's', 'U']))
  .map(([on, off]) => (off.length > 0 ? `${on.join('')}-${off.join('')}` : on.join('') || 'i'));
const literal = fc.oneof(fc.constantFrom('a', 'k', 'ſ', 'é', '👍', '\\.', '\\n', '\\101', '\\Qa{9}\\E'), hex);
const assertion = fc.constantFrom('^', '$', '\\A', '\\z', '\\b', '\\B');
const repeat = fc.oneof(
  fc.constantFrom('*', '+', '?', '*?', '+?', '??', '{0}', '{2,}', '{1000}', '{,3}'),
  fc.tuple(fc.nat(1_000), fc.nat(1_000)).map(ends => `{${ends.toSorted((a, b) => a - b).join(',')}}`),
);

/** Every node of the grammar of RE2 (https://github.com/google/re2/wiki/Syntax). */
const { pattern } = fc.letrec<{ pattern: string; atom: string }>(tie => ({
  atom: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    { arbitrary: literal, weight: 4 },
    { arbitrary: bracket, weight: 6 },
    { arbitrary: fc.oneof(perl, unicode, fc.constantFrom('.', '\\C', '\\pN')), weight: 2 },
    { arbitrary: assertion, weight: 1 },
    { arbitrary: flags.map(on => `(?${on})`), weight: 3 },
    { arbitrary: fc.tuple(flags, tie('pattern')).map(([on, inner]) => `(?${on}:${inner})`), weight: 2 },
    {
      arbitrary: fc
        .tuple(fc.constantFrom('(', '(?:', '(?P<n>', '(?<m>'), tie('pattern'))
        .map(([open, inner]) => `${open}${inner})`),
      weight: 3,
    },
    { arbitrary: fc.tuple(tie('atom'), repeat).map(parts => parts.join('')), weight: 4 },
    { arbitrary: fc.tuple(tie('pattern'), tie('pattern')).map(parts => parts.join('|')), weight: 2 },
  ),
  pattern: fc.array(tie('atom'), { minLength: 1, maxLength: 6 }).map(parts => parts.join('')),
}));
/** A node, repeated as often as the length of a pattern allows: what is costly once is costlier then. */
const long = fc
  .tuple(fc.constantFrom('', '(?i)', '(?is)'), pattern)
  .map(([start, node]) => `${start}${node.repeat(Math.max(1, Math.floor((MAX_LENGTH - 5) / node.length)))}`);
const hostile = fc.oneof(pattern, long).map(text => text.slice(0, MAX_LENGTH));

describe('S66, S197: any pattern of the grammar', () => {
  it('any pattern of the grammar blocks the event loop for at most 20 ms, to issue it and to match it', async () => {
    const texts = fc.sample(hostile, { numRuns: isShortRun ? 40 : 1_000, seed: SEED });
    const outcomes = { accepted: 0, refused: 0 };
    for (const text of texts) {
      let turns: number[] = [];
      do {
        using meter = startTurnMeter();
        // Another MCP server each time, because one with costly patterns has to wait.
        const mcpServerId = crypto.randomUUID();
        const fault = await patterns.findFault(mcpServerId, [{ path: '', pattern: text, maxLength: 100 }]);
        const answer = { pattern: text, text: 'aKſ👍é'.repeat(16), part: 'any' } as const;
        if (fault === undefined) await patterns.matches(mcpServerId, answer);
        outcomes[fault === undefined ? 'accepted' : 'refused'] += 1;
        turns = meter.longestMs > TURN_MS ? [...turns, meter.longestMs] : [];
      } while (turns.length > 0 && turns.length < MEASUREMENTS);
      expect(turns, text).toEqual([]);
    }
    expect(outcomes.accepted).toBeGreaterThan(texts.length / 10);
    expect(outcomes.refused).toBeGreaterThan(texts.length / 10);
  });
});
