import type { CredentialField } from '@postern/elicitation';
import { describe, expect, test } from 'vitest';
import { readCredentialEntry } from './credential-entry.ts';

const field = (change: Partial<CredentialField> = {}): CredentialField => ({
  name: 'key',
  label: 'Key',
  secret: true,
  maxLength: 100,
  ...change,
});
const matches = async (pattern: string, text: string) => text === pattern;
const typed = (values: Record<string, string | string[]>) => new Map(Object.entries(values));

describe('a credential entry', () => {
  test.each([
    ['trims white space at both ends', '  ak_1\t\n', 'ak_1'],
    ['normalises line breaks', '-----BEGIN\r\nab\rcd\r\n-----END\r\n', '-----BEGIN\nab\ncd\n-----END'],
    ['keeps characters beyond ASCII', 'pässwörd 🔑', 'pässwörd 🔑'],
  ])('%s', async (_, given, value) => {
    expect(await readCredentialEntry([field()], typed({ key: given }), matches)).toEqual({ values: { key: value } });
  });

  test.each([
    ['nothing', {}, {}, 'missing'],
    ['white space', { key: ' \r\n' }, {}, 'missing'],
    ['a repeated field', { key: ['a', 'b'] }, {}, 'missing'],
    ['a value that is too long', { key: 'x'.repeat(101) }, {}, 'too_long'],
    ['a value that does not match', { key: 'sk_1' }, { pattern: 'ak_1' }, 'pattern'],
  ] as const)('refuses %s', async (_, given, change, fault) => {
    const read = await readCredentialEntry([field(change)], typed({ ...given } as Record<string, string>), matches);
    expect(read).toEqual({ faults: new Map([['key', fault]]) });
  });

  test('S197: is not accepted if its pattern could not be checked', async () => {
    const read = readCredentialEntry([field({ pattern: 'a' })], typed({ key: 'a' }), async () => 'unchecked');
    expect(await read).toEqual({ faults: new Map([['key', 'unchecked']]) });
  });

  test('ignores unknown fields, and may have a field named like an Object.prototype member', async () => {
    const { values } = await readCredentialEntry(
      [field({ name: 'constructor' })],
      typed({ constructor: 'a', other: 'b' }),
      matches,
    );
    expect(Object.entries(values ?? {})).toEqual([['constructor', 'a']]);
  });
});
