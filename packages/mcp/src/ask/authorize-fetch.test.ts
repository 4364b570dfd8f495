import { Readable } from 'node:stream';
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { PosternUsageError } from '../errors.ts';
import { accountWorld } from '../testing/account-world.ts';
import { ACCESS_TOKEN } from '../testing/contract-connections.ts';

type World = Awaited<ReturnType<typeof accountWorld>>;

const takes = (world: World) => world.gateway.requests.filter(({ path }) => path.endsWith('/access-token'));
/** From now on, the API accepts only the next token set. */
const turnAway = (world: World) => {
  const rejected = world.connections.current('co-el-1');
  world.api.accepts = token => token !== rejected && token === world.connections.current('co-el-1');
};

describe('a token that the API rejects', () => {
  test('a rejected token is refreshed, and the request is repeated once', async () => {
    await using world = await accountWorld();
    turnAway(world);
    const text = await world.use(async account => (await account.fetch(`${world.api.url}/repos?page=2`)).text());
    expect(text).toBe('done');
    expect(world.api.requests).toMatchObject([
      { method: 'GET', path: '/repos?page=2', status: 401 },
      { method: 'GET', path: '/repos?page=2', status: 200 },
    ]);
    expect(takes(world).map(({ body }) => body)).toEqual([
      { tool: 'create_issue' },
      { tool: 'create_issue', rejectedGeneration: 1 },
    ]);
  });

  test('a second 401 is returned unread', async () => {
    await using world = await accountWorld();
    world.api.accepts = () => false;
    const answer = await world.use(async account => {
      const response = await account.fetch(world.api.url);
      return [response.status, await response.text()];
    });
    expect(answer).toEqual([401, 'invalid_token']);
    expect(world.api.requests).toHaveLength(2);
    expect(world.connections.renewals).toBe(1);
  });

  test.each(['Bearer error="insufficient_scope"', 'Bearer error="insufficient_user_authentication"'])(
    'a token is not refreshed for another error: %s',
    async challenge => {
      await using world = await accountWorld();
      world.api.accepts = () => false;
      world.api.challenge = challenge;
      expect(await world.use(async account => (await account.fetch(world.api.url)).status)).toBe(401);
      expect(takes(world)).toHaveLength(1);
      expect(world.connections.renewals).toBe(0);
    },
  );

  test('concurrent requests with an expired token share one refresh', async () => {
    await using world = await accountWorld();
    turnAway(world);
    // Every request arrives with the old token before any gets a response.
    let arrived = 0;
    const all = Promise.withResolvers<void>();
    world.api.onRequest = () => {
      arrived += 1;
      if (arrived === 10) all.resolve();
      return all.promise;
    };
    const statuses = await world.use(account =>
      Promise.all(Array.from({ length: 10 }, async () => (await account.fetch(world.api.url)).status)),
    );
    expect(statuses).toEqual(Array.from({ length: 10 }, () => 200));
    expect(world.api.statuses.filter(status => status === 401)).toHaveLength(10);
    expect(world.connections.renewals).toBe(1);
  });

  test('suspends the handler and asks the user if it cannot be refreshed', async () => {
    await using world = await accountWorld();
    world.api.accepts = () => false;
    world.connections.refreshable = false;
    const finished: unknown[] = [];
    const outcome = await world.run(async gate => {
      const github = await gate.try.authorize('github');
      if (github.action !== 'accept') throw new Error(github.reason);
      finished.push(await github.fetch(world.api.url, { method: 'POST', body: 'title' }));
    });
    expect(outcome.type).toBe('plain');
    expect(finished).toEqual([]);
    expect(world.gateway.elicitations.map(({ status }) => status)).toEqual(['completed', 'pending']);
    // The repeated call continues with the new connection.
    world.gateway.end('completed');
    world.api.accepts = token => token === world.connections.current('co-el-2');
    expect(await world.use(async account => (await account.fetch(world.api.url)).status)).toBe(200);
  });

  test('a handler that swallows this suspension fails, also with concurrent requests', async () => {
    await using world = await accountWorld();
    world.api.accepts = () => false;
    world.connections.refreshable = false;
    const swallowing = world.use(async account => {
      const settled = await Promise.allSettled([1, 2, 3].map(() => account.fetch(world.api.url)));
      expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    });
    await expect(swallowing).rejects.toMatchObject({ code: 'suspension_swallowed' });
    expect(world.gateway.elicitations).toHaveLength(2);
  });

  test('reports an error of the gateway', async () => {
    await using world = await accountWorld();
    world.api.accepts = () => false;
    world.api.onRequest = () =>
      world.gateway.failNext(response =>
        response.writeHead(502, { 'content-type': 'application/problem+json', 'retry-after': '1' }).end(
          JSON.stringify({
            type: 'urn:postern:problem:upstream_unavailable',
            title: 'A provider did not respond.',
            status: 502,
            code: 'upstream_unavailable',
            requestId: 'req-1',
          }),
        ),
      );
    await expect(world.use(account => account.fetch(world.api.url))).rejects.toMatchObject({
      code: 'upstream_unavailable',
    });
    // The gateway has already waited for the provider, so it is not called again.
    expect(takes(world)).toHaveLength(2);
  });
});

describe('bodies', () => {
  const form = new FormData();
  form.set('title', 'Broken');
  test.each<[string, () => RequestInit['body']]>([
    ['text', () => 'title'],
    ['parameters', () => new URLSearchParams({ title: 'Broken' })],
    ['bytes', () => new TextEncoder().encode('title')],
    ['a buffer', () => new TextEncoder().encode('title').buffer],
    ['a blob', () => new Blob(['title'])],
    ['a form', () => form],
  ])('%s is sent twice', async (_name, body) => {
    await using world = await accountWorld();
    turnAway(world);
    const init = { method: 'post', body: body() ?? null };
    expect(await world.use(async account => (await account.fetch(world.api.url, init)).status)).toBe(200);
    const [first, second] = world.api.requests;
    expect(world.api.requests).toHaveLength(2);
    expect(first?.body).toMatch(/title/);
    // Every attempt chooses a new form boundary.
    expect(second?.body.length).toBe(first?.body.length);
  });

  async function* generated() {
    yield new TextEncoder().encode('title');
  }
  test.each<[string, () => RequestInit['body']]>([
    ['a web stream', () => new Blob(['title']).stream()],
    ['a generator', generated],
    ['a Node stream', () => Readable.from([Buffer.from('title')])],
  ])('sends %s once and returns the 401', async (_name, body) => {
    await using world = await accountWorld();
    turnAway(world);
    const init: RequestInit = { method: 'POST', body: body() ?? null, duplex: 'half' };
    expect(await world.use(async account => (await account.fetch(world.api.url, init)).status)).toBe(401);
    expect(world.api.requests).toMatchObject([{ body: 'title' }]);
    expect(world.connections.renewals).toBe(0);
  });

  test('a Request without a body is sent twice, with its method and headers', async () => {
    await using world = await accountWorld();
    turnAway(world);
    const request = new Request(`${world.api.url}/repos/1`, {
      method: 'DELETE',
      headers: { authorization: 'Basic eA==' },
    });
    expect(await world.use(async account => (await account.fetch(request)).status)).toBe(200);
    expect(world.api.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'DELETE /repos/1',
      'DELETE /repos/1',
    ]);
  });

  test('sends the headers of a Request except its credentials', async () => {
    await using world = await accountWorld();
    const request = new Request(world.api.url, { headers: { authorization: 'Basic eA==', 'x-trace': 'one' } });
    await world.use(account => account.fetch(request));
    const authorization = `Bearer ${world.connections.current('co-el-1')}`;
    expect(world.api.requests[0]?.headers).toMatchObject({ 'x-trace': 'one', authorization });
  });

  test('sends a Request with a body once, and repeats one whose body comes from init', async () => {
    await using world = await accountWorld();
    turnAway(world);
    const request = () => new Request(world.api.url, { method: 'POST', body: 'title' });
    expect(await world.use(async account => (await account.fetch(request())).status)).toBe(401);
    expect(world.api.requests).toMatchObject([{ method: 'POST', body: 'title' }]);
    const init = { body: 'another' };
    expect(await world.use(async account => (await account.fetch(request(), init)).status)).toBe(200);
    expect(world.api.requests.slice(1)).toMatchObject([{ body: 'another' }, { body: 'another' }]);
  });
});

describe('the destination of the token', () => {
  test('the token does not follow a redirect, unless the handler allows it', async () => {
    await using world = await accountWorld();
    const moved = `${world.api.url}/moved`;
    await world.use(async account => {
      const error = await account.fetch(moved).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(TypeError);
      expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(ACCESS_TOKEN);
      await expect(account.fetch(new Request(moved))).rejects.toBeInstanceOf(TypeError);
      expect((await account.fetch(moved, { redirect: 'manual' })).status).toBe(302);
      expect((await account.fetch(moved, { redirect: 'follow' })).status).toBe(200);
    });
    expect(world.api.statuses).toEqual([302, 302, 302, 302, 200]);
  });

  test('S90: the token does not follow a redirect to another origin, whose 401 does not reject the token', async () => {
    await using world = await accountWorld();
    await using other = await accountWorld();
    world.api.location = `${other.api.url}/repos`;
    const init = { redirect: 'follow' } as const;
    expect(await world.use(async account => (await account.fetch(`${world.api.url}/moved`, init)).status)).toBe(401);
    expect(other.api.requests).toMatchObject([{ token: '', status: 401 }]);
    expect(world.connections.renewals).toBe(0);
  });

  test.each([
    'http://api.example.com/',
    'https://user:word@api.example.com/',
    'ftp://api.example.com/',
    '/repos',
    'data:text/plain,hello',
  ])('the token is not sent to %s', async url => {
    await using world = await accountWorld({ fetch });
    const error = await world.use(account => account.fetch(url)).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(PosternUsageError);
    expect(error).toMatchObject({ code: 'invalid_url' });
    expect(inspect(error)).not.toContain('word@');
    expect(takes(world)).toEqual([]);
  });

  test('the token is sent over plain http only if the operator allows it', async () => {
    const urls: string[] = [];
    const elsewhere: typeof fetch = (input, init) => {
      if (!String(input).startsWith('http://api.internal')) return fetch(input, init);
      urls.push(String(input));
      return Promise.resolve(new Response('done'));
    };
    await using world = await accountWorld({ allowHttp: true, fetch: elsewhere });
    expect(await world.use(async account => (await account.fetch('http://api.internal/x')).status)).toBe(200);
    expect(urls).toEqual(['http://api.internal/x']);
  });

  test('an unreachable API gives the error of fetch, without the token', async () => {
    await using world = await accountWorld();
    const { url } = world.api;
    await world.api[Symbol.asyncDispose]();
    const error = await world.use(account => account.fetch(url)).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(TypeError);
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(ACCESS_TOKEN);
  });
});

describe('S90: the hosts of the API', () => {
  test('refuses a request to another host before it is sent, and names the host and the configuration key', async () => {
    await using world = await accountWorld();
    world.connections.apiHosts = ['api.example.com', '*.example.org'];
    const { host } = new URL(world.api.url);
    const error = await world
      .use(account => account.fetch(`${world.api.url}/repos`))
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(PosternUsageError);
    expect(error).toMatchObject({
      code: 'host_not_allowed',
      message: expect.stringMatching(new RegExp(`${host}.*apiHosts of provider github`)),
    });
    expect(inspect(error)).not.toContain(ACCESS_TOKEN);
    expect(world.api.requests).toEqual([]);
  });

  test.each([
    ['https://api.example.com/repos', true],
    ['https://API.example.com:443/repos', true],
    ['https://any.example.org/', true],
    ['https://very.deep.example.org/', true],
    ['https://api.example.com:8443/', false],
    ['https://api.example.com./', false],
    ['https://example.com/', false],
    ['https://not-api.example.com/', false],
    ['https://api.example.com.evil.example/', false],
    ['https://example.org/', false],
    ['https://evilexample.org/', false],
    ['https://any.example.org:8443/', false],
    ['https://evil.example/?x=any.example.org', false],
  ])('fetch(%s) is sent: %s', async (url, isSent) => {
    const urls: string[] = [];
    const offline: typeof fetch = (input, init) => {
      if (String(input).startsWith('http://127.0.0.1')) return fetch(input, init);
      urls.push(String(input));
      return Promise.resolve(new Response('done'));
    };
    await using world = await accountWorld({ fetch: offline });
    world.connections.apiHosts = ['api.example.com', '*.example.org'];
    const asString = world.use(account => account.fetch(url));
    const asRequest = world.use(account => account.fetch(new Request(url)));
    const settled = await Promise.allSettled([asString, asRequest]);
    expect(settled.map(({ status }) => status === 'fulfilled')).toEqual([isSent, isSent]);
    expect(urls).toHaveLength(isSent ? 2 : 0);
  });

  test.each([
    ['http://api.example.com/repos', false],
    ['http://API.example.com:80/repos', false],
    ['http://api.example.com:443/repos', false],
    ['http://any.example.org/', false],
    ['http://api.internal/repos', true],
    ['https://api.internal:80/repos', true],
    ['https://api.internal/repos', false],
  ])('with allowHttp, plain http needs an entry with its port: fetch(%s) is sent: %s', async (url, isSent) => {
    const urls: string[] = [];
    const offline: typeof fetch = (input, init) => {
      if (String(input).startsWith('http://127.0.0.1')) return fetch(input, init);
      urls.push(String(input));
      return Promise.resolve(new Response('done'));
    };
    await using world = await accountWorld({ allowHttp: true, fetch: offline });
    world.connections.apiHosts = ['api.example.com', '*.example.org', 'api.internal:80'];
    const [sent] = await Promise.allSettled([world.use(account => account.fetch(url))]);
    if (isSent) expect(sent.status).toBe('fulfilled');
    else expect(sent).toMatchObject({ status: 'rejected', reason: { code: 'host_not_allowed' } });
    expect(urls).toHaveLength(isSent ? 1 : 0);
  });

  test('an empty list allows no host', async () => {
    await using world = await accountWorld();
    world.connections.apiHosts = [];
    await expect(world.use(account => account.fetch(world.api.url))).rejects.toMatchObject({
      code: 'host_not_allowed',
    });
    expect(world.api.requests).toEqual([]);
  });
});

test.each(['init', 'Request'] as const)('the signal of %s ends the request and its retries', async where => {
  await using world = await accountWorld();
  world.api.accepts = () => false;
  const abort = new AbortController();
  world.api.onRequest = () => abort.abort(new Error('enough'));
  const given = { signal: abort.signal };
  await world.use(async account => {
    const request =
      where === 'init' ? account.fetch(world.api.url, given) : account.fetch(new Request(world.api.url, given));
    await expect(request).rejects.toThrow('enough');
  });
  expect(takes(world)).toHaveLength(1);
});

test('fetch works without a receiver, for libraries that accept one', async () => {
  await using world = await accountWorld();
  const status = await world.use(async ({ fetch: apiFetch }) => {
    const library = async (given: typeof fetch) => (await given(new URL(world.api.url))).status;
    return await library(apiFetch);
  });
  expect(status).toBe(200);
});
