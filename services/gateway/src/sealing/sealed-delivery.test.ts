import { generateKeyPairSync } from 'node:crypto';
import { compactDecrypt, decodeProtectedHeader, importJWK, type JWK } from 'jose';
import { describe, expect, it } from 'vitest';
import { deliveryAlgorithm } from '../platform/config/json-web-keys.ts';
import { sealFor } from './sealed-delivery.ts';

const context = {
  type: 'access-token',
  mcpServerId: 'issue-tracker',
  connectionId: 'cn_00',
  generation: 1_767_225_600_000_001,
} as const;
const jwkOf = (key: { export(options: { format: 'jwk' }): object }): JWK => key.export({ format: 'jwk' });

const pairs = {
  RSA: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  'P-256': generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  'P-384': generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  'P-521': generateKeyPairSync('ec', { namedCurve: 'P-521' }),
  X25519: generateKeyPairSync('x25519'),
};

describe.each([
  { kind: 'RSA', alg: 'RSA-OAEP-256' },
  { kind: 'P-256', alg: 'ECDH-ES' },
  { kind: 'P-384', alg: 'ECDH-ES' },
  { kind: 'P-521', alg: 'ECDH-ES' },
  { kind: 'X25519', alg: 'ECDH-ES' },
] as const)('sealed for a key of $kind', ({ kind, alg }) => {
  const { publicKey, privateKey } = pairs[kind];
  const open = async (sealed: string) => {
    const { plaintext, protectedHeader } = await compactDecrypt(sealed, await importJWK(jwkOf(privateKey), alg));
    return { text: new TextDecoder().decode(plaintext), protectedHeader };
  };

  it('only the holder of the key can open the token, with its context', async () => {
    const sealed = await sealFor({ ...jwkOf(publicKey), kid: 'this-year' }, 'access-token-1', context);
    expect(sealed).not.toContain('access-token-1');
    expect(await open(sealed)).toMatchObject({
      text: 'access-token-1',
      protectedHeader: {
        alg,
        enc: 'A256GCM',
        typ: 'postern-access-token+jwe',
        kid: 'this-year',
        aud: 'issue-tracker',
        connectionId: 'cn_00',
        generation: context.generation,
      },
    });
  });

  it('a changed context fails the authentication', async () => {
    const [header = '', ...rest] = (await sealFor(jwkOf(publicKey), 'access-token-1', context)).split('.');
    const parsed = decodeProtectedHeader([header, ...rest].join('.'));
    expect(parsed).not.toHaveProperty('kid');
    const forged = Buffer.from(JSON.stringify({ ...parsed, aud: 'calendar' })).toString('base64url');
    await expect(open([forged, ...rest].join('.'))).rejects.toMatchObject({ code: 'ERR_JWE_DECRYPTION_FAILED' });
  });
});

it.each([generateKeyPairSync('ed25519').publicKey, generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).publicKey])(
  'a key that cannot encrypt has no algorithm',
  async key => {
    expect(deliveryAlgorithm(jwkOf(key))).toBeUndefined();
    await expect(sealFor(jwkOf(key), 'access-token-1', context)).rejects.toThrow(TypeError);
  },
);
