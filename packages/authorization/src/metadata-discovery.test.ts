import { type HttpListener, listenHttp } from '@postern/testkit/providers';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { failureCodeOf } from './failure-of.ts';
import type { DiscoveryAlgorithm } from './metadata-discovery.ts';
import { createOutboundFetch } from './outbound-fetch.ts';
import { createMetadataCache } from './server-metadata.ts';

const fetch = createOutboundFetch({ allowLoopback: true });
afterAll(() => fetch.close());

let listener: HttpListener | undefined;
afterEach(async () => {
  await listener?.close();
  listener = undefined;
});

/** Serves what is given per path; every other path gives `otherwise`. */
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
  const discover = (issuer: string, algorithm: DiscoveryAlgorithm = 'mcp') =>
    createMetadataCache({ fetch, now: () => 0 }).get(issuer, algorithm);
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

describe('metadata at one place', () => {
  it.each([
    ['oidc', withPath.openIdAppended],
    ['oauth2', withPath.inserted],
  ] as const)('%s: of an issuer with a path', async (algorithm, place) => {
    const { origin, asked, discover } = await authorizationServer(at => ({ [place]: metadata(`${at}/tenant`) }));
    expect(await discover(`${origin}/tenant`, algorithm)).toMatchObject({ issuer: `${origin}/tenant` });
    expect(asked).toEqual([place]);
  });

  it.each(['oidc', 'oauth2'] as const)('%s: nowhere else when it is not there', async algorithm => {
    const { origin, asked, discover } = await authorizationServer(() => ({}));
    expect(await failureCodeOf(discover(`${origin}/tenant`, algorithm))).toBe('invalid_metadata');
    expect(asked).toHaveLength(1);
  });
});

describe('metadata in the order of MCP', () => {
  it.each([
    ['RFC 8414 with path insertion', withPath.inserted, [withPath.inserted]],
    ['OpenID Connect with path insertion', withPath.openIdInserted, [withPath.inserted, withPath.openIdInserted]],
    ['OpenID Connect with path appending', withPath.openIdAppended, Object.values(withPath)],
  ])('issuer with a path: %s', async (_, place, expected) => {
    const { origin, asked, discover } = await authorizationServer(at => ({ [place]: metadata(`${at}/tenant`) }));
    expect(await discover(`${origin}/tenant`)).toMatchObject({ issuer: `${origin}/tenant` });
    expect(asked).toEqual(expected);
  });

  it('issuer without a path: two places', async () => {
    const { origin, asked, discover } = await authorizationServer(() => ({}));
    expect(await failureCodeOf(discover(origin))).toBe('invalid_metadata');
    expect(asked).toEqual(['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration']);
  });

  it('an issuer with a slash at its end keeps it', async () => {
    const { origin, discover } = await authorizationServer(at => ({
      '/.well-known/oauth-authorization-server/tenant': metadata(`${at}/tenant/`),
    }));
    expect(await discover(`${origin}/tenant/`)).toMatchObject({ issuer: `${origin}/tenant/` });
    expect(await failureCodeOf(discover(`${origin}/tenant`))).toBe('metadata_mismatch');
  });

  it('a page for every unknown path is no document', async () => {
    const { origin, discover } = await authorizationServer(
      at => ({ [withPath.openIdAppended]: metadata(`${at}/tenant`) }),
      { status: 200, body: '<!doctype html>' },
    );
    expect(await discover(`${origin}/tenant`)).toMatchObject({ issuer: `${origin}/tenant` });
  });

  it('T12, S17: another issuer is refused, and no other place is asked', async () => {
    const { origin, asked, discover } = await authorizationServer(at => ({
      [withPath.inserted]: metadata('https://other.example'),
      [withPath.openIdAppended]: metadata(`${at}/tenant`),
    }));
    expect(await failureCodeOf(discover(`${origin}/tenant`))).toBe('metadata_mismatch');
    expect(asked).toEqual([withPath.inserted]);
  });

  it.each([
    ['without endpoints', { token_endpoint: undefined }],
    ['an endpoint that is no https URL', { token_endpoint: 'http://as.example/token' }],
    ['a registration endpoint that is none either', { registration_endpoint: 'javascript:alert(1)' }],
  ])('T12: %s → refused', async (_, changes) => {
    const { origin, discover } = await authorizationServer(at => ({
      [withPath.inserted]: metadata(`${at}/tenant`, changes),
    }));
    expect(await failureCodeOf(discover(`${origin}/tenant`))).toBe('invalid_metadata');
  });

  it.each([429, 503])('trouble (%i) is not absence', async status => {
    const { origin, asked, discover } = await authorizationServer(() => ({}), { status, body: '' });
    expect(await failureCodeOf(discover(origin))).toBe('provider_unavailable');
    expect(asked).toHaveLength(1);
  });

  const slash = `${withPath.openIdAppended}/`;
  it.each([
    ['oidc', `${withPath.openIdAppended}/`],
    ['oidc', '/elsewhere'],
  ] as const)('S83: a redirect within the origin is followed once (%s, to %s)', async (algorithm, to) => {
    const { origin, asked, discover } = await authorizationServer(
      at => ({ [to]: metadata(`${at}/tenant`) }),
      undefined,
      { [withPath.openIdAppended]: to },
    );
    expect(await discover(`${origin}/tenant`, algorithm)).toMatchObject({ issuer: `${origin}/tenant` });
    expect(asked).toEqual([withPath.openIdAppended, to]);
  });

  it('S83: a document behind a redirect names the issuer all the same', async () => {
    const { origin, discover } = await authorizationServer(at => ({ [slash]: metadata(`${at}/other`) }), undefined, {
      [withPath.openIdAppended]: slash,
    });
    expect(await failureCodeOf(discover(`${origin}/tenant`, 'oidc'))).toBe('metadata_mismatch');
  });

  it.each([
    ['a second one', { [withPath.openIdAppended]: slash, [slash]: '/further' }],
    ['one to another origin', { [withPath.openIdAppended]: 'http://127.0.0.1:9/' }],
    ['one to another port', { [withPath.openIdAppended]: '//localhost:9/' }],
    ['one with a name and password', { [withPath.openIdAppended]: 'http://a:b@localhost/' }],
    ['one to another scheme', { [withPath.openIdAppended]: 'https://localhost/' }],
  ])('S83: %s is not followed', async (_, locations) => {
    const { origin, discover } = await authorizationServer(() => ({}), undefined, locations);
    expect(await failureCodeOf(discover(`${origin}/tenant`, 'oidc'))).toBe('outbound_redirect');
  });

  it('a redirect is not followed without an address', async () => {
    const { origin, discover } = await authorizationServer(() => ({}), { status: 302, body: '' });
    expect(await failureCodeOf(discover(origin))).toBe('outbound_redirect');
  });
});
