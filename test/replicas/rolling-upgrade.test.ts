import type { RecordLayout } from '@postern/elicitation';
import { createLogger, type Gateway, type GatewayConfigInput, parseConfig, startGateway } from '@postern/gateway';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { acceptWith, apiKeyRequest, deletion, deliveryForm, paymentOf, paymentPolicy } from '../support/asks.ts';
import { createMovingBrowser, type MovingBrowser } from '../support/moving-browser.ts';
import { acceptFormIn, destinationIn } from '../support/raw-browser.ts';
import { type Api, askFor, createApi, keyOf, startWorld, type World } from '../support/world.ts';

/** What is told to write layout 1 and what is told to write layout 2, on one Redis. */
const OLD = 0;
const NEW = 1;

let world: World;
let operator: Redis;
/** As they were started, by replica. */
const configs: GatewayConfigInput[] = [];
/** Of replicas that were started later. */
const lines: string[] = [];
const stack = new AsyncDisposableStack();

const withLayout = (config: GatewayConfigInput, recordLayout: RecordLayout): GatewayConfigInput => ({
  ...config,
  redis: { ...config.redis, recordLayout },
});

beforeAll(async () => {
  world = stack.use(
    await startWorld({
      replicas: 2,
      mcpServer: { payment: paymentPolicy() },
      config: ({ base }) => {
        const config = withLayout(base, configs.length === OLD ? 1 : 2);
        configs.push(config);
        return config;
      },
    }),
  );
  operator = new Redis(world.redis.url);
  stack.defer(() => operator.disconnect());
});
afterAll(() => stack.disposeAsync());

const at = (replica: number) => world.apiOf({ replica });
const subjectOf = (user: string) => ({ issuer: world.identityProvider.issuer, subject: user });
const browserOf = (addresses = world.gateways.map(({ address }) => address)) =>
  createMovingBrowser({ addresses, publicUrl: world.publicUrl });

async function keyOfOne(noun: string, name = '*'): Promise<string> {
  const [key, ...more] = await operator.keys(`postern:{*}:${noun}:${name}`);
  if (key === undefined || more.length > 0) throw new Error(`there is not one ${noun}`);
  return key;
}
const keyOfElicitation = (elicitationId: string) => keyOfOne('el', elicitationId.slice(5));

async function layoutOf(elicitationId: string): Promise<number> {
  const record = await operator.hget(await keyOfElicitation(elicitationId), 'record');
  return Number(/^\{"layout":(\d+)/.exec(record ?? '')?.[1]);
}

/** The person signs in, agrees and comes back, every request at the replica that is next. */
async function connect(browser: MovingBrowser, elicitationId: string, user: string, steps: readonly number[]) {
  const [signIn = 0, answer = 0, accept = 0, leaving = 0, callback = 0] = steps;
  const page = `/e/${elicitationId}`;
  const signedIn = await browser.at(signIn).signInAnswer(elicitationId, user);
  expect(await browser.at(answer).get(signedIn)).toMatchObject({ status: 303 });
  const form = acceptFormIn(await browser.at(accept).get(page));
  expect(await browser.at(accept).post(`${page}/accept`, { form })).toMatchObject({ status: 303 });
  const destination = destinationIn(await browser.at(leaving).get(`${page}/leaving`));
  const back = await browser.at(callback).decideAtProvider(destination, 'alice');
  expect(await browser.at(callback).get(back)).toMatchObject({ status: 303, location: page });
}

const kinds = [
  { kind: 'confirmation', ask: () => ({ kind: 'confirmation', confirmation: deletion }) as const, typed: {} },
  { kind: 'payment', ask: () => paymentOf({ processor: 'none' }), typed: {} },
  {
    kind: 'credential',
    ask: () => ({ kind: 'credential', credential: apiKeyRequest }) as const,
    typed: { api_key: 'ak_rolling1' },
  },
  { kind: 'form', ask: () => ({ kind: 'form', form: deliveryForm }) as const, typed: { name: 'Alice', parcels: '3' } },
] as const;
type Case = (typeof kinds)[number];

async function issueAt(api: Api, { ask }: Case, user: string): Promise<string> {
  const issued = await api.issue({ ...ask(), subject: subjectOf(user) } as Parameters<Api['issue']>[0]);
  expect(issued.status).toBe(201);
  return issued.body.elicitationId;
}

describe.each([
  { first: OLD, second: NEW, written: [1, 2] },
  { first: NEW, second: OLD, written: [2, 1] },
])('replicas that write layouts 1 and 2, first $written', ({ first, second, written }) => {
  it('serve an authorization between them, every step at the other one', async () => {
    const user = world.subject();
    const browser = browserOf();
    const issued = await at(first).issue(askFor(world, user));
    const { elicitationId } = issued.body;
    expect([issued.status, await layoutOf(elicitationId)]).toEqual([201, written[0]]);
    // Asked for more at the other one: the same elicitation, widened.
    const more = askFor(world, user, { authorization: { provider: 'forge', scopes: ['issues', 'repo'] } });
    expect((await at(second).issue(more)).body.elicitationId).toBe(elicitationId);
    expect(await layoutOf(elicitationId)).toBe(written[1]);
    const waiting = at(second).read(elicitationId, 55);
    await connect(browser, elicitationId, user, [first, second, first, second, first]);
    expect(await layoutOf(elicitationId)).toBe(written[0]);
    const { body } = await waiting;
    expect(body).toMatchObject({ status: 'completed', outcome: { provider: 'forge' } });
    for (const replica of [second, first])
      expect((await at(replica).accessToken(body.outcome?.connectionId ?? '')).status).toBe(200);
    expect((await at(second).issue(askFor(world, user))).body).toMatchObject({ status: 'completed' });
  });

  it.each(kinds)('take and give back what is typed or approved: $kind', async sample => {
    const user = world.subject();
    const browser = browserOf();
    const elicitationId = await issueAt(at(first), sample, user);
    await browser.at(second).signIn(elicitationId, user);
    const waiting = at(first).read(elicitationId, 55);
    expect((await acceptWith(browser.at(second), elicitationId, sample.typed)).status).toBe(303);
    expect(await layoutOf(elicitationId)).toBe(written[1]);
    expect((await waiting).body.status).toBe('completed');
    const redeemed = await at(first).redeem(elicitationId, { 'idempotency-key': 'rolling' });
    expect(redeemed.status).toBe(200);
    // What stands in it, not when the receipt was signed.
    const again = await at(second).redeem(elicitationId, { 'idempotency-key': 'rolling' });
    expect([again.status, again.body.kind, again.body.redeemedAt]).toEqual([
      200,
      sample.kind,
      redeemed.body.redeemedAt,
    ]);
    expect((await at(second).redeem(elicitationId)).status).toBe(409);
  });

  it('decline, cancel and list', async () => {
    const user = world.subject();
    const browser = browserOf();
    const declined = (await at(first).issue(askFor(world, user))).body.elicitationId;
    await browser.at(second).signIn(declined, user);
    const form = { csrf_token: await browser.at(first).csrfToken(declined) };
    expect((await browser.at(second).post(`/e/${declined}/decline`, { form })).status).toBe(303);
    expect((await at(first).read(declined)).body.status).toBe('declined');
    const cancelled = (await at(first).issue(askFor(world, user))).body.elicitationId;
    expect((await browser.at(second).get('/me')).body).toContain(cancelled);
    expect((await at(second).cancel(cancelled)).status).toBe(200);
    expect((await at(first).read(cancelled)).body.status).toBe('cancelled');
  });
});

describe('after a rolling restart with layout 2', () => {
  const replicas: Gateway[] = [];
  const both = () => replicas.map(({ address }) => createApi(address, keyOf('tracker')));

  /** What was begun before, in layout 1. */
  let connectionId: string;
  let open: { elicitationId: string; user: string };
  let half: { browser: MovingBrowser; back: URL; elicitationId: string };
  let unredeemed: readonly { elicitationId: string; sample: Case }[];

  beforeAll(async () => {
    const connected = world.subject();
    const asked = (await at(OLD).issue(askFor(world, connected))).body.elicitationId;
    await connect(browserOf(), asked, connected, [OLD, OLD, OLD, OLD, OLD]);
    connectionId = (await at(OLD).read(asked)).body.outcome?.connectionId ?? '';

    const [waiting, halfway] = [world.subject(), world.subject()];
    open = { user: waiting, elicitationId: (await at(OLD).issue(askFor(world, waiting))).body.elicitationId };
    const { elicitationId } = (await at(OLD).issue(askFor(world, halfway))).body;
    const browser = browserOf();
    await browser.at(OLD).signIn(elicitationId, halfway);
    const back = await browser.at(OLD).decideAtProvider(await browser.at(OLD).accept(elicitationId), 'alice');
    half = { browser, back, elicitationId };
    unredeemed = await Promise.all(
      kinds.map(async sample => {
        const user = world.subject();
        const raw = browserOf().at(OLD);
        const elicitationId = await issueAt(at(OLD), sample, user);
        await raw.signIn(elicitationId, user);
        await acceptWith(raw, elicitationId, sample.typed);
        return { elicitationId, sample };
      }),
    );
    for (const { elicitationId } of [open, half, ...unredeemed]) expect(await layoutOf(elicitationId)).toBe(1);

    const destination = { write: (line: string) => lines.push(line) };
    const logger = createLogger({ level: 'info', destination: destination as unknown as NodeJS.WritableStream });
    for (const [replica, config] of configs.entries()) {
      await world.gateways[replica]?.close();
      replicas.push(stack.use(await startGateway(parseConfig(withLayout(config, 2)), { logger })));
    }
  });

  it('everything from before is there', async () => {
    for (const api of both()) {
      expect((await api.accessToken(connectionId)).status).toBe(200);
      for (const { elicitationId } of [open, half, ...unredeemed])
        expect((await api.read(elicitationId)).status).toBe(200);
    }
  });

  it('who stood at the provider comes back to a replica that writes layout 2', async () => {
    expect(await half.browser.at(NEW).get(half.back)).toMatchObject({ status: 303 });
    for (const api of both()) expect((await api.read(half.elicitationId)).body.status).toBe('completed');
    expect(await layoutOf(half.elicitationId)).toBe(2);
  });

  it('who had not opened the link yet connects', async () => {
    await connect(browserOf(), open.elicitationId, open.user, [OLD, NEW, OLD, NEW, OLD]);
    for (const api of both()) expect((await api.read(open.elicitationId)).body.status).toBe('completed');
  });

  it('what was answered is redeemed once', async () => {
    for (const { elicitationId, sample } of unredeemed) {
      const [one, other] = both();
      expect(await one?.redeem(elicitationId)).toMatchObject({ status: 200, body: { kind: sample.kind } });
      expect((await other?.redeem(elicitationId))?.status).toBe(409);
    }
  });

  describe('a record of layout 3', () => {
    const expectUnavailable = (answer: { status: number; headers: unknown }) => {
      expect(answer.status).toBe(503);
      const { headers } = answer;
      const retryAfter =
        headers instanceof Headers ? headers.get('retry-after') : Reflect.get(Object(headers), 'retry-after');
      expect(Number(retryAfter)).toBeGreaterThan(0);
    };
    const rewrite = async (key: string, from: number, to: number) => {
      const record = (await operator.hget(key, 'record')) ?? '';
      expect(record).toContain(`"layout":${from}`);
      await operator.hset(key, 'record', record.replace(`"layout":${from}`, `"layout":${to}`));
    };
    /** Whatever `calls` do, what is stored under the key stays as it is. */
    async function untouched(key: string, calls: () => Promise<void>): Promise<void> {
      const before = await operator.hgetall(key);
      await calls();
      expect(await operator.hgetall(key)).toEqual(before);
    }

    it('elicitation: 503 to its MCP server and to its person, and it goes on when it can be read', async () => {
      const user = world.subject();
      const browser = browserOf();
      const [api] = both();
      const { elicitationId } = (await api?.issue(askFor(world, user)))?.body ?? { elicitationId: '' };
      await browser.at(OLD).signIn(elicitationId, user);
      const form = await browser.at(OLD).acceptForm(elicitationId);
      const key = await keyOfElicitation(elicitationId);
      await rewrite(key, 2, 3);
      await untouched(key, async () => {
        for (const each of both()) {
          expectUnavailable(await each.read(elicitationId));
          expectUnavailable(await each.read(elicitationId, 5));
          expectUnavailable(await each.cancel(elicitationId));
          expectUnavailable(await each.redeem(elicitationId));
          expectUnavailable(await each.issue(askFor(world, user)));
        }
        expectUnavailable(await browser.at(NEW).get(`/e/${elicitationId}`));
        expectUnavailable(await browser.at(OLD).post(`/e/${elicitationId}/accept`, { form }));
      });
      const told = lines.map(line => JSON.parse(line) as { event?: string; layout?: number });
      expect(told.filter(({ event }) => event === 'store.unknown_layout')).toContainEqual(
        expect.objectContaining({ layout: 3 }),
      );
      expect(lines.join('')).not.toContain('http.surprise');
      await rewrite(key, 3, 2);
      await connect(browser, elicitationId, user, [OLD, NEW, OLD, NEW, OLD]);
    });

    it('provider answer: not burnt, the same address works when it can be read', async () => {
      const user = world.subject();
      const browser = browserOf();
      const [api] = both();
      const { elicitationId } = (await api?.issue(askFor(world, user)))?.body ?? { elicitationId: '' };
      await browser.at(OLD).signIn(elicitationId, user);
      const before = new Set(await operator.keys('*:once:*'));
      const authorization = await browser.at(OLD).accept(elicitationId);
      const [key = ''] = (await operator.keys('*:once:*')).filter(name => !before.has(name));
      const back = await browser.at(OLD).decideAtProvider(authorization, 'alice');
      await rewrite(key, 1, 3);
      const exchanges = () => world.provider.requests('token').length;
      const exchanged = exchanges();
      await untouched(key, async () => expectUnavailable(await browser.at(NEW).get(back)));
      expect(exchanges()).toBe(exchanged);
      await rewrite(key, 3, 1);
      expect(await browser.at(NEW).get(back)).toMatchObject({ status: 303 });
      expect((await api?.read(elicitationId))?.body.status).toBe('completed');
    });

    it('result: not taken, though nobody could repeat it', async () => {
      const user = world.subject();
      const [api] = both();
      if (api === undefined) throw new Error('there is no replica');
      const elicitationId = await issueAt(api, kinds[3], user);
      const raw = browserOf().at(OLD);
      await raw.signIn(elicitationId, user);
      await acceptWith(raw, elicitationId, kinds[3].typed);
      const key = await keyOfOne('res', elicitationId.slice(5));
      await rewrite(key, 1, 3);
      await untouched(key, async () => expectUnavailable(await api.redeem(elicitationId)));
      await rewrite(key, 3, 1);
      expect(await api.redeem(elicitationId)).toMatchObject({ status: 200, body: { kind: 'form' } });
    });

    it('connection: no token, no removal', async () => {
      const key = await keyOfOne('cn', connectionId.slice(5));
      await rewrite(key, 1, 3);
      await untouched(key, async () => {
        for (const api of both()) {
          expectUnavailable(await api.accessToken(connectionId));
          expectUnavailable(await api.remove(connectionId));
        }
      });
      await rewrite(key, 3, 1);
      for (const api of both()) expect((await api.accessToken(connectionId)).status).toBe(200);
    });
  });
});
