import { type EvilProvider, startEvilProvider } from '@postern/testkit/providers';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { failureCodeOf } from './failure-of.ts';
import { createOutboundFetch } from './outbound-fetch.ts';
import { withoutNetwork } from './outbound-fetch-fixture.ts';
import { assertPkceSupport, createMetadataCache } from './server-metadata.ts';

const fetch = createOutboundFetch({ allowLoopback: true });
afterAll(() => fetch.close());

describe('createMetadataCache', () => {
  let evil: EvilProvider;
  beforeEach(async () => {
    evil = await startEvilProvider({ clientId: 'postern' });
  });
  afterEach(() => evil.close());

  it('many at once ask once', async () => {
    const cache = createMetadataCache({ fetch, now: () => 0 });
    const found = await Promise.all(Array.from({ length: 50 }, () => cache.get(evil.issuer, 'oidc')));
    expect(new Set(found).size).toBe(1);
    expect(evil.requests('metadata')).toHaveLength(1);
  });

  it('keeps what it read for an hour', async () => {
    let now = 0;
    const cache = createMetadataCache({ fetch, now: () => now });
    await cache.get(evil.issuer, 'oidc');
    now = 3_599_999;
    await cache.get(evil.issuer, 'oidc');
    expect(evil.requests('metadata')).toHaveLength(1);
    now = 3_600_000;
    evil.metadata['token_endpoint'] = `${evil.issuer}/token2`;
    expect((await cache.get(evil.issuer, 'oidc')).token_endpoint).toBe(`${evil.issuer}/token2`);
  });

  it('does not keep a failure', async () => {
    const cache = createMetadataCache({ fetch, now: () => 0 });
    const { metadataAnswer } = evil;
    evil.metadataAnswer = () => ({ status: 503, body: '' });
    expect(await failureCodeOf(cache.get(evil.issuer, 'oidc'))).toBe('provider_unavailable');
    evil.metadataAnswer = metadataAnswer;
    expect(await cache.get(evil.issuer, 'oidc')).toMatchObject({ issuer: evil.issuer });
  });

  it('N13: does not accept another issuer later either', async () => {
    let now = 0;
    const cache = createMetadataCache({ fetch, now: () => now });
    await cache.get(evil.issuer, 'oidc');
    now = 3_600_000;
    evil.metadata['issuer'] = 'https://other.example';
    expect(await failureCodeOf(cache.get(evil.issuer, 'oidc'))).toBe('metadata_mismatch');
  });

  it('reads each kind of metadata at its own place', async () => {
    const cache = createMetadataCache({ fetch, now: () => 0 });
    await cache.get(evil.issuer, 'oidc');
    await cache.get(evil.issuer, 'oauth2');
    expect(evil.requests('metadata').map(({ url }) => url.pathname)).toEqual([
      '/.well-known/openid-configuration',
      '/.well-known/oauth-authorization-server',
    ]);
  });

  it.each([
    ['https://as.example', 'https://git.intern.example/token', 'invalid_metadata'],
    ['https://as.example', 'https://api.example/token', undefined],
    ['https://git.intern.example', 'https://ci.intern.example/token', undefined],
  ])('T48: metadata of %s may lead to %s: %s', async (issuer, token_endpoint, code) => {
    const answer = { issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint };
    const isInside = (url: string | URL) => new URL(url).hostname.endsWith('.intern.example');
    const answering = withoutNetwork(async () => Response.json(answer), isInside);
    const found = createMetadataCache({ fetch: answering, now: () => 0 }).get(issuer, 'oidc');
    if (code === undefined) expect(await found).toMatchObject({ token_endpoint });
    else expect(await failureCodeOf(found)).toBe(code);
  });
});

describe('S14: assertPkceSupport', () => {
  const endpoints = { authorization_endpoint: 'https://as.example/auth', token_endpoint: 'https://as.example/token' };
  const failureWith = (methods: string[] | undefined, allowMissing: boolean) => {
    const metadata = { issuer: 'https://as.example', ...endpoints };
    const listed = methods === undefined ? metadata : { ...metadata, code_challenge_methods_supported: methods };
    return failureCodeOf(() => assertPkceSupport(listed, allowMissing));
  };

  it.each([
    [['plain'], false],
    [['plain'], true],
    [[], true],
    [['s256'], false],
    [undefined, false],
  ])('refuses the methods %j, where missing ones are allowed: %s', async (methods, allowMissing) => {
    expect(await failureWith(methods, allowMissing)).toBe('pkce_unsupported');
  });

  it('accepts S256, and missing methods where the operator allows them', () => {
    const metadata = { issuer: 'https://as.example', ...endpoints };
    const listed = { ...metadata, code_challenge_methods_supported: ['plain', 'S256'] };
    expect(() => assertPkceSupport(listed, false)).not.toThrow();
    expect(() => assertPkceSupport(metadata, true)).not.toThrow();
  });
});
