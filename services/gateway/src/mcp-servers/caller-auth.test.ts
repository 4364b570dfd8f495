import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { SignJWT, UnsecuredJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import type { GatewayConfigInput } from '../platform/config/config-schema.ts';
import { parseConfig } from '../platform/config/load-config.ts';
import { storageQuotaOf } from '../platform/config/mcp-server-config.ts';
import { type RequestContext, requestFields, runInRequest } from '../platform/http/request-context.ts';
import { hashOf, sampleConfig, sampleMcpServer } from '../testing/sample-config.ts';
import { idOfFileKey } from './api-keys.ts';
import { createCallerDirectory } from './caller-auth.ts';
import { registerMcpServer } from './registered-mcp-server.ts';

type ServerInput = GatewayConfigInput['mcpServers'][number];
const AUDIENCE = 'https://gate.example';
const START = Date.UTC(2026, 0, 1);
const [STORED, WITHDRAWN, UNKNOWN] = ['a', 'b', 'c'].map(letter => `pk_${letter.repeat(43)}`) as [
  string,
  string,
  string,
];
const digestOfKey = (key: string) => hashOf(key).slice('sha256:'.length);

function directoryOf(...mcpServers: ServerInput[]) {
  let time = START;
  const config = parseConfig(sampleConfig({ mcpServers }));
  const directory = createCallerDirectory({
    mcpServers: new Map(
      config.mcpServers.map(server => [server.id, registerMcpServer(server, storageQuotaOf(server, config))]),
    ),
    audience: AUDIENCE,
    now: () => time,
    apiKeys: {
      find: digest => (digest === digestOfKey(STORED) ? { apiKeyId: 'ak_stored', mcpServerId: 'tracker' } : undefined),
      isRevoked: digest => digest === digestOfKey('pk_revoked'),
      isValid: digest => digest === digestOfKey(STORED),
      idOfWithdrawn: digest => (digest === digestOfKey(WITHDRAWN) ? 'ak_withdrawn' : undefined),
    },
  });
  const setTime = (epochMs: number) => {
    time = epochMs;
  };
  return {
    setTime,
    config,
    who: async (bearer: string) => (await directory.identify(bearer))?.mcpServer.mcpServerId,
    /** The id that the audit lines of a request with this bearer have. */
    named: (bearer: string) =>
      new Promise(resolve => {
        const context: RequestContext = { requestId: 'rq_1', source: '192.0.2.7' };
        runInRequest(context, () => void directory.identify(bearer).then(() => resolve(requestFields().apiKeyId)));
      }),
  };
}
const server = (overrides: Partial<ServerInput>): ServerInput => ({ ...sampleMcpServer, ...overrides });

describe('S41: API keys', () => {
  it('API keys are stored only as hashes, and a hash is not a valid key', async () => {
    const { config, who } = directoryOf(server({ apiKeys: [{ hash: hashOf('pk_one') }] }));
    expect(await who('pk_one')).toBe('tracker');
    expect(JSON.stringify(config)).not.toContain('pk_one');
    expect(await who(hashOf('pk_one'))).toBeUndefined();
    expect(await who(hashOf('pk_one').slice('sha256:'.length))).toBeUndefined();
  });

  it.each(['', 'pk_on', 'pk_one ', 'PK_ONE', 'pk_one\0', 'pk_onf'])('refuses %j', async bearer => {
    const { who } = directoryOf(server({ apiKeys: [{ hash: hashOf('pk_one') }] }));
    expect(await who(bearer)).toBeUndefined();
  });

  it('overlap during rotation and end when they expire', async () => {
    const expires = new Date(START + 60_000).toISOString();
    const { setTime, who } = directoryOf(
      server({ apiKeys: [{ hash: hashOf('pk_old'), expires }, { hash: hashOf('pk_new') }] }),
    );
    expect([await who('pk_old'), await who('pk_new')]).toEqual(['tracker', 'tracker']);
    setTime(START + 59_999);
    expect(await who('pk_old')).toBe('tracker');
    setTime(START + 60_000);
    expect([await who('pk_old'), await who('pk_new')]).toEqual([undefined, 'tracker']);
  });

  it('take an expiry in any time zone', async () => {
    const { setTime, who } = directoryOf(
      server({ apiKeys: [{ hash: hashOf('pk_old'), expires: '2026-01-01T01:00:00+01:00' }] }),
    );
    expect(await who('pk_old')).toBeUndefined();
    setTime(START - 1);
    expect(await who('pk_old')).toBe('tracker');
  });

  it('S181: are named by their id in audit lines, also when they are refused, and unknown ones are not', async () => {
    const expires = new Date(START).toISOString();
    const keys = ['pk_one', 'pk_revoked'].map(key => ({ hash: hashOf(key) }));
    const { who, named } = directoryOf(server({ apiKeys: [...keys, { hash: hashOf('pk_old'), expires }] }));
    for (const key of ['pk_one', 'pk_revoked', 'pk_old']) expect(await named(key)).toBe(idOfFileKey(digestOfKey(key)));
    expect([await named(STORED), await named(WITHDRAWN)]).toEqual(['ak_stored', 'ak_withdrawn']);
    for (const refused of ['pk_revoked', 'pk_old', WITHDRAWN]) expect(await who(refused)).toBeUndefined();
    for (const unknown of [UNKNOWN, 'pk_two', 'a.b.c']) expect(await named(unknown)).toBeUndefined();
  });

  it('belong to one MCP server', async () => {
    const { who } = directoryOf(
      server({ apiKeys: [{ hash: hashOf('pk_one') }] }),
      server({ id: 'other', apiKeys: [{ hash: hashOf('pk_two') }] }),
    );
    expect([await who('pk_one'), await who('pk_two')]).toEqual(['tracker', 'other']);
  });
});

describe('S41: signed JWTs', () => {
  const mine = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const others = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const jwk = (key: KeyObject, kid: string) =>
    ({ ...key.export({ format: 'jwk' }), kid }) as { kty: 'EC'; kid: string };
  const world = () =>
    directoryOf(
      server({ apiKeys: [], jwks: { keys: [jwk(mine.publicKey, 'k1'), jwk(rsa.publicKey, 'k2')] } }),
      server({ id: 'other', apiKeys: [], jwks: { keys: [jwk(others.publicKey, 'k1')] } }),
      server({ id: 'keyed', apiKeys: [{ hash: hashOf('pk_keyed') }] }),
    );

  interface Shape {
    alg?: string;
    kid?: string;
    key?: KeyObject | Uint8Array;
    claims?: Record<string, unknown>;
  }
  const seconds = START / 1000;
  const good = { iss: 'tracker', sub: 'tracker', aud: AUDIENCE, iat: seconds, exp: seconds + 60 };
  function sign({ alg = 'ES256', kid = 'k1', key = mine.privateKey, claims = {} }: Shape = {}): Promise<string> {
    const payload = Object.fromEntries(
      Object.entries({ ...good, ...claims }).filter(([, value]) => value !== undefined),
    );
    return new SignJWT(payload).setProtectedHeader({ alg, kid }).sign(key);
  }

  it('signed JWTs are accepted with the registered keys', async () => {
    const { who } = world();
    expect(await who(await sign())).toBe('tracker');
    expect(await who(await sign({ claims: { aud: [AUDIENCE] } }))).toBe('tracker');
    expect(await who(await sign({ alg: 'PS256', kid: 'k2', key: rsa.privateKey }))).toBe('tracker');
    expect(await who(await sign({ key: others.privateKey, claims: { iss: 'other', sub: 'other' } }))).toBe('other');
  });

  it.each<[string, Shape]>([
    ['signed with the key of another MCP server', { key: others.privateKey }],
    ['signed by another MCP server with its own subject', { key: others.privateKey, claims: { sub: 'other' } }],
    ['in the name of another MCP server', { claims: { iss: 'other', sub: 'other' } }],
    ['in the name of an MCP server without keys', { claims: { iss: 'keyed', sub: 'keyed' } }],
    ['about another subject', { claims: { sub: 'other' } }],
    ['without subject', { claims: { sub: undefined } }],
    ['without issuer', { claims: { iss: undefined } }],
    ['for another audience', { claims: { aud: 'https://elsewhere.example' } }],
    ['for two audiences', { claims: { aud: [AUDIENCE, 'https://elsewhere.example'] } }],
    ['without audience', { claims: { aud: undefined } }],
    ['expired', { claims: { iat: seconds - 120, exp: seconds - 31 } }],
    ['without expiry', { claims: { exp: undefined } }],
    ['without iat', { claims: { iat: undefined } }],
    ['with a lifetime that is too long', { claims: { exp: seconds + 301 } }],
    ['issued too long ago', { claims: { iat: seconds - 400, exp: seconds + 60 } }],
    ['issued in the future', { claims: { iat: seconds + 120, exp: seconds + 180 } }],
    ['not valid yet', { claims: { nbf: seconds + 120 } }],
    ['with an unknown key id', { kid: 'k9' }],
    ['whose expiry is not a number', { claims: { exp: 'tomorrow' } }],
  ])('signed JWTs are refused %s', async (_, shape) => {
    const { who } = world();
    expect(await who(await sign(shape))).toBeUndefined();
  });

  it('signed JWTs are refused if a public key was used as a shared secret', async () => {
    const { who } = world();
    for (const format of ['pem', 'der'] as const) {
      const secret = rsa.publicKey.export({ type: 'spki', format });
      const key = new Uint8Array(Buffer.from(secret));
      expect(await who(await sign({ alg: 'HS256', kid: 'k2', key }))).toBeUndefined();
    }
  });

  it('signed JWTs are refused unsigned, altered or truncated', async () => {
    const { who } = world();
    expect(await who(new UnsecuredJWT(good).encode())).toBeUndefined();
    const [header = '', payload = '', signature = ''] = (await sign()).split('.');
    const altered = Buffer.from(JSON.stringify({ ...good, exp: seconds + 61 })).toString('base64url');
    for (const bearer of [
      `${header}.${altered}.${signature}`,
      `${header}.${payload}.`,
      `${header}.${payload}.${signature.slice(0, -4)}`,
      `${Buffer.from('{"alg":"none"}').toString('base64url')}.${payload}.`,
      '..',
      'a.b.c',
      `${Buffer.from('null').toString('base64url')}.${Buffer.from('null').toString('base64url')}.x`,
    ]) {
      expect(await who(bearer)).toBeUndefined();
    }
  });
});
