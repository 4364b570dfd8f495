import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import {
  createReceiptKeys,
  deriveReceiptKey,
  newReceiptKey,
  type ReceiptKey,
  receiptJwkSchema,
} from './receipt-keys.ts';

const [one, other] = await Promise.all([newReceiptKey(), newReceiptKey()]);
const publicOnly = ({ kid, key: { d: _, ...key } }: ReceiptKey): ReceiptKey => ({ kid, key });

describe('createReceiptKeys', () => {
  it('signs with the first key and publishes the public parts of all', () => {
    const keys = createReceiptKeys([one, other]);
    expect(keys.current.kid).toBe(one.kid);
    expect(keys.published).toEqual(
      [one, other].map(({ kid, key }) => ({ kty: 'OKP', crv: 'Ed25519', x: key.x, kid, alg: 'EdDSA', use: 'sig' })),
    );
    expect(inspect(keys, { depth: 10 })).not.toContain(one.key.d);
  });

  it('publishes a retired key that has only its public part', () => {
    const keys = createReceiptKeys([one, publicOnly(other)]);
    expect(keys.published).toEqual(createReceiptKeys([one, other]).published);
  });

  it.each([
    ['no key', []],
    ['a public key first', [publicOnly(one), other]],
  ])('refuses: %s', (_, keys) => {
    expect(() => createReceiptKeys(keys)).toThrow(expect.objectContaining({ code: 'no_signing_key' }));
  });

  it('refuses two keys with the same kid', () => {
    const keys = [one, { ...other, kid: one.kid }];
    expect(() => createReceiptKeys(keys)).toThrow(expect.objectContaining({ code: 'duplicate_kid' }));
  });

  const flipped = (text: string) => `${text.startsWith('A') ? 'B' : 'A'}${text.slice(1)}`;
  it.each<[string, ReceiptKey]>([
    ['x of another key', { kid: 'k', key: { ...one.key, x: other.key.x } }],
    ['an altered d', { kid: 'k', key: { ...one.key, d: flipped(one.key.d ?? '') } }],
    ['a short d', { kid: 'k', key: { ...one.key, d: one.key.d?.slice(1) ?? '' } }],
    ['bits after the last byte', { kid: 'k', key: { ...publicOnly(one).key, x: `${one.key.x.slice(0, 42)}_` } }],
    ['another curve', { kid: 'k', key: { ...one.key, crv: 'X25519' } as unknown as ReceiptKey['key'] }],
    ['a kid with a line break', { ...one, kid: 'a\nb' }],
    ['an empty kid', { ...one, kid: '' }],
  ])('refuses %s, and does not quote the key', (_, key) => {
    for (const keys of [[key], [one, key]]) {
      const refused = keys.length > 1 || key.key.d !== undefined ? 'invalid_key' : 'no_signing_key';
      let thrown: unknown;
      try {
        createReceiptKeys(keys);
      } catch (error) {
        thrown = error;
      }
      expect(thrown).toMatchObject({ name: 'ReceiptError', code: refused });
      expect(inspect(thrown, { depth: 10 })).not.toContain(key.key.d ?? key.key.x);
    }
  });
});

describe('receiptJwkSchema', () => {
  it('accepts a key with the usual members and drops others', () => {
    expect(receiptJwkSchema.parse({ ...one.key, alg: 'EdDSA', use: 'sig', kid: 'x', ext: true })).toEqual(one.key);
  });

  it.each([
    ['for encryption', { use: 'enc' }],
    ['for another algorithm', { alg: 'RS256' }],
    ['of another type', { kty: 'EC' }],
    ['without x', { x: undefined }],
  ])('refuses a key %s', (_, change) => {
    expect(receiptJwkSchema.safeParse({ ...one.key, ...change }).success).toBe(false);
  });
});

describe('deriveReceiptKey', () => {
  const vaultKey = Uint8Array.from({ length: 32 }, (_, at) => at);

  it('always derives the same key from the same vault key', () => {
    // Computed independently, with HKDF of the Python package `cryptography`.
    expect(deriveReceiptKey('vault', vaultKey).key.x).toBe('8G1kAtyc1UWA1W6dznl5E-kHTB2fMtlzqD0_s-aXSqo');
    expect(createReceiptKeys([deriveReceiptKey('vault', vaultKey)]).current.kid).toBe('vault');
  });

  it('derives different keys from different vault keys, and never the vault key', () => {
    const keys = [vaultKey, randomBytes(32), randomBytes(32)].map(key => deriveReceiptKey('vault', key).key);
    expect(new Set(keys.map(({ x }) => x)).size).toBe(3);
    expect(keys[0]?.d).not.toBe(Buffer.from(vaultKey).toString('base64url'));
  });

  it.each([0, 16, 31, 33])('refuses a vault key of %i bytes', length => {
    expect(() => deriveReceiptKey('vault', randomBytes(length))).toThrow(
      expect.objectContaining({ code: 'invalid_key' }),
    );
  });
});

it('newReceiptKey creates another usable key every time', () => {
  expect(createReceiptKeys([one]).current.kid).toBe(one.kid);
  expect(one.kid).toMatch(/^[A-Za-z0-9_-]{43}$/);
  expect(one.key.d).not.toBe(other.key.d);
});
