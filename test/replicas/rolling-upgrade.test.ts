import { createLogger, type Gateway, type GatewayConfigInput, parseConfig, startGateway } from '@postern/gateway';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { acceptWith, apiKeyRequest, deletion, deliveryForm, paymentOf, paymentPolicy } from '../support/asks.ts';
import { createMovingBrowser, type MovingBrowser } from '../support/moving-browser.ts';
import { acceptFormIn, destinationIn } from '../support/raw-browser.ts';
import { type Api, askFor, createApi, keyOf, startWorld, type World } from '../support/world.ts';

let world: World;
let operator: Redis;
/** The first process of each replica. */
const configs: GatewayConfigInput[] = [];
/** Replicas that were started later. */
const lines: string[] = [];
const stack = new AsyncDisposableStack();

beforeAll(async () => {
  world = stack.use(
    await startWorld({
      replicas: 2,
      mcpServer: { payment: paymentPolicy() },
      config: ({ base }) => {
        configs.push(base);
        return base;
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

/** The user signs in, agrees and returns; the replicas get the requests in turn. */
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

describe('after a rolling restart', () => {
  const replicas: Gateway[] = [];
  const both = () => replicas.map(({ address }) => createApi(address, keyOf('tracker')));

  /** Started before the restart. */
  let connectionId: string;
  let open: { elicitationId: string; user: string };
  let half: { browser: MovingBrowser; back: URL; elicitationId: string };
  let unredeemed: readonly { elicitationId: string; sample: Case }[];

  beforeAll(async () => {
    const connected = world.subject();
    const asked = (await at(0).issue(askFor(world, connected))).body.elicitationId;
    await connect(browserOf(), asked, connected, [0, 0, 0, 0, 0]);
    connectionId = (await at(0).read(asked)).body.outcome?.connectionId ?? '';

    const [waiting, halfway] = [world.subject(), world.subject()];
    open = { user: waiting, elicitationId: (await at(0).issue(askFor(world, waiting))).body.elicitationId };
    const { elicitationId } = (await at(0).issue(askFor(world, halfway))).body;
    const browser = browserOf();
    await browser.at(0).signIn(elicitationId, halfway);
    const back = await browser.at(0).decideAtProvider(await browser.at(0).accept(elicitationId), 'alice');
    half = { browser, back, elicitationId };
    unredeemed = await Promise.all(
      kinds.map(async sample => {
        const user = world.subject();
        const raw = browserOf().at(0);
        const elicitationId = await issueAt(at(0), sample, user);
        await raw.signIn(elicitationId, user);
        await acceptWith(raw, elicitationId, sample.typed);
        return { elicitationId, sample };
      }),
    );

    const destination = { write: (line: string) => lines.push(line) };
    const logger = createLogger({ level: 'info', destination: destination as unknown as NodeJS.WritableStream });
    for (const [replica, config] of configs.entries()) {
      await world.gateways[replica]?.close();
      replicas.push(stack.use(await startGateway(parseConfig(config), { logger })));
    }
  });

  it('all earlier data is available', async () => {
    for (const api of both()) {
      expect((await api.accessToken(connectionId)).status).toBe(200);
      for (const { elicitationId } of [open, half, ...unredeemed])
        expect((await api.read(elicitationId)).status).toBe(200);
    }
  });

  it('a user who was at the provider can return to the other replica', async () => {
    expect(await half.browser.at(1).get(half.back)).toMatchObject({ status: 303 });
    for (const api of both()) expect((await api.read(half.elicitationId)).body.status).toBe('completed');
  });

  it('a user who had not opened the link yet can connect', async () => {
    await connect(browserOf(), open.elicitationId, open.user, [0, 1, 0, 1, 0]);
    for (const api of both()) expect((await api.read(open.elicitationId)).body.status).toBe('completed');
  });

  it('an earlier outcome is redeemed once', async () => {
    for (const { elicitationId, sample } of unredeemed) {
      const [one, other] = both();
      expect(await one?.redeem(elicitationId)).toMatchObject({ status: 200, body: { kind: sample.kind } });
      expect((await other?.redeem(elicitationId))?.status).toBe(409);
    }
  });

  describe('a record of layout 2', () => {
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
    /** Expects `calls` to leave the value of the key unchanged. */
    async function untouched(key: string, calls: () => Promise<void>): Promise<void> {
      const before = await operator.hgetall(key);
      await calls();
      expect(await operator.hgetall(key)).toEqual(before);
    }

    it('elicitation: its MCP server and user get 503 until the record is readable', async () => {
      const user = world.subject();
      const browser = browserOf();
      const [api] = both();
      const { elicitationId } = (await api?.issue(askFor(world, user)))?.body ?? { elicitationId: '' };
      await browser.at(0).signIn(elicitationId, user);
      const form = await browser.at(0).acceptForm(elicitationId);
      const key = await keyOfElicitation(elicitationId);
      await rewrite(key, 1, 2);
      await untouched(key, async () => {
        for (const each of both()) {
          expectUnavailable(await each.read(elicitationId));
          expectUnavailable(await each.read(elicitationId, 5));
          expectUnavailable(await each.cancel(elicitationId));
          expectUnavailable(await each.redeem(elicitationId));
          expectUnavailable(await each.issue(askFor(world, user)));
        }
        expectUnavailable(await browser.at(1).get(`/e/${elicitationId}`));
        expectUnavailable(await browser.at(0).post(`/e/${elicitationId}/accept`, { form }));
      });
      const entries = lines.map(line => JSON.parse(line) as { event?: string; layout?: number });
      expect(entries.filter(({ event }) => event === 'store.unknown_layout')).toContainEqual(
        expect.objectContaining({ layout: 2 }),
      );
      expect(lines.join('')).not.toContain('http.surprise');
      await rewrite(key, 2, 1);
      await connect(browser, elicitationId, user, [0, 1, 0, 1, 0]);
    });

    it('OAuth callback: the state is not consumed, and the same URL works once the record is readable', async () => {
      const user = world.subject();
      const browser = browserOf();
      const [api] = both();
      const { elicitationId } = (await api?.issue(askFor(world, user)))?.body ?? { elicitationId: '' };
      await browser.at(0).signIn(elicitationId, user);
      const before = new Set(await operator.keys('*:once:*'));
      const authorization = await browser.at(0).accept(elicitationId);
      const [key = ''] = (await operator.keys('*:once:*')).filter(name => !before.has(name));
      const back = await browser.at(0).decideAtProvider(authorization, 'alice');
      await rewrite(key, 1, 2);
      const exchanges = () => world.provider.requests('token').length;
      const exchanged = exchanges();
      await untouched(key, async () => expectUnavailable(await browser.at(1).get(back)));
      expect(exchanges()).toBe(exchanged);
      await rewrite(key, 2, 1);
      expect(await browser.at(1).get(back)).toMatchObject({ status: 303 });
      expect((await api?.read(elicitationId))?.body.status).toBe('completed');
    });

    it('the result is not redeemed, even though nothing could repeat it', async () => {
      const user = world.subject();
      const [api] = both();
      if (api === undefined) throw new Error('there is no replica');
      const elicitationId = await issueAt(api, kinds[3], user);
      const raw = browserOf().at(0);
      await raw.signIn(elicitationId, user);
      await acceptWith(raw, elicitationId, kinds[3].typed);
      const key = await keyOfOne('res', elicitationId.slice(5));
      await rewrite(key, 1, 2);
      await untouched(key, async () => expectUnavailable(await api.redeem(elicitationId)));
      await rewrite(key, 2, 1);
      expect(await api.redeem(elicitationId)).toMatchObject({ status: 200, body: { kind: 'form' } });
    });

    it('connection: no token, no removal', async () => {
      const key = await keyOfOne('cn', connectionId.slice(5));
      await rewrite(key, 1, 2);
      await untouched(key, async () => {
        for (const api of both()) {
          expectUnavailable(await api.accessToken(connectionId));
          expectUnavailable(await api.remove(connectionId));
        }
      });
      await rewrite(key, 2, 1);
      for (const api of both()) expect((await api.accessToken(connectionId)).status).toBe(200);
    });
  });
});
