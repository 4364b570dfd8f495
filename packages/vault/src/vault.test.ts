import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { createKeyRing, createVault, type SealContext, type VaultKey } from './vault.ts';

const key = (kid: string): VaultKey => ({ kid, key: randomBytes(32) });
const context: SealContext = {
  purpose: 'connection',
  owner: 'tracker',
  issuer: 'https://id.example',
  subject: 'alice',
  provider: 'github',
};
const SECRET = 'canary-token-7f3a';

describe('S49 sealing', () => {
  it('opens what it sealed', async () => {
    const vault = createVault(createKeyRing([key('k1')]));
    expect(await vault.open(await vault.seal(SECRET, context), context)).toBe(SECRET);
  });

  it('uses a fresh content key and IV for each value, and shows no plaintext', async () => {
    const vault = createVault(createKeyRing([key('k1')]));
    const sealed = await Promise.all(Array.from({ length: 50 }, () => vault.seal(SECRET, context)));
    for (const part of [1, 2]) expect(new Set(sealed.map(text => text.split('.')[part])).size).toBe(50);
    expect(sealed.join()).not.toContain(SECRET);
    expect(sealed.join()).not.toContain(Buffer.from(SECRET).toString('base64url'));
  });
});

describe('S50 binding', () => {
  const vault = createVault(createKeyRing([key('k1')]));

  it.each(Object.keys(context))('does not open under another %s', async name => {
    const sealed = await vault.seal(SECRET, context);
    await expect(vault.open(sealed, { ...context, [name]: 'other' })).rejects.toMatchObject({ code: 'not_authentic' });
  });

  it('does not open with a missing or an additional part of the context', async () => {
    const sealed = await vault.seal(SECRET, context);
    const { provider: _, ...fewer } = context;
    await expect(vault.open(sealed, fewer as SealContext)).rejects.toMatchObject({ code: 'not_authentic' });
    await expect(vault.open(sealed, { ...context, more: '1' })).rejects.toMatchObject({ code: 'not_authentic' });
  });

  it.each([0, 1, 2, 3, 4])('refuses a changed, emptied or foreign part %i', async part => {
    const sealed = (await vault.seal(SECRET, context)).split('.');
    const other = (await vault.seal('another value', context)).split('.');
    const original = sealed[part] ?? '';
    const flipped = `${original.startsWith('A') ? 'B' : 'A'}${original.slice(1)}`;
    for (const replacement of [flipped, '', other[part] ?? '']) {
      if (replacement === original) continue;
      const forged = sealed.with(part, replacement).join('.');
      await expect(vault.open(forged, context)).rejects.toMatchObject({ name: 'VaultError' });
    }
  });

  it('refuses another encoding of the same bytes', async () => {
    const vault = createVault(createKeyRing([key('k1')]));
    const sealed = await vault.seal(SECRET, context);
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    // The last character of a tag of 16 bytes has four unused bits.
    const other = sealed.slice(0, -1) + alphabet.charAt(alphabet.indexOf(sealed.slice(-1)) ^ 1);
    const tagOf = (text: string) => Buffer.from(text.split('.')[4] ?? '', 'base64url').toString('hex');
    expect(tagOf(other)).toBe(tagOf(sealed));
    await expect(vault.open(other, context)).rejects.toMatchObject({ code: 'not_authentic' });
  });

  it('refuses a downgraded algorithm', async () => {
    const sealed = (await vault.seal(SECRET, context)).split('.');
    const header = Buffer.from(JSON.stringify({ alg: 'dir', enc: 'A256GCM', kid: 'k1' })).toString('base64url');
    await expect(vault.open(sealed.with(0, header).join('.'), context)).rejects.toMatchObject({
      code: 'not_authentic',
    });
  });

  it.each(['', 'x', 'a.b.c.d', 'a.b.c.d.e.f', '{"ciphertext":"x"}'])('refuses malformed %j', async sealed => {
    await expect(vault.open(sealed, context)).rejects.toMatchObject({ code: 'not_authentic' });
  });
});

describe('S51 keys', () => {
  it('seals with the first key and opens with any key', async () => {
    const [old, fresh] = [key('2025'), key('2026')];
    const before = await createVault(createKeyRing([old])).seal(SECRET, context);
    const vault = createVault(createKeyRing([fresh, old]));
    expect(await vault.open(before, context)).toBe(SECRET);
    const after = await vault.seal(SECRET, context);
    expect(await createVault(createKeyRing([fresh])).open(after, context)).toBe(SECRET);
  });

  it('names only the lost key in the error', async () => {
    const sealed = await createVault(createKeyRing([key('lost')])).seal(SECRET, context);
    const vault = createVault(createKeyRing([key('k1')]));
    const error: unknown = await vault.open(sealed, context).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'unknown_key' });
    expect(inspect(error, { depth: 10 })).toContain('"lost"');
    expect(inspect(error, { depth: 10 })).not.toContain(SECRET);
  });

  it('refuses an empty ring, a short key and a duplicate name', () => {
    for (const keys of [[], [{ kid: 'short', key: randomBytes(16) }], [key('same'), key('same')]]) {
      expect(() => createKeyRing(keys)).toThrowError(expect.objectContaining({ code: 'invalid_key_ring' }));
    }
  });
});
