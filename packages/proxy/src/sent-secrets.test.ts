import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { SentSecrets } from './sent-secrets.ts';

const SECRET = 'ghp_"Zürich"\\1234';
const MASK = '[hidden by postern-proxy]';

let log: string[];
let secrets: SentSecrets;
beforeEach(() => {
  log = [];
  secrets = new SentSecrets((event, details) => log.push(`${event} ${JSON.stringify(details)}`));
});

const masked = (text: string) => secrets.masked(Buffer.from(text))?.toString();
const inText = (text: string) => JSON.stringify({ result: { content: [{ type: 'text', text }] } });
/** Every character as an escape, which no writer needs. */
const escaped = (text: string) =>
  `"${Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')}"`;

describe('a message', () => {
  test.each([
    ['as it is', inText(`key: ${SECRET}.`), inText(`key: ${MASK}.`)],
    ['twice', inText(`${SECRET}${SECRET}`), inText(MASK + MASK)],
    ['with every character escaped', `{"a":1.0, "b" : ${escaped(SECRET)}}`, `{"a":1.0, "b" : "${MASK}"}`],
    ['as JSON within a text', inText(JSON.stringify({ key: SECRET })), inText(`{"key":"${MASK}"}`)],
    ['in a URL', inText(`https://x/?k=${encodeURIComponent(SECRET)}&n=1`), inText(`https://x/?k=${MASK}&n=1`)],
    ['as the name of a member', JSON.stringify({ [SECRET]: [1] }), `{"${MASK}":[1]}`],
    [
      'in a list, beside members with other digits than JavaScript writes',
      `{ "n" : 12345678901234567890 ,"l":["x", ${JSON.stringify(SECRET)} ]}`,
      `{ "n" : 12345678901234567890 ,"l":["x", "${MASK}" ]}`,
    ],
    [
      'in a batch',
      `[{"id":1,"result":{"a":${JSON.stringify(SECRET)}}},{"id":2.0}]`,
      `[{"id":1,"result":{"a":"${MASK}"}},{"id":2.0}]`,
    ],
    [
      'in an error',
      JSON.stringify({ error: { message: SECRET, data: [SECRET] } }),
      `{"error":{"message":"${MASK}","data":["${MASK}"]}}`,
    ],
    ['in a line of a log that is not JSON', `token ${SECRET} refused`, `token ${MASK} refused`],
  ])('loses the secret %s', (_what, text, wanted) => {
    secrets.hide('exa', SECRET);
    expect(masked(text)).toBe(wanted);
    expect(log.join()).toContain('exa');
    expect(log.join()).not.toContain('1234');
  });

  test('loses the secret that is split over content parts', () => {
    secrets.hide('exa', SECRET);
    const parts = [`a${SECRET.slice(0, 5)}`, SECRET.slice(5, 9), `${SECRET.slice(9)}b`];
    const text = JSON.stringify({ result: { content: parts.map(text => ({ type: 'text', text })) } });
    const left = JSON.parse(masked(text) ?? '').result.content.map((part: { text: string }) => part.text);
    expect(left).toEqual([`a${MASK}`, '', 'b']);
  });

  test.each(['base64', 'base64url'] as const)('loses the secret in %s, at any place of a longer text', encoding => {
    secrets.hide('exa', SECRET);
    fc.assert(
      fc.property(fc.string(), fc.string(), (before, after) => {
        const encoded = Buffer.from(before + SECRET + after).toString(encoding);
        const left = JSON.parse(masked(inText(encoded)) ?? '').result.content[0].text;
        expect(left).toContain(MASK);
        expect(Buffer.from(left.replace(MASK, ''), encoding).toString()).not.toContain('1234');
      }),
    );
  });

  test('loses a number that has the secret', () => {
    secrets.hide('pin', '1234567890');
    expect(masked('{"pin":1234567890,"n":123456789}')).toBe(`{"pin":"${MASK}","n":123456789}`);
  });

  test('without a secret passes as the same bytes', () => {
    secrets.hide('exa', SECRET);
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(undefined, 1), (value, space) => {
        const bytes = Buffer.from(JSON.stringify({ value }, undefined, space));
        expect(secrets.masked(bytes)).toBe(bytes);
      }),
    );
    const broken = Buffer.from([0x7b, 0xff, 0x22]);
    expect(secrets.masked(broken)).toBe(broken);
    expect(log).toEqual([]);
  });

  test('that is too deep to be searched is dropped, but only while there are secrets', () => {
    const deep = `${'['.repeat(600)}${JSON.stringify(SECRET)}${']'.repeat(600)}`;
    expect(masked(deep)).toBe(deep);
    secrets.hide('exa', SECRET);
    expect(masked(deep)).toBeUndefined();
    expect(log).toHaveLength(1);
  });

  test('keeps a short secret, which other texts have by chance', () => {
    secrets.hide('pin', '1234567');
    expect(masked(inText('1234567'))).toBe(inText('1234567'));
  });
});

describe('a secret is searched for', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });
  const isHidden = () => masked(inText(SECRET)) === inText(MASK);

  test('until ten minutes after the last call with it', () => {
    const end = secrets.hide('exa', SECRET);
    const endOther = secrets.hide('exa', SECRET);
    end();
    vi.advanceTimersByTime(3_600_000);
    expect(isHidden()).toBe(true);
    endOther();
    vi.advanceTimersByTime(599_000);
    expect(isHidden()).toBe(true);
    vi.advanceTimersByTime(2_000);
    expect(isHidden()).toBe(false);
  });

  test('although an earlier call with it ended ten minutes ago', () => {
    secrets.hide('exa', SECRET)();
    vi.advanceTimersByTime(599_000);
    const end = secrets.hide('exa', SECRET);
    vi.advanceTimersByTime(2_000);
    expect(isHidden()).toBe(true);
    end();
  });

  test('unless there are a hundred newer ones, and a call without an answer keeps its own', () => {
    secrets.hide('exa', SECRET)();
    for (let each = 0; each < 99; each += 1) secrets.hide('other', `another secret ${each}`);
    expect(isHidden()).toBe(true);
    secrets.hide('other', 'another secret 99');
    expect(isHidden()).toBe(false);
    expect(() => secrets.hide('other', 'another secret 100')).toThrow('Too many calls');
    expect(masked(inText('another secret 0'))).toBe(inText(MASK));
  });
});
