import { SoftwareAuthenticator } from '@postern/payment/software-authenticator';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { acceptWith, apiKeyRequest, issueFor, paymentOf } from '../support/asks.ts';
import { type AskedKind, askedKinds, askKind, askOfEach } from '../support/every-kind.ts';
import { answerCeremony, ceremonyOf } from '../support/passkey-ceremony.ts';
import { ownLinksIn, type RawBrowser } from '../support/raw-browser.ts';
import { dumpRedis } from '../support/redis-dump.ts';
import { type RedisWrite, type WriteWatch, watchWrites } from '../support/redis-writes.ts';
import { type RegisteredRoute, registeredRoutes } from '../support/registered-routes.ts';
import { askFor, keyOf, type PayingWorld, startWorld } from '../support/world.ts';

/**
 * Requests per route, method and browser, spread over the addresses of the route. Each address gets at least one. More than one, for
 * what only a repeated request would write.
 */
const TIMES = 10;
const AT_ONCE = 25;
/** The sweeper sends this command. It removes nothing if no entry is due, and the dump would show a removal. */
const SWEEPING = ['zremrangebyscore'];
/** Due charges: the sweeper sets the next check of each. No page and no API route writes this key before a decision. */
const CHARGE_CHECKS = /:charges$/;
/**
 * Routes that refuse every address here: they need a one-time value, an ended elicitation, or a provider that reads our
 * metadata.
 */
const REFUSING = [
  ...[
    '/login/callback/:identityProvider',
    '/login/continue',
    '/logout/callback/:identityProvider',
    '/callback/:mcpServerId/:provider',
    '/v1/events',
  ],
  ...['/oauth/clients/:mcpServerId/:provider', '/oauth/keys/:mcpServerId/:provider'],
];

interface Link {
  readonly raw: RawBrowser;
  readonly url: URL;
  readonly elicitationId: string;
}

let world: PayingWorld;
let routes: RegisteredRoute[];
let signedIn: RawBrowser;
/** Elicitations of every kind in every status, elicitations of other users, and unknown ids. */
let ids: string[];
let connectionId: string;
let credentialId: string;
let passkeyName: string;
let pendingCallback: Link;
let pendingSignIn: Link;
let pendingTicket: Link;
/** Epoch milliseconds. The ticket is valid for a minute, however long the tests take. */
let ticketAt: number;
let before: Record<string, unknown>;
let writes: WriteWatch;

beforeAll(async () => {
  const limits = { requestsPerMinute: 10_000_000, elicitationsPerSubject: 1000 };
  world = await startWorld({
    payment: { passkeyAbove: { JPY: 100 } },
    mcpServer: { limits },
    otherMcpServers: [
      { id: 'embedded', identity: { mode: 'external', verifyUrl: 'https://application.example/verify' } },
      { id: 'local', identity: { mode: 'loopback' } },
    ],
  });
  routes = registeredRoutes(world.gateways[0]?.app ?? raise());
  const user = world.subject();
  signedIn = world.raw();
  // For a payment: the identity provider states when the user signed in, which payments need.
  const firstPayment = await askKind(world, user, 'payment', { ttlSeconds });
  await signedIn.signIn(firstPayment.elicitationId, user);
  ids = [
    firstPayment.elicitationId,
    ...(await authorizations(user)),
    ...(await otherKinds(user)),
    ...(await ofOthers(user)),
  ];
  passkeyName = /\/me\/passkeys\/([^/"]+)\/remove/.exec((await signedIn.get('/me')).body)?.[1] ?? raise();
  writes = await watchWrites(world.redis.url);
});
beforeEach(async () => {
  before = await dumpRequests();
  await writes.take();
});
afterAll(async () => {
  writes?.[Symbol.dispose]();
  await world?.[Symbol.asyncDispose]();
});

const ttlSeconds = 3600;

async function decline(elicitationId: string): Promise<void> {
  const form = { csrf_token: await signedIn.csrfToken(elicitationId) };
  await signedIn.post(`/e/${elicitationId}/decline`, { form });
}

async function authorizations(user: string): Promise<string[]> {
  const ask = async (scopes: string[]) =>
    (await world.ask(user, { ttlSeconds, authorization: { provider: 'forge', scopes } })).elicitationId;
  const completed = await ask(['issues']);
  await signedIn.get(await signedIn.decideAtProvider(await signedIn.accept(completed), 'alice'));
  connectionId = (await world.api.read(completed)).body.outcome?.connectionId ?? '';
  const declined = await ask(['repo', 'issues']);
  await decline(declined);
  const cancelled = await ask(['repo']);
  await world.api.cancel(cancelled);
  const active = await ask(['repo']);
  const url = await signedIn.decideAtProvider(await signedIn.accept(active), 'alice');
  pendingCallback = { raw: signedIn, url, elicitationId: active };
  // Does not join the previous elicitation, which is active and has fewer scopes.
  const pending = await ask(['repo', 'issues']);
  return [pending, active, completed, declined, cancelled];
}

async function otherKinds(user: string): Promise<string[]> {
  const found: string[] = [];
  for (const kind of askedKinds) {
    const agree = (elicitationId: string) => acceptWith(signedIn, elicitationId, askOfEach[kind].typed);
    const ends: readonly ((elicitationId: string) => Promise<unknown>)[] = [
      agree,
      async elicitationId => {
        await agree(elicitationId);
        await world.api.redeem(elicitationId);
      },
      decline,
      elicitationId => world.api.cancel(elicitationId),
      async () => undefined,
    ];
    for (const [at, end] of ends.entries()) {
      const { elicitationId } = await issueFor(world, user, distinct(kind, at));
      await end(elicitationId);
      found.push(elicitationId);
    }
  }
  const charging = (await issueFor(world, user, paymentOf())).elicitationId;
  await acceptWith(signedIn, charging);
  const yen = { currency: 'JPY', minorUnits: 101 };
  const items = [{ label: 'x', unitMinorUnits: 101 }];
  const guarded = await issueFor(world, user, { ...paymentOf({ processor: 'none', amount: yen, items }), ttlSeconds });
  const adding = await ceremonyOf(signedIn, guarded.elicitationId);
  const authenticator = new SoftwareAuthenticator(world.publicUrl);
  await answerCeremony(signedIn, adding, authenticator.create(adding.options));
  const credential = { ...apiKeyRequest, name: 'kept', retention: 'lasting' } as const;
  const lasting = await issueFor(world, user, { kind: 'credential', credential });
  await acceptWith(signedIn, lasting.elicitationId, { api_key: 'ak_0123456789' });
  credentialId = (await world.api.read(lasting.elicitationId)).body.outcome?.credentialId ?? '';
  return [...found, charging, guarded.elicitationId, lasting.elicitationId];
}

/** A request that joins no earlier elicitation. */
function distinct(kind: AskedKind, at: number): Parameters<typeof issueFor>[2] {
  const { confirmation, credential, form } = askOfEach;
  switch (kind) {
    case 'confirmation':
      return { kind, ttlSeconds, confirmation: { ...confirmation.ask().confirmation, title: `Step ${at}` } };
    case 'credential':
      return { kind, ttlSeconds, credential: { ...credential.ask().credential, name: `key-${at}` } };
    case 'form':
      return { kind, ttlSeconds, form: { ...form.ask().form, title: `Form ${at}` } };
    default:
      return { ...askOfEach[kind].ask(), ttlSeconds };
  }
}

async function ofOthers(user: string): Promise<string[]> {
  const stranger = world.subject();
  const foreign = (await world.ask(stranger, { ttlSeconds })).elicitationId;
  const newcomer = world.raw();
  pendingSignIn = { raw: newcomer, url: await newcomer.signInAnswer(foreign, stranger), elicitationId: foreign };
  const foreignPayment = (await askKind(world, world.subject(), 'payment', { ttlSeconds })).elicitationId;

  const embedded = world.apiOf({ apiKey: keyOf('embedded') });
  const external = (await embedded.issue(askFor(world, user, { ttlSeconds }))).body.elicitationId;
  const visitor = world.raw();
  const opening = new URL((await visitor.get(`/login?e=${external}`)).location ?? '');
  const verified = await embedded.call<{ continueUrl: string }>('POST', `/v1/elicitations/${external}/verify`, {
    verificationId: opening.searchParams.get('verificationId'),
    subject: askFor(world, user).subject,
  });
  ticketAt = world.clock.now();
  pendingTicket = { raw: visitor, url: new URL(verified.body.continueUrl), elicitationId: external };

  const local = world.apiOf({ apiKey: keyOf('local') });
  const loopback = (await local.issue(askFor(world, user, { ttlSeconds }))).body.elicitationId;
  const unknown = `el_${foreign.slice(3, 5)}${'A'.repeat(43)}`;
  return [foreign, foreignPayment, external, loopback, unknown, 'nonsense'];
}

const isOfRequest = ({ name, key }: RedisWrite) => !SWEEPING.includes(name) && !CHARGE_CHECKS.test(key);

async function dumpRequests(): Promise<Record<string, unknown>> {
  const all = Object.entries(await dumpRedis(world.redis.url));
  return Object.fromEntries(all.filter(([key]) => !CHARGE_CHECKS.test(key)));
}

async function expectUntouched(): Promise<void> {
  // Keys may expire meanwhile, but none is new or changed.
  expect(before).toMatchObject(await dumpRequests());
  expect((await writes.take()).filter(isOfRequest)).toEqual([]);
}

/** Real addresses of a route: with every id and every query parameter of a link. */
function addressesOf({ path }: RegisteredRoute, of: readonly string[] = ids): string[] {
  const state = pendingCallback.url.searchParams.get('state') ?? '';
  const random = `${state.slice(0, 5)}${'A'.repeat(43)}`;
  const { issuer, subject } = askFor(world, 'alice').subject as { issuer: string; subject: string };
  switch (path) {
    case '/login':
      return [
        '/login',
        '/login?to=me',
        '/login?to=me&idp=example-id',
        ...of.flatMap(id => [`/login?e=${id}`, `/login?e=${id}&switch=1`]),
      ];
    case '/login/callback/:identityProvider':
      return [path, path.replace(':identityProvider', 'example-id')].flatMap(at => [
        at,
        `${at}?code=x&state=${'A'.repeat(43)}`,
        `${at}?error=access_denied&state=${'A'.repeat(43)}`,
      ]);
    case '/logout/callback/:identityProvider':
      return ['example-id', 'nowhere'].map(name => `/logout/callback/${name}?state=${'A'.repeat(43)}`);
    case '/login/continue':
      return [path, `${path}?ticket=x`, `${path}?ticket=a.b.c.d.e`];
    case '/callback/:mcpServerId/:provider':
      return ['/callback/tracker/forge', '/callback/unknown/nothing'].flatMap(at => [
        at,
        `${at}?code=x&state=${random}`,
        `${at}?error=access_denied&state=${random}`,
      ]);
    case '/v1/events':
      // An open stream never ends; events.test.ts shows that streams write nothing.
      return [`${path}?after=x`, `${path}?after=999999999999999-0`];
    case '/v1/connections':
    case '/v1/credentials':
      return [path, `${path}?${new URLSearchParams({ issuer, subject })}`];
    default:
      return path.includes(':elicitationId')
        ? of.map(id => path.replace(':elicitationId', id))
        : [
            path
              .replace(':connectionId', connectionId)
              .replace(':credentialId', credentialId)
              .replace(':name', passkeyName)
              .replace(':mcpServerId', 'tracker')
              .replace(':provider', 'forge')
              .replace(':processor', 'stripe-main')
              .replace(':nonce', 'A'.repeat(43)),
          ];
  }
}

/** Sends every request repeatedly from every browser, many concurrently. @returns the observed statuses */
async function crawl(
  browsers: readonly RawBrowser[],
  requests: readonly { method: string; address: string | URL; headers?: Record<string, string | undefined> }[],
  times = 1,
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

/** A browser that starts with a copy of another browser's cookies. */
const withCookiesOf = (raw: RawBrowser): RawBrowser => {
  const copy = world.raw();
  for (const [name, value] of raw.cookies) copy.cookies.set(name, value);
  return copy;
};

describe('S25: GET, HEAD and OPTIONS change nothing, for every kind and status', () => {
  it('GET and HEAD of every route, with and without a session', async () => {
    const reading = routes.filter(({ method }) => method === 'GET' || method === 'HEAD');
    const authorization = `Bearer ${keyOf('tracker')}`;
    for (const route of reading) {
      const addresses = addressesOf(route);
      const requests = addresses.map(address => ({
        method: route.method,
        address,
        ...(route.path.startsWith('/v1') ? { headers: { authorization } } : {}),
      }));
      const statuses = await crawl(
        [world.raw(), withCookiesOf(signedIn)],
        requests,
        Math.ceil(TIMES / addresses.length),
      );
      expect([route, [...statuses].filter(status => status >= 500)]).toEqual([route, []]);
      // The addresses are real: some browser gets the page or the record.
      if (!REFUSING.includes(route.path))
        expect([route, [...statuses].some(status => status < 400)]).toEqual([route, true]);
    }
    await expectUntouched();
  });

  it('OPTIONS and methods that no route offers, on every path', async () => {
    const paths = [...new Set(routes.map(({ path }) => path))];
    const reachable = (path: string) => routes.some(route => route.path === path && route.method === 'GET');
    const [firstPayment = '', pending = ''] = ids;
    const requests = paths.flatMap(path =>
      addressesOf({ method: 'OPTIONS', path }, [firstPayment, pending, ...ids.slice(-6)]).flatMap(address =>
        ['OPTIONS', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND', ...(reachable(path) ? [] : ['GET', 'HEAD'])].map(
          method => ({ method, address }),
        ),
      ),
    );
    const statuses = await crawl([world.raw(), withCookiesOf(signedIn)], requests);
    expect([...statuses].filter(status => status < 400 || status >= 500)).toEqual([]);
    await expectUntouched();
  });

  it('T26: a prefetch, HEAD or OPTIONS of a callback, sign-in or ticket', async () => {
    for (const { raw, url } of [pendingCallback, pendingSignIn, pendingTicket]) {
      const requests = [
        { 'sec-purpose': 'prefetch' },
        { 'sec-purpose': 'prefetch;prerender' },
        { purpose: 'prefetch' },
        { 'x-moz': 'prefetch' },
      ].map(headers => ({ method: 'GET', address: url, headers }));
      const others = ['HEAD', 'OPTIONS'].map(method => ({ method, address: url }));
      const statuses = await crawl([world.raw(), withCookiesOf(raw)], [...requests, ...others], TIMES / 5);
      expect([...statuses].filter(status => status < 400 || status >= 500)).toEqual([]);
    }
    await expectUntouched();
  });

  it('T26: a link scanner that follows every link of every page', async () => {
    const scanner = withCookiesOf(signedIn);
    const seen = new Set(['/me', ...ids.map(id => `/e/${id}`)]);
    // Also follow the links of those pages: the disconnect page is two links away.
    for (const path of seen) for (const link of ownLinksIn(await scanner.get(path))) seen.add(link);
    expect(seen.size).toBeGreaterThan(ids.length);
    await expectUntouched();
  });

  // Must be last, because it changes records.
  it('every link still works afterwards', async () => {
    const { raw, url, elicitationId } = pendingCallback;
    expect(await raw.get(url)).toMatchObject({ status: 303, location: `/e/${elicitationId}` });
    expect((await world.api.read(elicitationId)).body.status).toBe('completed');
    const stillWorks = async (link: Link) =>
      expect(await link.raw.get(link.url)).toMatchObject({ status: 303, location: `/e/${link.elicitationId}` });
    await stillWorks(pendingSignIn);
    await world.clock.during(ticketAt - Date.now(), () => stillWorks(pendingTicket));
    expect(await dumpRedis(world.redis.url)).not.toEqual(before);
    expect((await writes.take()).filter(({ name }) => !SWEEPING.includes(name))).not.toEqual([]);
  });
});

function raise(): never {
  throw new Error('not prepared');
}
