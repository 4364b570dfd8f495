import { SoftwareAuthenticator } from '@postern/payment/software-authenticator';
import { type FakeStripe, startFakeStripe } from '@postern/testkit/stripe';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { acceptWith, apiKeyRequest, issueFor, paymentConfig, paymentOf } from '../support/asks.ts';
import { askedKinds, askKind, askOfEach } from '../support/every-kind.ts';
import { answerCeremony, ceremonyOf } from '../support/passkey-ceremony.ts';
import { ownLinksIn, type RawBrowser } from '../support/raw-browser.ts';
import { dumpRedis, writesSince } from '../support/redis-dump.ts';
import { registeredRoutes } from '../support/registered-routes.ts';
import { type Stage, startStage } from '../support/stage.ts';
import { keyOf } from '../support/world.ts';

const TIMES = 8;
/** The sweeper looks with it; when nothing is old enough it removes nothing, which the dump shows. */
const SWEEPING = ['zremrangebyscore'];

let stage: Stage;
let stripe: FakeStripe;
let person: RawBrowser;
let ids: string[];
let addresses: string[];
let before: Record<string, unknown>;

beforeAll(async () => {
  stripe = await startFakeStripe();
  const { processors, payment } = paymentConfig(stripe, { passkeyAbove: { JPY: 100 } });
  const limits = { requestsPerMinute: 10_000_000, elicitationsPerSubject: 1000 };
  stage = await startStage({ config: { processors }, mcpServer: { payment, limits } });
  const user = stage.subject();
  const ttlSeconds = 3600;
  person = stage.raw();
  // For a payment: the identity provider says when, which is what payments need.
  const first = await askKind(stage, user, 'payment', { ttlSeconds });
  await person.signIn(first.elicitationId, user);

  // Every kind in every status that a page knows.
  ids = [first.elicitationId];
  for (const kind of askedKinds) {
    const ends: ((elicitationId: string) => Promise<unknown>)[] = [
      async elicitationId => acceptWith(person, elicitationId, askOfEach[kind].typed),
      async elicitationId => {
        await acceptWith(person, elicitationId, askOfEach[kind].typed);
        await stage.api.redeem(elicitationId);
      },
      async elicitationId => {
        const form = { csrf_token: await person.csrfToken(elicitationId) };
        await person.post(`/e/${elicitationId}/decline`, { form });
      },
      elicitationId => stage.api.cancel(elicitationId),
      async () => undefined,
    ];
    for (const [at, end] of ends.entries()) {
      // The same ask would meet the one before.
      const { elicitationId } = await issueFor(stage, user, distinct(askOfEach[kind].ask(), at));
      await end(elicitationId);
      ids.push(elicitationId);
    }
  }
  const charging = (await issueFor(stage, user, paymentOf())).elicitationId;
  await acceptWith(person, charging);
  const yen = { currency: 'JPY', minorUnits: 101 };
  const items = [{ label: 'x', unitMinorUnits: 101 }];
  const guarded = await issueFor(stage, user, { ...paymentOf({ processor: 'none', amount: yen, items }), ttlSeconds });
  const adding = await ceremonyOf(person, guarded.elicitationId);
  const authenticator = new SoftwareAuthenticator(stage.world.publicUrl);
  await answerCeremony(person, adding, authenticator.create(adding.options));
  const credential = { ...apiKeyRequest, name: 'kept', retention: 'lasting' } as const;
  const lasting = await issueFor(stage, user, { kind: 'credential', credential });
  await acceptWith(person, lasting.elicitationId, { api_key: 'ak_0123456789' });
  const foreign = await askKind(stage, stage.subject(), 'payment', { ttlSeconds });
  ids.push(charging, guarded.elicitationId, lasting.elicitationId, foreign.elicitationId);

  const links = ownLinksIn(await person.get('/me'));
  const query = new URLSearchParams({ issuer: stage.world.identityProvider.issuer, subject: user });
  addresses = [
    ...ids.flatMap(id => [`/e/${id}`, `/e/${id}/passkey`, `/login?e=${id}`, `/v1/elicitations/${id}`]),
    ...links,
    '/.well-known/jwks.json',
    `/v1/credentials?${query}`,
    '/webhooks/stripe-main',
  ];
});
beforeEach(async () => {
  before = await dumpRedis(stage.world.redis.url);
  await writesSince(stage.world.redis.url);
});
afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
  await stripe?.close();
});

type Ask = ReturnType<(typeof askOfEach)[keyof typeof askOfEach]['ask']>;

function distinct(ask: Ask, at: number): Ask & { ttlSeconds: number } {
  const ttlSeconds = 3600;
  switch (ask.kind) {
    case 'confirmation':
      return { ...ask, ttlSeconds, confirmation: { ...ask.confirmation, title: `Step ${at}` } };
    case 'credential':
      return { ...ask, ttlSeconds, credential: { ...ask.credential, name: `key-${at}` } };
    case 'form':
      return { ...ask, ttlSeconds, form: { ...ask.form, title: `Form ${at}` } };
    default:
      return { ...ask, ttlSeconds };
  }
}

async function expectUntouched(): Promise<void> {
  expect(await dumpRedis(stage.world.redis.url)).toEqual(before);
  expect((await writesSince(stage.world.redis.url)).filter(name => !SWEEPING.includes(name))).toEqual([]);
}

/** What it carries stays what the test gave it. */
function copyOf(raw: RawBrowser): RawBrowser {
  const copy = stage.raw();
  for (const [name, value] of raw.cookies) copy.cookies.set(name, value);
  return copy;
}

async function crawl(raw: RawBrowser, method: string, paths: readonly string[], times = TIMES): Promise<Set<number>> {
  const statuses = new Set<number>();
  const authorization = `Bearer ${keyOf('tracker')}`;
  for (let round = 0; round < times; round += 1)
    await Promise.all(
      paths.map(async path => {
        const headers = path.startsWith('/v1') ? { authorization } : {};
        statuses.add((await raw.request(method, path, { headers })).status);
      }),
    );
  return statuses;
}

describe('S25: looking changes nothing, whatever kind it is', () => {
  it('the addresses reach every new GET route', () => {
    const app = stage.world.gateways[0]?.app;
    const routes = (app === undefined ? [] : registeredRoutes(app)).filter(({ method }) => method === 'GET');
    const reached = (path: string) => {
      const pattern = new RegExp(`^${path.replace(/:[A-Za-z]+/g, '[^/?]+').replaceAll('.', '\\.')}(\\?.*)?$`);
      return addresses.some(address => pattern.test(address));
    };
    const others = ['/me/connections/:connectionId/disconnect', '/callback/:mcpServerId/:provider'];
    const missed = routes
      .map(({ path }) => path)
      .filter(path => !reached(path) && !others.includes(path) && /\/(e|me|v1|webhooks)\/|well-known/.test(path));
    expect(missed.toSorted()).toEqual(
      // Told about elsewhere: read-only-get.test.ts, events.test.ts and charge-page.test.ts.
      [
        '/e/:elicitationId/charge',
        '/e/:elicitationId/device',
        '/e/:elicitationId/leaving',
        '/v1/connections',
        '/v1/events',
      ].toSorted(),
    );
  });

  it.each(['GET', 'HEAD'])('%s of every page and read, by nobody and by somebody', async method => {
    for (const raw of [stage.raw(), copyOf(person)])
      expect([...(await crawl(raw, method, addresses))].filter(status => status >= 500)).toEqual([]);
    await expectUntouched();
  });

  it('the page of an unpaid charge asks the processor and writes nothing', async () => {
    const statuses = await crawl(
      copyOf(person),
      'GET',
      ids.map(id => `/e/${id}/charge`),
      3,
    );
    expect([...statuses].toSorted()).toEqual([200, 303, 403, 404]);
    await expectUntouched();
  });

  it('methods that nobody offers', async () => {
    for (const method of ['OPTIONS', 'PUT', 'PATCH', 'TRACE'])
      for (const raw of [stage.raw(), copyOf(person)]) {
        const statuses = await crawl(raw, method, [...addresses, ...ids.map(id => `/e/${id}/charge`)], 1);
        expect([...statuses].filter(status => status < 400 || status >= 500)).toEqual([]);
      }
    await expectUntouched();
  });

  it('T26: a link scanner that follows every link of every page it is shown', async () => {
    const scanner = copyOf(person);
    for (const start of ['/me', ...ids.map(id => `/e/${id}`)]) {
      const seen = new Set([start]);
      for (const path of seen) for (const link of ownLinksIn(await scanner.get(path))) seen.add(link);
    }
    await expectUntouched();
  });
});
