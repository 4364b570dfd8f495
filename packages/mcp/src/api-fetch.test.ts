import { Readable } from 'node:stream';
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { PosternUsageError } from './errors.ts';
import { accountWorld } from './testing/account-world.ts';
import { ACCESS_TOKEN } from './testing/contract-connections.ts';

type World = Awaited<ReturnType<typeof accountWorld>>;

const takes = (world: World) => world.gateway.requests.filter(({ path }) => path.endsWith('/access-token'));
/** From now on the API wants the token set after the present one. */
const turnAway = (world: World) => {
  const rejected = world.connections.current('co-el-1');
  world.api.accepts = token => token !== rejected && token === world.connections.current('co-el-1');
};

describe('a token that the API turns away', () => {
  test('is renewed, and the request sent once more', async () => {
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

  test('twice: the answer is handed on, unread', async () => {
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
    'is not renewed where the fault is another: %s',
    async challenge => {
      await using world = await accountWorld();
      world.api.accepts = () => false;
      world.api.challenge = challenge;
      expect(await world.use(async account => (await account.fetch(world.api.url)).status)).toBe(401);
      expect(takes(world)).toHaveLength(1);
      expect(world.connections.renewals).toBe(0);
    },
  );

  test('concurrent requests after the end of a token set renew it once', async () => {
    await using world = await accountWorld();
    turnAway(world);
    // Every request arrives with the old token before any is answered.
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

  test('where it cannot be renewed, the handler is suspended and the user asked', async () => {
    await using world = await accountWorld();
    world.api.accepts = () => false;
    world.connections.refreshable = false;
    const finished: unknown[] = [];
    const outcome = await world.run(async gate => {
      const github = await gate.authorize('github');
      if (github.action !== 'accept') throw new Error(github.reason);
      finished.push(await github.fetch(world.api.url, { method: 'POST', body: 'title' }));
    });
    expect(outcome.type).toBe('plain');
    expect(finished).toEqual([]);
    expect(world.gateway.elicitations.map(({ status }) => status)).toEqual(['completed', 'pending']);
    // The call that is made again goes on with the new connection.
    world.gateway.end('completed');
    world.api.accepts = token => token === world.connections.current('co-el-2');
    expect(await world.use(async account => (await account.fetch(world.api.url)).status)).toBe(200);
  });

  test('a handler that swallows this suspension is found out, concurrent requests or not', async () => {
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

  test('the trouble of the gateway is reported', async () => {
    await using world = await accountWorld();
    world.api.accepts = () => false;
    world.api.onRequest = () =>
      world.gateway.failNext(response =>
        response.writeHead(502, { 'content-type': 'application/problem+json', 'retry-after': '1' }).end(
          JSON.stringify({
            type: 'urn:postern:problem:upstream_unavailable',
            title: 'A provider did not answer.',
            status: 502,
            code: 'upstream_unavailable',
            requestId: 'req-1',
          }),
        ),
      );
    await expect(world.use(account => account.fetch(world.api.url))).rejects.toMatchObject({
      code: 'upstream_unavailable',
    });
    // It has waited for the provider already, so it is not asked again.
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
    // The boundary of a form is chosen anew.
    expect(second?.body.length).toBe(first?.body.length);
  });

  async function* generated() {
    yield new TextEncoder().encode('title');
  }
  test.each<[string, () => RequestInit['body']]>([
    ['a web stream', () => new Blob(['title']).stream()],
    ['a generator', generated],
    ['a Node stream', () => Readable.from([Buffer.from('title')])],
  ])('%s is sent once, and the 401 handed on', async (_name, body) => {
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

  test('the headers of a Request are sent, but for its credentials', async () => {
    await using world = await accountWorld();
    const request = new Request(world.api.url, { headers: { authorization: 'Basic eA==', 'x-trace': 'one' } });
    await world.use(account => account.fetch(request));
    const authorization = `Bearer ${world.connections.current('co-el-1')}`;
    expect(world.api.requests[0]?.headers).toMatchObject({ 'x-trace': 'one', authorization });
  });

  test('a Request with a body is sent once, or twice with a body of its own', async () => {
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

describe('where the token goes', () => {
  test('not along with a redirect, unless the handler says so', async () => {
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

  test('not to another origin that a redirect leads to, whose refusal says nothing about the token', async () => {
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
  ])('not to %s', async url => {
    await using world = await accountWorld({ fetch });
    const error = await world.use(account => account.fetch(url)).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(PosternUsageError);
    expect(error).toMatchObject({ code: 'invalid_url' });
    expect(inspect(error)).not.toContain('word@');
    expect(takes(world)).toEqual([]);
  });

  test('to plain http where the operator allows it', async () => {
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

  test('an API that cannot be reached is the error of fetch, without the token', async () => {
    await using world = await accountWorld();
    const { url } = world.api;
    await world.api[Symbol.asyncDispose]();
    const error = await world.use(account => account.fetch(url)).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(TypeError);
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(ACCESS_TOKEN);
  });
});

test.each(['init', 'Request'] as const)('the signal of %s ends the request and what follows it', async where => {
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

test('a function without a receiver, for libraries that take a fetch', async () => {
  await using world = await accountWorld();
  const status = await world.use(async ({ fetch: apiFetch }) => {
    const library = async (given: typeof fetch) => (await given(new URL(world.api.url))).status;
    return await library(apiFetch);
  });
  expect(status).toBe(200);
});
