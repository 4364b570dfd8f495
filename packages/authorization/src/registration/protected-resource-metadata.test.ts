import { type HttpListener, listenHttp } from '@postern/testkit/providers';
import { afterEach, describe, expect, it } from 'vitest';
import { createOutboundFetch } from '../outbound/outbound-fetch.ts';
import { failureCodeOf } from '../testing/failure-of.ts';
import { withoutNetwork } from '../testing/outbound-fetch-fixture.ts';
import { createProtectedResources } from './protected-resource-metadata.ts';

const fetch = createOutboundFetch({ allowLoopback: true });

let listener: HttpListener | undefined;
afterEach(async () => {
  await listener?.close();
  listener = undefined;
});

interface Answer {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly document?: object;
}

const inserted = '/.well-known/oauth-protected-resource/mcp';
const root = '/.well-known/oauth-protected-resource';

/** A remote MCP server at `/mcp` that serves the given response per path, and 404 for other paths. */
async function mcpServer(answers: (resource: string) => Record<string, Answer>) {
  const asked: string[] = [];
  listener = await listenHttp((request, response) => {
    const path = request.url ?? '';
    asked.push(`${request.method} ${path}`);
    const { status, headers, document }: Answer = answers(resource)[path] ?? { status: 404 };
    response.writeHead(status, headers).end(document && JSON.stringify(document));
  });
  const resource = `http://localhost:${listener.port}/mcp`;
  let now = 1;
  const resources = createProtectedResources({ fetch, now: () => now });
  return {
    resource,
    asked,
    get: (issuer?: string, metadataUrl?: string) => resources.get(resource, { issuer, metadataUrl }),
    wait: (milliseconds: number) => {
      now += milliseconds;
    },
  };
}

const issuer = 'https://as.example';
const found = (resource: string, changes: object = {}): Answer => ({
  status: 200,
  document: { resource, authorization_servers: [issuer, 'https://second.example/tenant'], ...changes },
});
const challenge = (value: string): Answer => ({ status: 401, headers: { 'www-authenticate': value } });

describe('the metadata of a resource', () => {
  it('is fetched from the well-known URL of its path', async () => {
    const { get, asked, resource } = await mcpServer(at => ({ [inserted]: found(at) }));
    expect(await get()).toEqual({ resource, issuer, scopesSupported: [] });
    expect(asked).toEqual(['POST /mcp', `GET ${inserted}`]);
  });

  it('is fetched from the root if there is none for the path', async () => {
    const { get, asked } = await mcpServer(at => ({ [root]: found(at) }));
    expect(await get()).toMatchObject({ issuer });
    expect(asked).toEqual(['POST /mcp', `GET ${inserted}`, `GET ${root}`]);
  });

  it.each([
    ['as a quoted string', (url: string) => `Bearer resource_metadata="${url}"`],
    ['as a token', (url: string) => `Bearer error=invalid_token, resource_metadata=${url}`],
    ['in another case, with spaces', (url: string) => `bearer Resource_Metadata = "${url}"`],
    ['after other challenges', (url: string) => `Basic realm="a, b", DPoP algs="ES256", resource_metadata="${url}"`],
    ['after a long value', (url: string) => `Bearer realm="${'r'.repeat(8_000)}", resource_metadata="${url}"`],
    ['after a long name', (url: string) => `${'n'.repeat(8_000)} Bearer resource_metadata="${url}"`],
  ])('is fetched first from the URL in the challenge: %s', async (_, header) => {
    const { get, asked } = await mcpServer(at => ({
      '/mcp': challenge(header(new URL('/elsewhere', at).href)),
      '/elsewhere': found(at),
    }));
    expect(await get()).toMatchObject({ issuer });
    expect(asked).toEqual(['POST /mcp', 'GET /elsewhere']);
  });

  it.each([
    ['on another origin', () => 'Bearer resource_metadata="http://localhost:1/metadata"'],
    ['with credentials', (at: string) => `Bearer resource_metadata="${at.replace('//', '//user@')}"`],
    ['not a URL', () => 'Bearer resource_metadata="metadata"'],
    ['inside another value', (at: string) => `Bearer realm="resource_metadata=${at}/hint"`],
    ['absent', () => 'Bearer'],
  ])('is not fetched from a URL in the challenge that is %s', async (_, header) => {
    const { get, asked } = await mcpServer(at => ({ '/mcp': challenge(header(at)), [inserted]: found(at) }));
    expect(await get()).toMatchObject({ issuer });
    expect(asked).toEqual(['POST /mcp', `GET ${inserted}`]);
  });

  it.each([
    ['redirects', { status: 307, headers: { location: '/mcp/' } }],
    ['responds with 500', { status: 500 }],
    ['responds with 200', { status: 200, document: { jsonrpc: '2.0', id: 1, result: {} } }],
  ])('is fetched from the well-known URLs if the MCP server %s', async (_, answer) => {
    const { get } = await mcpServer(at => ({ '/mcp': answer, [inserted]: found(at) }));
    expect(await get()).toMatchObject({ issuer });
  });

  it('is reported as missing if no location has it', async () => {
    const { get } = await mcpServer(() => ({}));
    expect(await failureCodeOf(get())).toBe('invalid_metadata');
  });

  it.each([{ status: 503 }, { status: 401 }, { status: 200, document: {} }])(
    'S195: is searched further after an error page: %j',
    async page => {
      const { get } = await mcpServer(at => ({ [inserted]: page, [root]: found(at) }));
      expect(await get()).toMatchObject({ issuer });
    },
  );

  it('S195: is temporarily unavailable if one location is, and no other has it', async () => {
    const { get } = await mcpServer(() => ({ [inserted]: { status: 503 } }));
    expect(await failureCodeOf(get())).toBe('provider_unavailable');
  });
});

describe('the content of the metadata', () => {
  it.each([
    ['another host', () => 'https://victim.example/mcp'],
    ['the host alone', (at: string) => new URL(at).origin],
    ['with a slash', (at: string) => `${at}/`],
    ['in capitals', (at: string) => at.replace('localhost', 'LOCALHOST')],
  ])('T12: is refused if it names another resource (%s), without a request to another location', async (_, named) => {
    const { get, asked } = await mcpServer(at => ({
      [inserted]: found(at, { resource: named(at) }),
      [root]: found(at),
    }));
    expect(await failureCodeOf(get())).toBe('resource_mismatch');
    expect(asked).not.toContain(`GET ${root}`);
  });

  it('must list the configured issuer', async () => {
    const { get } = await mcpServer(at => ({ [inserted]: found(at) }));
    expect(await get('https://second.example/tenant')).toMatchObject({ issuer: 'https://second.example/tenant' });
    for (const other of ['https://third.example', 'https://second.example/tenant/', 'https://AS.example']) {
      expect(await failureCodeOf(get(other))).toBe('metadata_mismatch');
    }
  });

  it('S194: may list the configured issuer with or without the slash of an empty path', async () => {
    const { get } = await mcpServer(at => ({ [inserted]: found(at) }));
    expect(await get(`${issuer}/`)).toMatchObject({ issuer: `${issuer}/` });
  });

  it('S194: may list an issuer whose metadata the operator has named', async () => {
    const { get } = await mcpServer(at => ({ [inserted]: found(at) }));
    const configured = 'https://second.example/{tenantid}/v2.0';
    const place = 'https://second.example/tenant/.well-known/openid-configuration';
    expect(await get(configured, place)).toMatchObject({ issuer: configured });
    for (const other of [undefined, place.replace('second', 'third'), place.replace('tenant', 'other')])
      expect(await failureCodeOf(get(configured, other))).toBe('metadata_mismatch');
  });

  it.each([
    ['nothing', undefined],
    ['an empty list', []],
    ['an object', [{}]],
    ['text that is not a URL', ['as.example']],
    ['http', ['http://as.example']],
    ['a fragment', ['https://as.example#a']],
    ['a query', ['https://as.example?a=b']],
    ['credentials', ['https://a:b@as.example']],
  ])('is refused with %s as authorization servers', async (_, servers) => {
    const { get } = await mcpServer(at => ({ [inserted]: found(at, { authorization_servers: servers }) }));
    expect(await failureCodeOf(get())).toBe('invalid_metadata');
  });

  it('is returned without invalid scopes', async () => {
    const { get } = await mcpServer(at => ({
      [inserted]: found(at, { scopes_supported: ['issues:read', 'two words', '', '"'] }),
    }));
    expect(await get()).toMatchObject({ scopesSupported: ['issues:read'] });
  });

  it('is fetched once for concurrent callers and cached for an hour, unless the fetch fails', async () => {
    let document: (at: string) => Answer = () => ({ status: 404 });
    const { get, asked, wait } = await mcpServer(at => ({ [root]: document(at) }));
    expect(await failureCodeOf(get())).toBe('invalid_metadata');
    document = at => found(at);
    asked.length = 0;
    await Promise.all(Array.from({ length: 20 }, () => get()));
    wait(3_599_999);
    await get();
    expect(asked).toHaveLength(3);
    document = at => found(at, { authorization_servers: ['https://third.example'] });
    wait(1);
    expect(await get()).toMatchObject({ issuer: 'https://third.example' });
  });
});

it('T12: the metadata of a public resource cannot name an issuer on loopback', async () => {
  const resource = 'https://remote.example/mcp';
  const answering = (servers: string[]) =>
    createProtectedResources({
      fetch: withoutNetwork(
        async url =>
          String(url) === resource
            ? new Response(null, { status: 405 })
            : Response.json({ resource, authorization_servers: servers }),
        url => new URL(url).hostname === 'git.intern.example',
      ),
      now: () => 0,
    }).get(resource, {});
  expect(await failureCodeOf(answering(['http://localhost:3000']))).toBe('invalid_metadata');
  expect(await failureCodeOf(answering(['https://git.intern.example']))).toBe('invalid_metadata');
  expect(await answering([issuer])).toMatchObject({ issuer });
});
