import { expect, it } from 'vitest';
import { createKeyRing, createVault, kidOf, type VaultKey } from '../index.ts';

const context = { purpose: 'connection', owner: 'tracker', subject: 'alice@people.example' };
const SECRET = 'canary-token-51c8';
const vaultOf = (...keys: VaultKey[]) => createVault(createKeyRing(keys), { keyServiceTimeoutMs: 60_000 });

/**
 * What a vault promises with every kind of key: local keys and keys of every key service.
 * @internal for tests
 * @param key returns the key with this name, `kms-old` or `kms-new`; always the same one
 */
export function vaultKeyContract(key: (kid: 'kms-old' | 'kms-new') => VaultKey): void {
  it('opens what it sealed, with a fresh content key every time', async () => {
    const vault = vaultOf(key('kms-old'));
    const sealed = await Promise.all(Array.from({ length: 10 }, () => vault.seal(SECRET, context)));
    for (const value of sealed) expect(await vault.open(value, context)).toBe(SECRET);
    for (const part of [1, 2, 3]) expect(new Set(sealed.map(value => value.split('.')[part])).size).toBe(10);
    expect(sealed.join()).not.toContain(Buffer.from(SECRET).toString('base64url').slice(0, 12));
  });

  it('separates two values: contexts, content keys and ciphertexts cannot be swapped', async () => {
    const vault = vaultOf(key('kms-old'));
    const [mine, other] = await Promise.all([vault.seal(SECRET, context), vault.seal('other', context)]);
    await expect(vault.open(mine, { ...context, owner: 'other' })).rejects.toMatchObject({ code: 'not_authentic' });
    for (const part of [1, 2, 3, 4]) {
      const mixed = mine
        .split('.')
        .with(part, other.split('.')[part] ?? '')
        .join('.');
      await expect(vault.open(mixed, context)).rejects.toMatchObject({ code: 'not_authentic' });
    }
  });

  it('returns the key name of a value without opening it', async () => {
    expect(kidOf(await vaultOf(key('kms-new')).seal(SECRET, context))).toBe('kms-new');
  });

  it('re-wraps values under the current key, except those that already use it', async () => {
    const before = await vaultOf(key('kms-old')).seal(SECRET, context);
    const vault = vaultOf(key('kms-new'), key('kms-old'));
    const after = (await vault.reseal(before, context)) ?? '';
    expect(kidOf(after)).toBe('kms-new');
    expect(await vaultOf(key('kms-new')).open(after, context)).toBe(SECRET);
    expect(await vault.reseal(after, context)).toBeUndefined();
  });

  it('does not re-wrap a value that is not authentic', async () => {
    const before = await vaultOf(key('kms-old')).seal(SECRET, context);
    const vault = vaultOf(key('kms-new'), key('kms-old'));
    await expect(vault.reseal(before, { ...context, owner: 'other' })).rejects.toMatchObject({
      code: 'not_authentic',
    });
  });

  it('names a lost key in the error', async () => {
    const sealed = await vaultOf(key('kms-old')).seal(SECRET, context);
    await expect(vaultOf(key('kms-new')).open(sealed, context)).rejects.toMatchObject({
      code: 'unknown_key',
      kid: 'kms-old',
      message: expect.stringContaining('"kms-old"') as string,
    });
  });

  it('opens values with both keys at once, and each value only with its own', async () => {
    const both = vaultOf(key('kms-new'), key('kms-old'));
    const [before, after] = [await vaultOf(key('kms-old')).seal(SECRET, context), await both.seal(SECRET, context)];
    expect(await Promise.all([both.open(before, context), both.open(after, context)])).toEqual([SECRET, SECRET]);
    const renamed = [...after.split('.')].with(1, before.split('.')[1] ?? '').join('.');
    await expect(both.open(renamed, context)).rejects.toMatchObject({ code: 'not_authentic' });
  });

  it('rejects an altered wrapped key as not authentic', async () => {
    const vault = vaultOf(key('kms-old'));
    const parts = (await vault.seal(SECRET, context)).split('.');
    const wrapped = Buffer.from(parts[1] ?? '', 'base64url');
    const flipped = Buffer.from(wrapped);
    // The fourth byte from the end is not part of an encoding's padding.
    flipped.writeUInt8((wrapped.at(-5) ?? 0) === 0x41 ? 0x42 : 0x41, wrapped.length - 5);
    const altered = parts.with(1, flipped.toString('base64url')).join('.');
    await expect(vault.open(altered, context)).rejects.toMatchObject({ code: 'not_authentic' });
  });
}
