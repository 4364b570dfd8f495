import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createKeyRing, createVault, kidOf, type SealContext } from './index.ts';

/** S50: a manipulated sealed value either opens to the sealed text in its own context, or does not open. */

const key = fc.uint8Array({ minLength: 32, maxLength: 32 });
const secret = fc.string({ unit: 'grapheme', maxLength: 200 });
const context: fc.Arbitrary<SealContext> = fc
  .dictionary(fc.string({ minLength: 1, maxLength: 8 }), fc.string({ unit: 'grapheme', maxLength: 20 }), { maxKeys: 5 })
  .chain(rest => fc.constantFrom('connection', 'verification').map(purpose => ({ ...rest, purpose })));
const vaultWith = (...keys: Uint8Array[]) =>
  createVault(createKeyRing(keys.map((bytes, at) => ({ kid: `k${at}`, key: bytes }))));
const refused = (call: Promise<unknown>) => expect(call).rejects.toMatchObject({ name: 'VaultError' });
const isSame = (a: SealContext, b: SealContext) => {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].every(name => a[name] === b[name]);
};

describe('S50 sealed values fail closed', () => {
  it('opens under the same context, in any order of its members', () =>
    fc.assert(
      fc.asyncProperty(key, secret, context, async (bytes, value, where) => {
        const vault = vaultWith(bytes);
        const reversed = Object.fromEntries(Object.entries(where).reverse()) as SealContext;
        expect(await vault.open(await vault.seal(value, where), reversed)).toBe(value);
      }),
    ));

  it('does not open in another context', () =>
    fc.assert(
      fc.asyncProperty(key, secret, context, context, async (bytes, value, from, to) => {
        fc.pre(!isSame(from, to));
        const vault = vaultWith(bytes);
        await refused(vault.open(await vault.seal(value, from), to));
      }),
    ));

  it('does not open with any character changed', () =>
    fc.assert(
      fc.asyncProperty(key, secret, context, fc.nat(), fc.nat(), async (bytes, value, where, place, turn) => {
        const vault = vaultWith(bytes);
        const sealed = await vault.seal(value, where);
        const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.';
        const at = place % sealed.length;
        const others = [...alphabet].filter(character => character !== sealed[at]);
        const altered = sealed.slice(0, at) + others[turn % others.length] + sealed.slice(at + 1);
        await refused(vault.open(altered, where));
      }),
      { numRuns: 500 },
    ));

  it('does not open with any bit of any part flipped', () =>
    fc.assert(
      fc.asyncProperty(key, secret, context, fc.nat(4), fc.nat(), async (bytes, value, where, part, place) => {
        const vault = vaultWith(bytes);
        const parts = (await vault.seal(value, where)).split('.');
        const content = Buffer.from(parts[part] ?? '', 'base64url');
        fc.pre(content.byteLength > 0);
        const bit = place % (content.byteLength * 8);
        content.writeUInt8(content.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
        await refused(vault.open(parts.with(part, content.toString('base64url')).join('.'), where));
      }),
      { numRuns: 500 },
    ));

  it('does not open if truncated or lengthened anywhere', () =>
    fc.assert(
      fc.asyncProperty(
        key,
        secret,
        context,
        fc.nat(),
        fc.base64String({ minLength: 1 }),
        async (bytes, value, where, cut, more) => {
          const vault = vaultWith(bytes);
          const sealed = await vault.seal(value, where);
          const at = 1 + (cut % (sealed.length - 1));
          await refused(vault.open(sealed.slice(0, at), where));
          await refused(vault.open(sealed.slice(at), where));
          await refused(vault.open(sealed + more.replace(/=+$/, '').replace(/[+/]/g, '-'), where));
        },
      ),
    ));

  it('does not open if combined from two values of one key and context', () =>
    fc.assert(
      fc.asyncProperty(
        key,
        secret,
        secret,
        context,
        fc.integer({ min: 1, max: 30 }),
        async (bytes, one, two, where, mask) => {
          const vault = vaultWith(bytes);
          const [mine, other] = await Promise.all([vault.seal(one, where), vault.seal(two, where)]);
          const theirs = other.split('.');
          const mixed = mine
            .split('.')
            .map((part, at) => ((mask >> at) & 1 ? (theirs[at] ?? '') : part))
            .join('.');
          fc.pre(mixed !== mine && mixed !== other);
          await refused(vault.open(mixed, where));
        },
      ),
    ));

  it('does not open with another algorithm or key in its header', () =>
    fc.assert(
      fc.asyncProperty(
        key,
        key,
        secret,
        context,
        fc.record(
          {
            alg: fc.constantFrom(
              'dir',
              'A128GCMKW',
              'A256KW',
              'A256GCM',
              'none',
              'RSA1_5',
              'PBES2-HS256+A128KW',
              'A256GCMKW',
            ),
            enc: fc.constantFrom('A128GCM', 'A128CBC-HS256', 'A256CBC-HS512', 'none', 'A256GCM'),
            kid: fc.constantFrom('k0', 'k1', 'k2', '', '../k0'),
            zip: fc.constant('DEF'),
            crit: fc.constant(['b64']),
          },
          { requiredKeys: [] },
        ),
        async (bytes, more, value, where, changes) => {
          const vault = vaultWith(bytes, more);
          const parts = (await vault.seal(value, where)).split('.');
          const header = JSON.parse(Buffer.from(parts[0] ?? '', 'base64url').toString()) as object;
          const forged = Buffer.from(JSON.stringify({ ...header, ...changes })).toString('base64url');
          fc.pre(forged !== parts[0]);
          await refused(vault.open(parts.with(0, forged).join('.'), where));
        },
      ),
      { numRuns: 300 },
    ));

  it('does not open text that was never sealed', () =>
    fc.assert(
      fc.asyncProperty(key, fc.string({ unit: 'binary', maxLength: 300 }), context, async (bytes, text, where) => {
        await refused(vaultWith(bytes).open(text, where));
        expect(() => kidOf(text)).toThrowError(expect.objectContaining({ code: 'not_authentic' }));
      }),
    ));
});
