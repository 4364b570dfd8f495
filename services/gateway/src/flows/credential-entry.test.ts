import type { CredentialField } from '@postern/elicitation';
import { describe, expect, test } from 'vitest';
import { readCredentialEntry } from './credential-entry.ts';

const field = (change: Partial<CredentialField> = {}): CredentialField => ({
  ...{ name: 'key', label: 'Key', secret: true, maxLength: 100 },
  ...change,
});
const typed = (values: Record<string, string | string[]>) => new Map(Object.entries(values));

describe('what was typed', () => {
  test.each([
    ['white space of copying', '  ak_1\t\n', 'ak_1'],
    ['line breaks as browsers send them', '-----BEGIN\r\nab\rcd\r\n-----END\r\n', '-----BEGIN\nab\ncd\n-----END'],
    ['characters beyond ASCII', 'pässwörd 🔑', 'pässwörd 🔑'],
  ])('%s', (_, given, value) => {
    expect(readCredentialEntry([field()], typed({ key: given }))).toEqual({ values: { key: value } });
  });

  test.each([
    ['nothing', {}, {}, 'missing'],
    ['white space', { key: ' \r\n' }, {}, 'missing'],
    ['a field that came twice', { key: ['a', 'b'] }, {}, 'missing'],
    ['more than fits', { key: 'x'.repeat(101) }, {}, 'too_long'],
    ['something else', { key: 'sk_1' }, { pattern: 'ak_[0-9]+' }, 'pattern'],
    ['only part of it', { key: 'ak_1 and more' }, { pattern: 'ak_[0-9]+' }, 'pattern'],
  ] as const)('%s is a fault', (_, given, change, fault) => {
    const read = readCredentialEntry([field(change)], typed({ ...given } as Record<string, string>));
    expect(read).toEqual({ faults: new Map([['key', fault]]) });
  });

  test('what nobody asked for is left out, and a field may be called like a part of every object', () => {
    const { values } = readCredentialEntry([field({ name: 'constructor' })], typed({ constructor: 'a', other: 'b' }));
    expect(Object.entries(values ?? {})).toEqual([['constructor', 'a']]);
  });
});
