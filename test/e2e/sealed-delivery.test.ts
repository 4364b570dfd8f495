import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { ServerContext } from '@modelcontextprotocol/server';
import type { PlainAccessToken, SealedAccessToken } from '@postern/api';
import { ConfigError } from '@postern/gateway';
import type { PosternOptions } from '@postern/mcp';
import { compactDecrypt, decodeProtectedHeader, importJWK, type JWK } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connected } from '../support/connections.ts';
import { startGatedEndpoint } from '../support/gated-endpoint.ts';
import { modernCall } from '../support/modern-call.ts';
import { type Answer, keyOf, startWorld, type World } from '../support/world.ts';

interface KeyPair {
  readonly privateKey: JWK;
  readonly publicKey: { readonly kty: 'RSA' | 'EC' | 'OKP' };
}
type DecryptionKey = NonNullable<PosternOptions<ServerContext>['decryptionKey']>;

function jwks({ privateKey, publicKey }: { privateKey: KeyObject; publicKey: KeyObject }): KeyPair {
  return {
    privateKey: privateKey.export({ format: 'jwk' }) as JWK,
    publicKey: publicKey.export({ format: 'jwk' }) as KeyPair['publicKey'],
  };
}
const pairs = {
  rsa: jwks(generateKeyPairSync('rsa', { modulusLength: 2048 })),
  p256: jwks(generateKeyPairSync('ec', { namedCurve: 'P-256' })),
  p384: jwks(generateKeyPairSync('ec', { namedCurve: 'P-384' })),
  x25519: jwks(generateKeyPairSync('x25519')),
} as const;
const names = Object.keys(pairs) as (keyof typeof pairs)[];
const algorithms = { rsa: 'RSA-OAEP-256', p256: 'ECDH-ES', p384: 'ECDH-ES', x25519: 'ECDH-ES' } as const;

let world: World;

beforeAll(async () => {
  world = await startWorld({
    otherMcpServers: names.flatMap(id => [
      { id, encryption: { key: { kid: id, ...pairs[id].publicKey }, required: true } },
      { id: `${id}-optional`, encryption: { key: { ...pairs[id].publicKey } } },
    ]),
  });
});
afterAll(() => world?.[Symbol.asyncDispose]());

const apiOf = (id: string) => world.apiOf({ apiKey: keyOf(id) });

async function openedWith({ privateKey }: KeyPair, sealed: string, alg: string): Promise<string> {
  const { plaintext } = await compactDecrypt(sealed, await importJWK(privateKey, alg));
  return new TextDecoder().decode(plaintext);
}

describe('sealed delivery', () => {
  it.each(names)('to a key of type %s, if required, returns only a sealed token that only that key opens', async id => {
    const { connectionId } = await connected(world, { user: world.subject(), api: apiOf(id) });
    const answer = (await apiOf(id).accessToken(connectionId)) as unknown as Answer<SealedAccessToken>;
    expect(answer.status).toBe(200);
    expect(answer.body).not.toHaveProperty('accessToken');
    const { sealedAccessToken, generation } = answer.body;
    expect(decodeProtectedHeader(sealedAccessToken)).toMatchObject({
      alg: algorithms[id],
      enc: 'A256GCM',
      kid: id,
      aud: id,
      connectionId,
      generation,
    });
    const accessToken = await openedWith(pairs[id], sealedAccessToken, algorithms[id]);
    expect(world.provider.tokens.statusOf(accessToken)).toBe('current');
    expect(JSON.stringify(answer.body)).not.toContain(accessToken);
    const other = jwks(
      id === 'rsa'
        ? generateKeyPairSync('rsa', { modulusLength: 2048 })
        : id === 'x25519'
          ? generateKeyPairSync('x25519')
          : generateKeyPairSync('ec', { namedCurve: id === 'p256' ? 'P-256' : 'P-384' }),
    );
    await expect(openedWith(other, sealedAccessToken, algorithms[id])).rejects.toThrow();
    // Each delivery is encrypted under a new key.
    const again = (await apiOf(id).accessToken(connectionId)) as unknown as Answer<SealedAccessToken>;
    expect(again.body.sealedAccessToken).not.toBe(sealedAccessToken);
  });

  it.each(names)('to a key of type %s, if not required, seals on request', async id => {
    const api = apiOf(`${id}-optional`);
    const { connectionId } = await connected(world, { user: world.subject(), api });
    const plain = (await api.accessToken(connectionId)).body as PlainAccessToken;
    const sealed = (await api.accessToken(connectionId, { sealed: true })).body as unknown as SealedAccessToken;
    expect(sealed).not.toHaveProperty('accessToken');
    expect(await openedWith(pairs[id], sealed.sealedAccessToken, algorithms[id])).toBe(plain.accessToken);
  });

  it('is refused without a registered key', async () => {
    const { connectionId } = await connected(world, { user: world.subject() });
    const { status, body } = await world.api.accessToken(connectionId, { sealed: true });
    expect([status, body.code]).toEqual([422, 'encryption_key_not_registered']);
  });

  it.each(names)('is opened by @postern/mcp with a key of type %s', async id => {
    const user = world.subject();
    await connected(world, { user, api: apiOf(id) });
    const call = async (decryptionKey: DecryptionKey) => {
      await using endpoint = await startGatedEndpoint(world, { mcpServerId: id, postern: { decryptionKey } });
      return (await modernCall(endpoint.url, { tool: 'connect', subject: user })).text;
    };
    expect(await call(pairs[id].privateKey)).toBe('accept alice');
    // The MCP server rotates: it has the old and the new key.
    expect(await call([pairs.p384.privateKey, pairs[id].privateKey])).toBe('accept alice');
    expect(await call(jwks(generateKeyPairSync('ec', { namedCurve: 'P-256' })).privateKey)).toMatch(/^error /);
  });

  it('@postern/mcp with a key rejects an unsealed token', async () => {
    const user = world.subject();
    await connected(world, { user });
    await using endpoint = await startGatedEndpoint(world, { postern: { decryptionKey: pairs.p256.privateKey } });
    expect((await modernCall(endpoint.url, { tool: 'connect', subject: user })).text).toMatch(/^error /);
  });
});

describe('configuration', () => {
  const faultsOf = async (key: object) => {
    const started = startWorld({ mcpServer: { encryption: { key } } as object });
    const error: unknown = await started.then(
      async other => {
        await other[Symbol.asyncDispose]();
        return undefined;
      },
      (reason: unknown) => reason,
    );
    if (!(error instanceof ConfigError)) throw new Error('it started');
    return error;
  };

  it.each(names)('a private key of type %s is refused and not repeated in the error', async id => {
    const error = await faultsOf(pairs[id].privateKey);
    expect(error.faults.map(({ path }) => path).join()).toContain('mcpServers[0].encryption.key');
    expect(JSON.stringify(error.faults) + error.message).not.toContain(String(pairs[id].privateKey.d));
  });

  it.each([
    ['one for signatures', { ...pairs.p256.publicKey, use: 'sig' }],
    ['a key that does not support encryption', jwks(generateKeyPairSync('ed25519')).publicKey],
    ['a short one', jwks(generateKeyPairSync('rsa', { modulusLength: 1024 })).publicKey],
    ['a symmetric one', { kty: 'oct', k: 'A'.repeat(43) }],
  ])('%s is refused', async (_, key) => {
    const error = await faultsOf(key);
    expect(error.faults.map(({ path }) => path).join()).toContain('mcpServers[0].encryption.key');
  });
});
