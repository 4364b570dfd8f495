import { generateKeyPairSync } from 'node:crypto';
import { inspect } from 'node:util';
import type { JWK } from 'jose';
import { describe, expect, test } from 'vitest';
import { createEnvironment } from '../gate/environment.ts';
import { accountWorld } from '../testing/account-world.ts';
import { ACCESS_TOKEN } from '../testing/contract-connections.ts';
import { API_KEY } from '../testing/contract-gateway.ts';
import { MCP_SERVER_ID } from '../testing/contract-sealing.ts';

const pair = (keys: {
  publicKey: { export(o: { format: 'jwk' }): JWK };
  privateKey: { export(o: { format: 'jwk' }): JWK };
}) => ({
  publicJwk: keys.publicKey.export({ format: 'jwk' }),
  privateJwk: keys.privateKey.export({ format: 'jwk' }),
});
const p256 = () => pair(generateKeyPairSync('ec', { namedCurve: 'P-256' }));
const kinds = {
  'P-256': p256(),
  'P-521': pair(generateKeyPairSync('ec', { namedCurve: 'P-521' })),
  X25519: pair(generateKeyPairSync('x25519')),
  RSA: pair(generateKeyPairSync('rsa', { modulusLength: 2048 })),
};
const stateKeys = [{ kid: 'a', key: new Uint8Array(32) }];

async function sealedWorld(decryptionKey: JWK | readonly JWK[], registered: JWK) {
  const world = await accountWorld({ decryptionKey });
  world.connections.encryptionKey = registered;
  return world;
}

test.each(Object.entries(kinds))('opens values sealed to %s', async (_kind, { publicJwk, privateJwk }) => {
  await using world = await sealedWorld(privateJwk, publicJwk);
  const answers: unknown[] = [];
  world.connections.tamper = answer => {
    answers.push(answer);
    return answer;
  };
  expect(await world.use(account => account.accessToken())).toBe(world.connections.current('co-el-1'));
  expect(world.gateway.requests.at(-1)?.body).toEqual({ tool: 'create_issue', sealed: true });
  expect(answers).toHaveLength(1);
  expect(answers[0]).not.toHaveProperty('accessToken');
});

test('fetch decrypts sealed tokens and refreshes them', async () => {
  const { publicJwk, privateJwk } = kinds['P-256'];
  await using world = await sealedWorld(privateJwk, publicJwk);
  world.api.accepts = token => token === world.connections.current('co-el-1') && world.connections.renewals === 1;
  const status = await world.use(async account => (await account.fetch(world.api.url)).status);
  expect(status).toBe(200);
  expect(world.api.statuses).toEqual([401, 200]);
});

test('opens values sealed to the old or the new key during a rotation', async () => {
  const old = p256();
  const next = kinds.RSA;
  await using world = await sealedWorld([next.privateJwk, old.privateJwk], old.publicJwk);
  expect(await world.use(account => account.accessToken())).toBe(world.connections.current('co-el-1'));
  world.connections.encryptionKey = next.publicJwk;
  expect(await world.use(account => account.accessToken())).toBe(world.connections.current('co-el-1'));
});

describe('refused', () => {
  const { publicJwk, privateJwk } = kinds['P-256'];
  const code = async (world: Awaited<ReturnType<typeof accountWorld>>) => {
    try {
      return await world.use(account => account.accessToken());
    } catch (error) {
      expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(ACCESS_TOKEN);
      return error instanceof Error && 'code' in error ? error.code : error;
    }
  };

  test('refuses a value sealed to another key', async () => {
    await using world = await sealedWorld(privateJwk, p256().publicJwk);
    expect(await code(world)).toBe('invalid_response');
  });

  test('refuses the token of another connection or generation', async () => {
    await using world = await sealedWorld(privateJwk, publicJwk);
    await world.run(gate => gate.authorize('gitlab'));
    world.gateway.end('completed');
    const foreign = await world.connections.take('co-el-2', { sealed: true });
    const older = await world.connections.take('co-el-1', { sealed: true });
    if (typeof foreign === 'string' || typeof older === 'string') throw new Error('nothing to swap');
    world.connections.tamper = answer => ({ ...answer, ...foreign });
    expect(await code(world)).toBe('invalid_response');
    world.connections.renew('co-el-1');
    world.connections.tamper = answer => ({ ...older, generation: answer.generation });
    expect(await code(world)).toBe('invalid_response');
    world.connections.tamper = answer => answer;
    expect(await code(world)).toBe(world.connections.current('co-el-1'));
  });

  test('refuses an altered value', async () => {
    await using world = await sealedWorld(privateJwk, publicJwk);
    world.connections.tamper = answer =>
      'sealedAccessToken' in answer
        ? { ...answer, sealedAccessToken: answer.sealedAccessToken.replace(/\.[^.]+$/, '.AAAAAAAAAAAAAAAAAAAAAA') }
        : answer;
    expect(await code(world)).toBe('invalid_response');
  });

  test('refuses an unsealed token if a sealed one was requested', async () => {
    await using world = await sealedWorld(privateJwk, publicJwk);
    world.connections.tamper = ({ tokenType, scopes, generation }) => ({
      accessToken: ACCESS_TOKEN,
      tokenType,
      scopes,
      generation,
    });
    expect(await code(world)).toBe('invalid_response');
  });

  test('fails if no key is registered at the gateway', async () => {
    await using world = await accountWorld({ decryptionKey: privateJwk });
    expect(await code(world)).toBe('encryption_key_not_registered');
  });

  test('fails if the operator requires sealing and this side has no key', async () => {
    await using world = await accountWorld();
    world.connections.encryptionKey = publicJwk;
    world.connections.sealsAlways = true;
    expect(await code(world)).toBe('invalid_options');
  });

  test('refuses a value for another MCP server, if this one knows its id', async () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const environment = (mcpServerId: string) =>
      createEnvironment({
        url: 'https://postern.example.com',
        auth: { privateKey: privateKey.export({ format: 'jwk' }), kid: 'k1', mcpServerId },
        stateKeys,
        decryptionKey: privateJwk,
      });
    await using world = await sealedWorld(privateJwk, publicJwk);
    const answer = await world.connections.take('co-el-1', { sealed: true });
    if (typeof answer === 'string' || !('sealedAccessToken' in answer)) throw new Error('nothing is sealed');
    const opened = (mcpServerId: string) =>
      environment(mcpServerId).sealedOpener?.accessToken(answer.sealedAccessToken, {
        connectionId: 'co-el-1',
        generation: 1,
      });
    expect(await opened(MCP_SERVER_ID)).toBe(world.connections.current('co-el-1'));
    await expect(opened('calendar')).rejects.toMatchObject({ code: 'invalid_response' });
  });
});

describe('rejects keys that cannot decrypt at the start, without quoting them', () => {
  const canary = 'canaryCanaryCanaryCanaryCanaryCanaryCanaryC';
  test.each<[string, JWK | readonly JWK[]]>([
    ['none', []],
    ['a public key', kinds['P-256'].publicJwk],
    ['a signing key', pair(generateKeyPairSync('ed25519')).privateJwk],
    [
      'a curve that JOSE does not agree on keys with',
      pair(generateKeyPairSync('ec', { namedCurve: 'secp256k1' })).privateJwk,
    ],
    ['a short RSA key', pair(generateKeyPairSync('rsa', { modulusLength: 1024 })).privateJwk],
    ['a shared secret', { kty: 'oct', k: canary }],
    ['a broken one', { ...kinds['P-256'].privateJwk, x: '!', d: canary }],
    ['one of two', [kinds.RSA.privateJwk, kinds.RSA.publicJwk]],
  ])('%s', (_name, decryptionKey) => {
    let error: unknown;
    try {
      createEnvironment({ url: 'https://postern.example.com', apiKey: API_KEY, decryptionKey });
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toMatchObject({ code: 'invalid_options' });
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(canary);
  });
});
