import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ownLinksIn, type RawBrowser } from '../support/raw-browser.ts';
import { dumpRedis, writesSince } from '../support/redis-dump.ts';
import { type RegisteredRoute, registeredRoutes } from '../support/registered-routes.ts';
import { type Stage, startStage } from '../support/stage.ts';
import { askFor, keyOf } from '../support/world.ts';

const TIMES = 100;
const AT_ONCE = 25;
/** The sweeper looks with it; when nothing is old enough it removes nothing, which the dump shows. */
const SWEEPING = ['zremrangebyscore'];

let stage: Stage;
let routes: RegisteredRoute[];
let signedIn: RawBrowser;
let ids: string[];
let connectionId: string;
let pendingCallback: { raw: RawBrowser; url: URL; elicitationId: string };
let pendingSignIn: { raw: RawBrowser; url: URL; elicitationId: string };
let pendingTicket: { raw: RawBrowser; url: URL; elicitationId: string };
let before: Record<string, unknown>;

beforeAll(async () => {
  stage = await startStage({
    otherMcpServers: [
      { id: 'embedded', identity: { mode: 'external', verifyUrl: 'https://application.example/verify' } },
      { id: 'local', identity: { mode: 'loopback' } },
    ],
    config: { limits: { pageRequestsPerMinute: 10_000_000 } },
    mcpServer: { limits: { requestsPerMinute: 10_000_000 } },
  });
  routes = registeredRoutes(stage.world.gateways[0]?.app ?? raise());
  const user = stage.subject();
  const ask = async (scopes: string[]) =>
    (await stage.ask(user, { ttlSeconds: 3600, authorization: { provider: 'forge', scopes } })).elicitationId;
  signedIn = stage.raw();

  // One elicitation in every status a page knows.
  const completed = await ask(['issues']);
  await signedIn.signIn(completed, user);
  await signedIn.get(await signedIn.decideAtProvider(await signedIn.accept(completed), 'alice'));
  connectionId = (await stage.api.read(completed)).body.outcome?.connectionId ?? '';
  const declined = await ask(['repo', 'issues']);
  await signedIn.post(`/e/${declined}/decline`, { form: { csrf_token: await signedIn.csrfToken(declined) } });
  const cancelled = await ask(['repo']);
  await stage.api.cancel(cancelled);
  const active = await ask(['repo']);
  pendingCallback = {
    raw: signedIn,
    url: await signedIn.decideAtProvider(await signedIn.accept(active), 'alice'),
    elicitationId: active,
  };
  // Not shared with the one before: that one is being answered, and asks for less.
  const pending = await ask(['repo', 'issues']);

  const stranger = stage.subject();
  const foreign = (await stage.ask(stranger, { ttlSeconds: 3600 })).elicitationId;
  const newcomer = stage.raw();
  pendingSignIn = { raw: newcomer, url: await newcomer.signInAnswer(foreign, stranger), elicitationId: foreign };

  const embedded = stage.world.api({ apiKey: keyOf('embedded') });
  const external = (await embedded.issue(askFor(stage.world, user, { ttlSeconds: 3600 }))).body.elicitationId;
  const visitor = stage.raw();
  const opening = new URL((await visitor.get(`/login?e=${external}`)).location ?? '');
  const verified = await embedded.call<{ continueUrl: string }>('POST', `/v1/elicitations/${external}/verify`, {
    verificationId: opening.searchParams.get('verificationId'),
    subject: askFor(stage.world, user).subject,
  });
  pendingTicket = { raw: visitor, url: new URL(verified.body.continueUrl), elicitationId: external };

  const local = stage.world.api({ apiKey: keyOf('local') });
  const loopback = (await local.issue(askFor(stage.world, user, { ttlSeconds: 3600 }))).body.elicitationId;
  const unknown = `el_${pending.slice(3, 5)}${'A'.repeat(43)}`;
  ids = [pending, active, completed, declined, cancelled, foreign, external, loopback, unknown, 'nonsense'];
});
beforeEach(async () => {
  before = await dumpRedis(stage.world.redis.url);
  await writesSince(stage.world.redis.url);
});
afterAll(() => stage?.[Symbol.asyncDispose]());

async function expectUntouched(): Promise<void> {
  expect(await dumpRedis(stage.world.redis.url)).toEqual(before);
  expect((await writesSince(stage.world.redis.url)).filter(name => !SWEEPING.includes(name))).toEqual([]);
}

/** Real addresses of a route: with every id, and with what a link can carry. */
function addressesOf({ path }: RegisteredRoute): string[] {
  const state = pendingCallback.url.searchParams.get('state') ?? '';
  const random = `${state.slice(0, 5)}${'A'.repeat(43)}`;
  switch (path) {
    case '/login':
      return [
        '/login',
        '/login?to=me',
        '/login?to=me&idp=example-id',
        ...ids.flatMap(id => [`/login?e=${id}`, `/login?e=${id}&switch=1`]),
      ];
    case '/login/callback':
      return [path, `${path}?code=x&state=${'A'.repeat(43)}`, `${path}?error=access_denied&state=${'A'.repeat(43)}`];
    case '/login/continue':
      return [path, `${path}?ticket=x`, `${path}?ticket=a.b.c.d.e`];
    case '/callback/:mcpServerId/:provider':
      return ['/callback/tracker/forge', '/callback/nobody/nothing'].flatMap(at => [
        at,
        `${at}?code=x&state=${random}`,
        `${at}?error=access_denied&state=${random}`,
      ]);
    case '/v1/events':
      // A stream that is open never ends; that one writes nothing either is shown in events.test.ts.
      return [`${path}?after=x`, `${path}?after=999999999999999-0`];
    case '/v1/connections': {
      const { issuer, subject } = askFor(stage.world, 'alice').subject as { issuer: string; subject: string };
      return [path, `${path}?${new URLSearchParams({ issuer, subject })}`];
    }
    default:
      return path.includes(':elicitationId')
        ? ids.map(id => path.replace(':elicitationId', id))
        : [path.replace(':connectionId', connectionId)];
  }
}

/** Sends every request `TIMES` times, many at once. @returns statuses seen. */
async function crawl(
  browsers: readonly RawBrowser[],
  requests: readonly { method: string; address: string | URL; headers?: Record<string, string | undefined> }[],
  times = TIMES,
): Promise<Set<number>> {
  const statuses = new Set<number>();
  const all = browsers.flatMap(raw => requests.map(request => ({ raw, ...request })));
  const queue = Array.from({ length: times }, () => all)
    .flat()
    .values();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const { raw, method, address, headers } of queue)
        statuses.add((await raw.request(method, address, headers === undefined ? {} : { headers })).status);
    }),
  );
  return statuses;
}

/** A browser that forgets what it is told, so that what it carries stays what the test gave it. */
const withCookiesOf = (raw: RawBrowser): RawBrowser => {
  const copy = stage.raw();
  for (const [name, value] of raw.cookies) copy.cookies.set(name, value);
  return copy;
};

describe('S25: looking changes nothing', () => {
  it('GET and HEAD of every route, a hundred times, by nobody and by somebody', async () => {
    const reading = routes.filter(({ method }) => method === 'GET' || method === 'HEAD');
    expect(reading.map(({ path }) => path)).toEqual(
      expect.arrayContaining([
        '/e/:elicitationId',
        '/e/:elicitationId/leaving',
        '/e/:elicitationId/device',
        '/login',
        '/me',
        '/me/connections/:connectionId/disconnect',
        '/v1/elicitations/:elicitationId',
      ]),
    );
    const authorization = `Bearer ${keyOf('tracker')}`;
    const requests = reading.flatMap(route =>
      addressesOf(route).map(address => ({
        method: route.method,
        address,
        ...(route.path.startsWith('/v1') ? { headers: { authorization } } : {}),
      })),
    );
    const statuses = await crawl([stage.raw(), withCookiesOf(signedIn)], requests);
    expect([...statuses].filter(status => status >= 500)).toEqual([]);
    await expectUntouched();
  });

  it('OPTIONS and methods that nobody offers, on every path', async () => {
    const paths = [...new Set(routes.map(({ path }) => path))];
    const requests = paths.flatMap(path =>
      addressesOf({ method: 'OPTIONS', path }).flatMap(address =>
        ['OPTIONS', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND'].map(method => ({ method, address })),
      ),
    );
    const statuses = await crawl([stage.raw(), withCookiesOf(signedIn)], requests, 2);
    expect([...statuses].filter(status => status < 400 || status >= 500)).toEqual([]);
    await expectUntouched();
  });

  it('T26: prefetching, and HEAD or OPTIONS of, what only a person may open: answer, sign-in, ticket', async () => {
    for (const { raw, url } of [pendingCallback, pendingSignIn, pendingTicket]) {
      const requests = [
        { 'sec-purpose': 'prefetch' },
        { 'sec-purpose': 'prefetch;prerender' },
        { purpose: 'prefetch' },
        { 'x-moz': 'prefetch' },
      ].map(headers => ({ method: 'GET', address: url, headers }));
      const others = ['HEAD', 'OPTIONS'].map(method => ({ method, address: url }));
      const statuses = await crawl([stage.raw(), withCookiesOf(raw)], [...requests, ...others]);
      expect([...statuses].filter(status => status < 400 || status >= 500)).toEqual([]);
    }
    await expectUntouched();
  });

  it('T26: a link scanner that follows every link of every page it is shown', async () => {
    const scanner = withCookiesOf(signedIn);
    for (const start of ['/me', ...ids.map(id => `/e/${id}`)]) {
      const seen = new Set([start]);
      // Of the pages that these links lead to as well: disconnecting is two links away.
      for (const path of seen) for (const link of ownLinksIn(await scanner.get(path))) seen.add(link);
    }
    await expectUntouched();
  });

  // Last: from here on something changes.
  it('and afterwards every link still does what it is for', async () => {
    const { raw, url, elicitationId } = pendingCallback;
    expect(await raw.get(url)).toMatchObject({ status: 303, location: `/e/${elicitationId}` });
    expect((await stage.api.read(elicitationId)).body.status).toBe('completed');
    for (const link of [pendingSignIn, pendingTicket])
      expect(await link.raw.get(link.url)).toMatchObject({ status: 303, location: `/e/${link.elicitationId}` });
    expect(await dumpRedis(stage.world.redis.url)).not.toEqual(before);
    expect((await writesSince(stage.world.redis.url)).filter(name => !SWEEPING.includes(name))).not.toEqual([]);
  });
});

function raise(): never {
  throw new Error('there is no gateway');
}
