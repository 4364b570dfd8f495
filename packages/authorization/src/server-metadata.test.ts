import { type EvilProvider, type HttpListener, listenHttp, startEvilProvider } from '@postern/testkit/providers';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createOutboundFetch } from './outbound/outbound-fetch.ts';
import { OutboundError } from './outbound/outbound-policy.ts';
import {
  type AuthorizationServer,
  assertPkceSupport,
  createMetadataCache,
  createPromiseCache,
} from './server-metadata.ts';
import { failureCodeOf } from './testing/failure-of.ts';
import { withoutNetwork } from './testing/outbound-fetch-fixture.ts';

const fetch = createOutboundFetch({ allowLoopback: true });
afterAll(() => fetch.close());

describe('createMetadataCache', () => {
  let evil: EvilProvider;
  beforeEach(async () => {
    evil = await startEvilProvider({ clientId: 'postern' });
  });
  afterEach(() => evil.close());

  it('sends one request for concurrent callers', async () => {
    const cache = createMetadataCache({ fetch, now: () => 0 });
    const found = await Promise.all(
      Array.from({ length: 50 }, () => cache.get({ issuer: evil.issuer, discovery: 'oidc' })),
    );
    expect(new Set(found).size).toBe(1);
    expect(evil.requests('metadata')).toHaveLength(1);
  });

  it('caches metadata for an hour', async () => {
    let now = 1;
    const cache = createMetadataCache({ fetch, now: () => now });
    await cache.get({ issuer: evil.issuer, discovery: 'oidc' });
    now += 3_599_999;
    await cache.get({ issuer: evil.issuer, discovery: 'oidc' });
    expect(evil.requests('metadata')).toHaveLength(1);
    now += 1;
    evil.metadata['token_endpoint'] = `${evil.issuer}/token2`;
    expect((await cache.get({ issuer: evil.issuer, discovery: 'oidc' })).token_endpoint).toBe(`${evil.issuer}/token2`);
  });

  it('does not cache a failure', async () => {
    const cache = createMetadataCache({ fetch, now: () => 0 });
    const { metadataAnswer } = evil;
    evil.metadataAnswer = () => ({ status: 503, body: '' });
    expect(await failureCodeOf(cache.get({ issuer: evil.issuer, discovery: 'oidc' }))).toBe('provider_unavailable');
    evil.metadataAnswer = metadataAnswer;
    expect(await cache.get({ issuer: evil.issuer, discovery: 'oidc' })).toMatchObject({ issuer: evil.issuer });
  });

  it('N13: refuses another issuer after the cached metadata has expired', async () => {
    let now = 1;
    const cache = createMetadataCache({ fetch, now: () => now });
    await cache.get({ issuer: evil.issuer, discovery: 'oidc' });
    now += 3_600_000;
    evil.metadata['issuer'] = 'https://other.example';
    expect(await failureCodeOf(cache.get({ issuer: evil.issuer, discovery: 'oidc' }))).toBe('metadata_mismatch');
  });

  it('fetches each kind of metadata from its own URL', async () => {
    const cache = createMetadataCache({ fetch, now: () => 0 });
    await cache.get({ issuer: evil.issuer, discovery: 'oidc' });
    await cache.get({ issuer: evil.issuer, discovery: 'oauth2' });
    expect(evil.requests('metadata').map(({ url }) => url.pathname)).toEqual([
      '/.well-known/openid-configuration',
      '/.well-known/oauth-authorization-server',
    ]);
  });

  it.each([
    ['https://as.example', 'https://git.intern.example/token', 'invalid_metadata'],
    ['https://as.example', 'https://api.example/token', undefined],
    ['https://git.intern.example', 'https://ci.intern.example/token', undefined],
  ])('T48: for metadata of %s with the endpoint %s, the error is %s', async (issuer, token_endpoint, code) => {
    const answer = { issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint };
    const isInside = (url: string | URL) => new URL(url).hostname.endsWith('.intern.example');
    const answering = withoutNetwork(async () => Response.json(answer), isInside);
    const found = createMetadataCache({ fetch: answering, now: () => 0 }).get({ issuer, discovery: 'oidc' });
    if (code === undefined) expect(await found).toMatchObject({ token_endpoint });
    else expect(await failureCodeOf(found)).toBe(code);
  });
});

describe('S172: end_session_endpoint', () => {
  const issuer = 'https://as.example';
  it.each([
    [`${issuer}/end?tenant=1`, `${issuer}/end?tenant=1`],
    ['http://as.example/end', undefined],
    ['http://localhost/end', undefined],
    ['https://git.intern.example/end', undefined],
    [`${issuer}/end#x`, undefined],
    ['javascript:alert(1)', undefined],
    [42, undefined],
  ])('of %j is %j, and never stops the sign-in', async (end_session_endpoint, expected) => {
    const endpoints = { authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` };
    const isInside = (url: string | URL) => new URL(url).hostname.endsWith('.intern.example');
    const answering = withoutNetwork(
      async () => Response.json({ issuer, ...endpoints, end_session_endpoint }),
      isInside,
    );
    const found = await createMetadataCache({ fetch: answering, now: () => 0 }).get({ issuer, discovery: 'oidc' });
    expect(found.end_session_endpoint).toBe(expected);
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
  ])('refuses the methods %j (missing methods allowed: %s)', async (methods, allowMissing) => {
    expect(await failureWith(methods, allowMissing)).toBe('pkce_unsupported');
  });

  it('accepts S256, and missing methods if the operator allows them', () => {
    const metadata = { issuer: 'https://as.example', ...endpoints };
    const listed = { ...metadata, code_challenge_methods_supported: ['plain', 'S256'] };
    expect(() => assertPkceSupport(listed, false)).not.toThrow();
    expect(() => assertPkceSupport(metadata, true)).not.toThrow();
  });
});

let listener: HttpListener | undefined;
afterEach(async () => {
  await listener?.close();
  listener = undefined;
});

/** Serves the given document per path, and `otherwise` for every other path. */
async function authorizationServer(
  documents: (origin: string) => Record<string, unknown>,
  otherwise: { status: number; body: string } = { status: 404, body: '' },
  locations: Readonly<Record<string, string>> = {},
) {
  const asked: string[] = [];
  listener = await listenHttp((request, response) => {
    const path = request.url ?? '';
    asked.push(path);
    const document = documents(origin)[path];
    const location = locations[path];
    if (location !== undefined) response.writeHead(301, { location }).end();
    else if (document === undefined) response.writeHead(otherwise.status).end(otherwise.body);
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document));
  });
  const origin = `http://localhost:${listener.port}`;
  /** @param discovery `null`: none is configured */
  const discover = (issuer: string, discovery: AuthorizationServer['discovery'] | null = 'mcp') =>
    createMetadataCache({ fetch, now: () => 0 }).get({ issuer, discovery: discovery ?? undefined });
  return { origin, asked, discover };
}

const metadata = (issuer: string, changes: Record<string, unknown> = {}) => ({
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  ...changes,
});

const withPath = {
  inserted: '/.well-known/oauth-authorization-server/tenant',
  openIdInserted: '/.well-known/openid-configuration/tenant',
  openIdAppended: '/tenant/.well-known/openid-configuration',
};

describe('metadata at a single URL', () => {
  it.each([
    ['oidc', withPath.openIdAppended],
    ['oauth2', withPath.inserted],
  ] as const)('%s: is fetched for an issuer with a path', async (algorithm, place) => {
    const { origin, asked, discover } = await authorizationServer(at => ({ [place]: metadata(`${at}/tenant`) }));
    expect(await discover(`${origin}/tenant`, algorithm)).toMatchObject({ issuer: `${origin}/tenant` });
    expect(asked).toEqual([place]);
  });

  it.each(['oidc', 'oauth2'] as const)('%s: is not searched at other URLs', async algorithm => {
    const { origin, asked, discover } = await authorizationServer(() => ({}));
    expect(await failureCodeOf(discover(`${origin}/tenant`, algorithm))).toBe('invalid_metadata');
    expect(asked).toHaveLength(1);
  });
});

describe('metadata without a configured place', () => {
  it.each([
    ['OpenID Connect', withPath.openIdAppended, [withPath.openIdAppended]],
    ['RFC 8414', withPath.inserted, [withPath.openIdAppended, withPath.inserted]],
  ])('is found at the place of %s', async (_, place, expected) => {
    const { origin, asked, discover } = await authorizationServer(at => ({ [place]: metadata(`${at}/tenant`) }), {
      status: 401,
      body: '',
    });
    expect(await discover(`${origin}/tenant`, null)).toMatchObject({ issuer: `${origin}/tenant` });
    expect(asked).toEqual(expected);
  });

  it('S195: is refused if the first document names another issuer, whatever the second says', async () => {
    const { origin, asked, discover } = await authorizationServer(at => ({
      [withPath.openIdAppended]: metadata('https://other.example'),
      [withPath.inserted]: metadata(`${at}/tenant`),
    }));
    expect(await failureCodeOf(discover(`${origin}/tenant`, null))).toBe('metadata_mismatch');
    expect(asked).toEqual([withPath.openIdAppended]);
  });
});

describe('S194: metadata of an issuer with another text', () => {
  it.each([
    ['', '/'],
    ['/', ''],
  ])('may drop or add the slash of an empty path ("%s", "%s")', async (configured, named) => {
    const { origin, discover } = await authorizationServer(at => ({
      '/.well-known/openid-configuration': { ...metadata(at), issuer: `${at}${named}` },
    }));
    expect(await discover(`${origin}${configured}`, 'oidc')).toMatchObject({ issuer: `${origin}${named}` });
  });

  it('is fetched from metadataUrl only, and must name the configured issuer', async () => {
    const { origin, asked } = await authorizationServer(at => ({
      '/policy/.well-known/openid-configuration': metadata(`${at}/guid/v2.0/`),
      '/guid/v2.0/.well-known/openid-configuration': metadata(`${at}/guid/v2.0`),
    }));
    const metadataUrl = `${origin}/policy/.well-known/openid-configuration`;
    const cache = createMetadataCache({ fetch, now: () => 0 });
    const found = await cache.get({ issuer: `${origin}/guid/v2.0/`, metadataUrl });
    expect(found).toMatchObject({ issuer: `${origin}/guid/v2.0/` });
    for (const issuer of [`${origin}/guid/v2.0`, `${origin}/policy`, origin])
      expect(await failureCodeOf(cache.get({ issuer, metadataUrl }))).toBe('metadata_mismatch');
    expect(new Set(asked)).toEqual(new Set(['/policy/.well-known/openid-configuration']));
  });

  it('must name the template of a multi-tenant issuer literally', async () => {
    const { origin } = await authorizationServer(at => ({
      '/organizations/.well-known/openid-configuration': metadata(`${at}/{tenantid}/v2.0`),
    }));
    const metadataUrl = `${origin}/organizations/.well-known/openid-configuration`;
    const cache = createMetadataCache({ fetch, now: () => 0 });
    const tenants = ['a'];
    expect(await cache.get({ issuer: `${origin}/{tenantid}/v2.0`, metadataUrl, tenants })).toMatchObject({ tenants });
    expect(await failureCodeOf(cache.get({ issuer: `${origin}/a/v2.0`, metadataUrl }))).toBe('metadata_mismatch');
  });

  it('T48: leads inside only from a place inside', async () => {
    const issuer = 'https://id.example';
    const answer = {
      issuer,
      authorization_endpoint: `${issuer}/a`,
      token_endpoint: 'https://git.intern.example/token',
    };
    const isInside = (url: string | URL) => new URL(url).hostname.endsWith('.intern.example');
    const cache = createMetadataCache({
      fetch: withoutNetwork(async () => Response.json(answer), isInside),
      now: () => 0,
    });
    expect(await cache.get({ issuer, metadataUrl: 'https://id.intern.example/m' })).toMatchObject({ issuer });
    expect(await failureCodeOf(cache.get({ issuer, metadataUrl: 'https://id.example/m' }))).toBe('invalid_metadata');
  });
});

describe('metadata in the order of MCP', () => {
  it.each([
    ['RFC 8414 with path insertion', withPath.inserted, [withPath.inserted]],
    ['OpenID Connect with path insertion', withPath.openIdInserted, [withPath.inserted, withPath.openIdInserted]],
    ['OpenID Connect with path appending', withPath.openIdAppended, Object.values(withPath)],
  ])('is found for an issuer with a path: %s', async (_, place, expected) => {
    const { origin, asked, discover } = await authorizationServer(at => ({ [place]: metadata(`${at}/tenant`) }));
    expect(await discover(`${origin}/tenant`)).toMatchObject({ issuer: `${origin}/tenant` });
    expect(asked).toEqual(expected);
  });

  it('is searched at two URLs for an issuer without a path', async () => {
    const { origin, asked, discover } = await authorizationServer(() => ({}));
    expect(await failureCodeOf(discover(origin))).toBe('invalid_metadata');
    expect(asked).toEqual(['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration']);
  });

  it('must name the issuer with the same trailing slash', async () => {
    const { origin, discover } = await authorizationServer(at => ({
      '/.well-known/oauth-authorization-server/tenant': metadata(`${at}/tenant/`),
    }));
    expect(await discover(`${origin}/tenant/`)).toMatchObject({ issuer: `${origin}/tenant/` });
    expect(await failureCodeOf(discover(`${origin}/tenant`))).toBe('metadata_mismatch');
  });

  it('is searched further after an HTML page', async () => {
    const { origin, discover } = await authorizationServer(
      at => ({ [withPath.openIdAppended]: metadata(`${at}/tenant`) }),
      { status: 200, body: '<!doctype html>' },
    );
    expect(await discover(`${origin}/tenant`)).toMatchObject({ issuer: `${origin}/tenant` });
  });

  it('T12, S17: is refused if it names another issuer, without a request to another URL', async () => {
    const { origin, asked, discover } = await authorizationServer(at => ({
      [withPath.inserted]: metadata('https://other.example'),
      [withPath.openIdAppended]: metadata(`${at}/tenant`),
    }));
    expect(await failureCodeOf(discover(`${origin}/tenant`))).toBe('metadata_mismatch');
    expect(asked).toEqual([withPath.inserted]);
  });

  it.each([
    ['no token endpoint', { token_endpoint: undefined }],
    ['a token endpoint without https', { token_endpoint: 'http://as.example/token' }],
    ['a script as registration endpoint', { registration_endpoint: 'javascript:alert(1)' }],
  ])('T12: is refused with %s', async (_, changes) => {
    const { origin, discover } = await authorizationServer(at => ({
      [withPath.inserted]: metadata(`${at}/tenant`, changes),
    }));
    expect(await failureCodeOf(discover(`${origin}/tenant`))).toBe('invalid_metadata');
  });

  it.each([
    [429, ''],
    [503, ''],
    [500, '{"error":"server_error"}'],
    [401, '{"error":"unauthorized"}'],
    [403, '<!doctype html>'],
    [200, '<!doctype html>'],
    [200, '{}'],
    [200, '{"issuer":null}'],
    [200, '[]'],
    [204, ''],
  ])('S195: is searched further after a %i with %j at the first places', async (status, body) => {
    const serve = () =>
      authorizationServer(at => ({ [withPath.openIdAppended]: metadata(`${at}/tenant`) }), { status, body });
    const found = await serve();
    const issuer = `${found.origin}/tenant`;
    await expect(found.discover(issuer)).resolves.toMatchObject({ issuer });
    await listener?.close();
    const { origin, discover } = await authorizationServer(() => ({}), { status, body });
    const isTemporary = status === 429 || status >= 500;
    expect(await failureCodeOf(discover(origin))).toBe(isTemporary ? 'provider_unavailable' : 'invalid_metadata');
  });

  it('S195: is temporarily unavailable if one place is, and no other has it', async () => {
    listener = await listenHttp(({ url = '' }, response) => {
      response.writeHead(url.includes('oauth-authorization-server') ? 503 : 404).end();
    });
    const server = { issuer: `http://localhost:${listener.port}/tenant`, discovery: 'mcp' } as const;
    const found = createMetadataCache({ fetch, now: () => 0 }).get(server);
    expect(await failureCodeOf(found)).toBe('provider_unavailable');
  });

  it('S195: is searched further after a redirect to another origin, and not on a host that does not respond', async () => {
    const { origin, discover } = await authorizationServer(
      at => ({ [withPath.openIdAppended]: metadata(`${at}/tenant`) }),
      undefined,
      { [withPath.inserted]: 'http://127.0.0.1:9/login' },
    );
    expect(await discover(`${origin}/tenant`)).toMatchObject({ issuer: `${origin}/tenant` });
    let requests = 0;
    const dead = withoutNetwork(async () => {
      requests += 1;
      throw new OutboundError('outbound_timeout', 'as.example');
    });
    const found = createMetadataCache({ fetch: dead, now: () => 0 }).get({ issuer: 'https://as.example' });
    expect([await failureCodeOf(found), requests]).toEqual(['provider_unavailable', 1]);
  });

  const slash = `${withPath.openIdAppended}/`;
  it.each([
    ['oidc', `${withPath.openIdAppended}/`],
    ['oidc', '/elsewhere'],
  ] as const)('S83: is fetched through one redirect within the origin (%s, to %s)', async (algorithm, to) => {
    const { origin, asked, discover } = await authorizationServer(
      at => ({ [to]: metadata(`${at}/tenant`) }),
      undefined,
      { [withPath.openIdAppended]: to },
    );
    expect(await discover(`${origin}/tenant`, algorithm)).toMatchObject({ issuer: `${origin}/tenant` });
    expect(asked).toEqual([withPath.openIdAppended, to]);
  });

  it('S83: must name the issuer behind a redirect too', async () => {
    const { origin, discover } = await authorizationServer(at => ({ [slash]: metadata(`${at}/other`) }), undefined, {
      [withPath.openIdAppended]: slash,
    });
    expect(await failureCodeOf(discover(`${origin}/tenant`, 'oidc'))).toBe('metadata_mismatch');
  });

  it.each([
    ['a second redirect', { [withPath.openIdAppended]: slash, [slash]: '/further' }],
    ['a redirect to another origin', { [withPath.openIdAppended]: 'http://127.0.0.1:9/' }],
    ['a redirect to another port', { [withPath.openIdAppended]: '//localhost:9/' }],
    ['a redirect with a user name and password', { [withPath.openIdAppended]: 'http://a:b@localhost/' }],
    ['a redirect to another scheme', { [withPath.openIdAppended]: 'https://localhost/' }],
  ])('S83: is not fetched through %s', async (_, locations) => {
    const { origin, discover } = await authorizationServer(() => ({}), undefined, locations);
    expect(await failureCodeOf(discover(`${origin}/tenant`, 'oidc'))).toBe('outbound_redirect');
  });

  it('is not fetched through a redirect without a location', async () => {
    const { origin, discover } = await authorizationServer(() => ({}), { status: 302, body: '' });
    expect(await failureCodeOf(discover(origin))).toBe('outbound_redirect');
  });
});

describe('createPromiseCache', () => {
  function at(lifetimeMs = 1000) {
    const clock = { now: 1 };
    let loads = 0;
    const get = createPromiseCache<{ load: number }>({ lifetimeMs, now: () => clock.now });
    return { get, clock, load: async () => ({ load: ++loads }) };
  }

  it('loads once for concurrent callers, and again after expiry', async () => {
    const { get, clock, load } = at();
    const loaded = await Promise.all([get('a', load), get('a', load), get('b', load)]);
    expect(loaded).toEqual([{ load: 1 }, { load: 1 }, { load: 2 }]);
    clock.now += 999;
    expect(await get('a', load)).toEqual({ load: 1 });
    clock.now += 1;
    expect(await get('a', load)).toEqual({ load: 3 });
  });

  it('caches no failure, which all concurrent callers get', async () => {
    const { get, load } = at();
    const failing = vi.fn(() => Promise.reject(new Error('no')));
    const failed = await Promise.allSettled([get('a', failing), get('a', failing)]);
    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(failing).toHaveBeenCalledTimes(1);
    expect(await get('a', load)).toEqual({ load: 1 });
  });

  it('S55: changing keys cannot exhaust memory, and their loads take no value from the callers of another load', async () => {
    const { get, load } = at();
    const { promise, resolve } = Promise.withResolvers<{ load: number }>();
    const early = get('early', () => promise);
    for (let key = 0; key < 1_000; key += 1) await get(`key ${key}`, load);
    resolve({ load: 0 });
    expect(await early).toEqual({ load: 0 });
    expect(await get('key 999', load)).toEqual({ load: 1_000 });
    expect(await get('early', load)).toEqual({ load: 1_001 });
  });
});
