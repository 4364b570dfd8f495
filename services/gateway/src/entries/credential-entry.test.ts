import type { CredentialField } from '@postern/elicitation';
import { describe, expect, test } from 'vitest';
import { readCredentialEntry } from './credential-entry.ts';

const field = (change: Partial<CredentialField> = {}): CredentialField => ({
  ...{ name: 'key', label: 'Key', secret: true, maxLength: 100 },
  ...change,
});
const typed = (values: Record<string, string | string[]>) => new Map(Object.entries(values));

describe('a credential entry', () => {
  test.each([
    ['trims white space at both ends', '  ak_1\t\n', 'ak_1'],
    ['normalises line breaks', '-----BEGIN\r\nab\rcd\r\n-----END\r\n', '-----BEGIN\nab\ncd\n-----END'],
    ['keeps characters beyond ASCII', 'pässwörd 🔑', 'pässwörd 🔑'],
  ])('%s', (_, given, value) => {
    expect(readCredentialEntry([field()], typed({ key: given }))).toEqual({ values: { key: value } });
  });

  test.each([
    ['nothing', {}, {}, 'missing'],
    ['white space', { key: ' \r\n' }, {}, 'missing'],
    ['a repeated field', { key: ['a', 'b'] }, {}, 'missing'],
    ['a value that is too long', { key: 'x'.repeat(101) }, {}, 'too_long'],
    ['a value that does not match', { key: 'sk_1' }, { pattern: 'ak_[0-9]+' }, 'pattern'],
    ['a partial match', { key: 'ak_1 and more' }, { pattern: 'ak_[0-9]+' }, 'pattern'],
  ] as const)('refuses %s', (_, given, change, fault) => {
    const read = readCredentialEntry([field(change)], typed({ ...given } as Record<string, string>));
    expect(read).toEqual({ faults: new Map([['key', fault]]) });
  });

  test('ignores unknown fields, and may have a field named like an Object.prototype member', () => {
    const { values } = readCredentialEntry([field({ name: 'constructor' })], typed({ constructor: 'a', other: 'b' }));
    expect(Object.entries(values ?? {})).toEqual([['constructor', 'a']]);
  });
});
