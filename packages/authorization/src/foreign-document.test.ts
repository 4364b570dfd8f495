import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { startDevice } from './device-flow.ts';
import { emptyCounts, foreignDocument } from './foreign-document.ts';
import { createOauthClient } from './oauth-client.ts';
import type { OutboundFetch } from './outbound/outbound-fetch.ts';
import { pushAuthorization } from './pushed-authorization.ts';
import { createProtectedResources } from './registration/protected-resource-metadata.ts';
import { registerClient } from './registration/registration-endpoint.ts';
import { createMetadataCache } from './server-metadata.ts';
import { providerFrom, redirectUri } from './testing/connect-fixture.ts';
import { failureCodeOf } from './testing/failure-of.ts';
import { withoutNetwork } from './testing/outbound-fetch-fixture.ts';
import { validateTokenResponse } from './token-request.ts';

type Document = Readonly<Record<string, unknown>>;

/** One reader of documents of other parties. */
interface Reader {
  /** A document by the letter of its specification, with all members that are read. */
  readonly tidy: Document;
  /** Members that may be absent, and whose empty value says nothing else. */
  readonly optional: readonly string[];
  readonly read: (fetch: OutboundFetch) => Promise<unknown>;
  /** Changes that make the document dangerous. */
  readonly dangerous: Readonly<Record<string, Document>>;
}

const issuer = 'https://as.example';
const now = () => 1_800_000_000_000;
const metadata = {
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  device_authorization_endpoint: `${issuer}/device`,
  pushed_authorization_request_endpoint: `${issuer}/par`,
  registration_endpoint: `${issuer}/register`,
};
const at = { registration: { clientId: 'postern' }, metadata };
const resource = 'https://mcp.example/mcp';

const refresh = (fetch: OutboundFetch, scopes: readonly string[] = ['read', 'write']) =>
  providerFrom(
    { tokenEndpoint: metadata.token_endpoint, authorizationEndpoint: metadata.authorization_endpoint },
    { fetch, now },
  ).refresh({
    refreshToken: 'old',
    scopes,
    redirectUri,
    issuer: undefined,
    clientId: 'postern',
  });

const readers: Readonly<Record<string, Reader>> = {
  'token response': {
    tidy: { access_token: 'at', token_type: 'Bearer', expires_in: 3600, refresh_token: 'rt', scope: 'read write' },
    optional: ['token_type', 'expires_in', 'refresh_token', 'id_token', 'scope'],
    read: refresh,
    dangerous: {
      'no access token': { access_token: '' },
      'an access token that is no text': { access_token: 12 },
      'a list of access tokens': { access_token: ['at'] },
      'an access token that ends a header': { access_token: 'a\r\nx: y' },
      'an access token without end': { access_token: 'x'.repeat(65_537) },
      'a token of another type': { token_type: 'mac' },
      'a bound token that was not requested': { token_type: 'DPoP' },
      'a refresh token that is no text': { refresh_token: 7 },
    },
  },
  'device authorization': {
    tidy: {
      device_code: 'dc',
      user_code: 'WDJB-MJHT',
      verification_uri: `${issuer}/activate`,
      expires_in: 900,
      interval: 7,
      verification_uri_complete: `${issuer}/activate?code=WDJB-MJHT`,
    },
    optional: ['interval', 'verification_uri_complete'],
    read: fetch => startDevice(createOauthClient({ fetch, now }), at, {}),
    dangerous: {
      'no expiry': { expires_in: null },
      'a user code that hides': { user_code: 'WDJB\u202eTHJM' },
      'a page that is a script': { verification_uri: 'javascript:alert(1)' },
      'a page on this machine': { verification_uri: 'http://localhost:1/' },
    },
  },
  'pushed authorization': {
    tidy: { request_uri: 'urn:request:1', expires_in: 60 },
    optional: ['expires_in'],
    read: async fetch =>
      (await pushAuthorization(createOauthClient({ fetch, now }), at, { state: 's' }, undefined)).href,
    dangerous: {
      'no request': { request_uri: null },
      'several requests': { request_uri: ['urn:a', 'urn:b'] },
      'a request that is a script': { request_uri: 'javascript:alert(1)' },
    },
  },
  'metadata of an authorization server': {
    tidy: {
      ...metadata,
      userinfo_endpoint: `${issuer}/me`,
      require_pushed_authorization_requests: false,
      authorization_response_iss_parameter_supported: true,
      code_challenge_methods_supported: ['S256', 'plain'],
      token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'],
      scopes_supported: ['read', 'write'],
    },
    optional: [
      ...['userinfo_endpoint', 'jwks_uri', 'registration_endpoint', 'revocation_endpoint', 'grant_types_supported'],
      ...['require_pushed_authorization_requests', 'client_id_metadata_document_supported', 'scopes_supported'],
    ],
    read: fetch => createMetadataCache({ fetch, now }).get({ issuer, discovery: 'oidc' }),
    dangerous: {
      'another issuer': { issuer: 'https://evil.example' },
      'the issuer in a list': { issuer: [issuer] },
      'no issuer': { issuer: null },
      'an endpoint without https': { token_endpoint: 'http://as.example/token' },
      'an optional endpoint without https': { userinfo_endpoint: 'http://as.example/me' },
      'an endpoint with credentials': { token_endpoint: 'https://u:p@as.example/token' },
      'an endpoint that is a script': { authorization_endpoint: 'javascript:alert(1)' },
      'a redirect URI of its own': { authorization_endpoint: `${issuer}/authorize?redirect_uri=https://evil.example` },
      'a protection that cannot be read': { require_pushed_authorization_requests: 'perhaps' },
      'a protection that is a number': { authorization_response_iss_parameter_supported: 1 },
      'methods that cannot be read': { code_challenge_methods_supported: { S256: true } },
      'methods that are no texts': { code_challenge_methods_supported: [256] },
    },
  },
  'metadata of a resource': {
    tidy: { resource, authorization_servers: [issuer, 'https://other.example'], scopes_supported: ['read', 'write'] },
    optional: ['scopes_supported'],
    read: fetch => createProtectedResources({ fetch, now }).get(resource, {}),
    dangerous: {
      'another resource': { resource: 'https://mcp.example/other' },
      'the resource in a list': { resource: [resource] },
      'no authorization server': { authorization_servers: null },
      'an authorization server without https': { authorization_servers: ['http://as.example'] },
    },
  },
  registration: {
    tidy: {
      client_id: 'client-1',
      client_secret: 'secret',
      client_secret_expires_at: 1_900_000_000,
      token_endpoint_auth_method: 'client_secret_basic',
      redirect_uris: [redirectUri.href, `${redirectUri.href}/2`],
      registration_client_uri: `${issuer}/register/1`,
      registration_access_token: 'rat',
    },
    optional: [
      'client_secret_expires_at',
      'token_endpoint_auth_method',
      'registration_client_uri',
      'registration_access_token',
    ],
    read: fetch =>
      registerClient({
        metadata,
        redirectUri,
        fetch,
        now,
        description: { clientName: 'Postern', clientUri: issuer } as never,
      }),
    dangerous: {
      'no client': { client_id: '' },
      'a client that is no text': { client_id: 7 },
      'another redirect URI': { redirect_uris: ['https://evil.example/callback'] },
      'no redirect URI': { redirect_uris: null },
      'an unknown authentication': { token_endpoint_auth_method: 'tls_client_auth' },
      'no secret': { client_secret: null },
      'an expired secret': { client_secret_expires_at: '1' },
    },
  },
};

const names = fc.constantFrom(...Object.keys(readers));
const nothing = fc.constantFrom<readonly unknown[]>([], [null], [''], [' '], [[]]);
/** Members that no reader knows. */
const unknownMembers = fc.dictionary(
  fc.stringMatching(/^x_[a-z]{1,5}$/),
  fc.oneof(fc.constantFrom(null, '', [], {}, [null]), fc.jsonValue({ maxDepth: 1 })),
  { maxKeys: 3 },
);

/** Another way to write a value, which the common clients understand. */
function untidily(value: unknown): fc.Arbitrary<unknown> {
  if (typeof value === 'number') return fc.constantFrom(value, `${value}`, `${value}.0`, ` ${value}`, value + 0.5);
  if (typeof value === 'boolean') return fc.constantFrom(value, `${value}`, `${value}`.toUpperCase());
  if (Array.isArray(value))
    return fc.constantFrom(value, value.join(' '), value.join(','), value.join(', '), [null, ...value, '']);
  if (value === 'read write')
    return fc.constantFrom(value, ['read', 'write'], 'read,write', 'read, write', ['read write']);
  if (value === 'Bearer') return fc.constantFrom(value, 'bearer', 'BEARER', ' Bearer');
  return fc.constant(value);
}

/** A document that lacks some optional members, tidily and untidily. */
const documents = fc.tuple(names, fc.infiniteStream(fc.boolean()), unknownMembers).chain(([name, coins, unknown]) => {
  const { tidy, optional } = readers[name] as Reader;
  const absent = optional.filter(() => coins.next().value);
  const left = Object.fromEntries(Object.entries(tidy).filter(([member]) => !absent.includes(member)));
  return fc
    .tuple(
      fc.record(Object.fromEntries(Object.entries(left).map(([member, value]) => [member, untidily(value)]))),
      fc.tuple(...absent.map(member => nothing.map(values => values.map(value => [member, value] as const)))),
      fc.constantFrom(200, 201, 202, 203),
    )
    .map(([members, empties, status]) => ({
      name,
      left,
      untidy: { ...members, ...Object.fromEntries(empties.flat()), ...unknown },
      status,
    }));
});

const answering = (body: string, status = 200) => withoutNetwork(async () => new Response(body, { status }));

describe('S191: documents of other parties', () => {
  it('are understood however untidily they are written', async () => {
    await fc.assert(
      fc.asyncProperty(documents, async ({ name, left, untidy, status }) => {
        const { read } = readers[name] as Reader;
        const meant = await read(answering(JSON.stringify(left)));
        expect(await read(answering(JSON.stringify(untidy), status))).toEqual(meant);
      }),
      { numRuns: 300 },
    );
  });

  const dangers = Object.entries(readers).flatMap(([name, { dangerous }]) =>
    Object.entries(dangerous).map(([danger, changes]) => ({ name, danger, changes })),
  );
  it.each(dangers)('are refused: a $name with $danger', async ({ name, changes }) => {
    const { tidy, read } = readers[name] as Reader;
    for (const extra of [{}, { x: null, y: '' }]) {
      const document = JSON.stringify({ ...tidy, ...extra, ...changes });
      expect(await failureCodeOf(read(answering(document)))).toMatch(/^(invalid_|metadata_mismatch|resource_mismatch)/);
    }
  });

  it('are refused with a duplicate name, also in a member that is not read', async () => {
    await fc.assert(
      fc.asyncProperty(names, fc.nat(), async (name, index) => {
        const { tidy, read } = readers[name] as Reader;
        const entries = Object.entries({ ...tidy, x: { y: 1 } });
        const [member, value] = entries[index % entries.length] as [string, unknown];
        const document = `${JSON.stringify(Object.fromEntries(entries)).slice(0, -1)},"${member}":${JSON.stringify(value)}}`;
        expect(await failureCodeOf(read(answering(document)))).toMatch(/^invalid_/);
      }),
      { numRuns: 50 },
    );
  });

  it('say something with an empty value where that excludes', async () => {
    const tidy = { ...readers['metadata of an authorization server']?.tidy };
    const excluding = ['code_challenge_methods_supported', 'dpop_signing_alg_values_supported', 'protected_resources'];
    const document = { ...tidy, ...Object.fromEntries(excluding.map(member => [member, []])) };
    const found = await createMetadataCache({ fetch: answering(JSON.stringify(document)), now }).get({
      issuer,
      discovery: 'oidc',
    });
    expect(found).toMatchObject(Object.fromEntries(excluding.map(member => [member, []])));
    for (const scope of ['', []]) expect(validateTokenResponse({ access_token: 'at', scope }, 'bearer').scope).toBe('');
  });

  it('are read by foreignDocument in every file that parses them', () => {
    const root = import.meta.dirname;
    const sources = readdirSync(root, { recursive: true, encoding: 'utf8' })
      .filter(path => path.endsWith('.ts') && !path.endsWith('.test.ts') && !path.startsWith('testing'))
      .filter(path => path !== 'foreign-document.ts')
      .map(path => [path, readFileSync(join(root, path), 'utf8')] as const)
      .filter(([, text]) => /\b(jsonMembers|read\w+Document)\b/.test(text) && text.includes("from 'zod'"));
    expect(sources.length).toBeGreaterThan(5);
    expect(sources.filter(([, text]) => /\bz\s*\.object\(/.test(text)).map(([path]) => path)).toEqual([]);
  });
});

describe('foreignDocument', () => {
  const schema = foreignDocument({
    id: z.string(),
    count: z.int().optional(),
    flags: z.array(z.string()).optional().meta(emptyCounts),
    list: z.array(z.string()),
  });

  it.each([
    [
      { id: 'a', list: 'b, c' },
      { id: 'a', list: ['b', 'c'] },
    ],
    [
      { id: 'a', list: [], flags: '' },
      { id: 'a', list: [], flags: [] },
    ],
    [
      { id: 'a', list: [], flags: null, count: null },
      { id: 'a', list: [] },
    ],
    [
      { id: 'a', list: [], count: '-7.9' },
      { id: 'a', list: [], count: -7 },
    ],
    [
      { id: '', list: [] },
      { id: '', list: [] },
    ],
  ])('reads %j', (document, value) => {
    expect(schema.parse(document)).toEqual(value);
  });

  it.each([
    null,
    [],
    'a',
    { id: null, list: [] },
    { id: 'a', list: null },
    { id: 'a', list: [], count: '1e3' },
    Object.create({ id: 'a', list: [] }),
  ])('refuses %j', document => {
    expect(schema.safeParse(document).success).toBe(false);
  });
});
