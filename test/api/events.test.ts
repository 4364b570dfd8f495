import { setTimeout as delay } from 'node:timers/promises';
import { eventSchema, problemSchema } from '@postern/api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EventListener, type ListenOptions, listen } from '../support/event-listener.ts';
import { askKind } from '../support/every-kind.ts';
import { connectAccount, declineOnPage } from '../support/person-at-gateway.ts';
import { sendBytes } from '../support/raw-http.ts';
import { watchWrites } from '../support/redis-writes.ts';
import { isShortRun } from '../support/run-size.ts';
import { dumpStore } from '../support/store-dump.ts';
import { askFor, keyOf, startWorld, type World } from '../support/world.ts';

const CAP = 3;
const RETAINED = 100;
const STREAMS = isShortRun ? 200 : 2_000;
let world: World;
let address = '';
const stack = new DisposableStack();

beforeAll(async () => {
  world = await startWorld({
    replicas: 2,
    mcpServer: { limits: { elicitationsPerSubject: 1_000_000, requestsPerMinute: 1_000_000 } },
    otherMcpServers: [
      { id: 'other' },
      { id: 'capped', limits: { eventStreams: CAP } },
      { id: 'busy', limits: { elicitationsPerSubject: 1_000_000, requestsPerMinute: 1_000_000 } },
    ],
    config: { events: { retained: RETAINED } },
  });
  address = world.gateways[0]?.address ?? '';
});
afterAll(async () => {
  stack.dispose();
  await world?.[Symbol.asyncDispose]();
});

async function listening(options: Partial<ListenOptions> & { replica?: number } = {}): Promise<EventListener> {
  const { replica = 0, ...more } = options;
  const at = world.gateways[replica]?.address ?? '';
  return stack.use(await listen(at, { apiKey: keyOf('tracker'), ...more }));
}

const typesOf = ({ heard }: EventListener, elicitationId: string) =>
  heard.filter(({ data }) => data['elicitationId'] === elicitationId).map(({ type }) => type);

async function refusal(options: Partial<ListenOptions>) {
  const listener = await listening(options);
  expect(listener.headers['content-type']).toMatch(/^application\/problem\+json/);
  const problem = problemSchema.parse(JSON.parse(await listener.text()));
  expect(problem.status).toBe(listener.status);
  return problem;
}

describe('GET /v1/events', () => {
  it('sends every event of the caller’s elicitations in order, as in the contract', async () => {
    const listener = await listening();
    expect(listener.status).toBe(200);
    expect(listener.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      connection: 'close',
    });
    const subject = world.subject();
    const { elicitationId } = await world.ask(subject);
    await connectAccount(world.raw(), elicitationId, subject);
    await listener.until(() => typesOf(listener, elicitationId).includes('elicitation.completed'));
    expect(typesOf(listener, elicitationId)).toEqual([
      'elicitation.pending',
      'elicitation.active',
      'elicitation.completed',
    ]);
    for (const { type, data } of listener.heard) {
      expect(eventSchema.strict().parse(data)).toEqual(data);
      expect(data['type']).toBe(type);
    }
    expect(new Set(listener.heard.map(({ id }) => id)).size).toBe(listener.heard.length);
    expect(listener.retryMs).toBe(2_000);
  });

  it('sends events of other replicas on every replica', async () => {
    const listeners = await Promise.all([listening(), listening({ replica: 1 }), listening({ replica: 1 })]);
    const { elicitationId } = await world.ask(world.subject());
    await world.apiOf({ replica: 1 }).cancel(elicitationId);
    for (const listener of listeners) {
      await listener.until(() => typesOf(listener, elicitationId).length === 2);
      expect(typesOf(listener, elicitationId)).toEqual(['elicitation.pending', 'elicitation.cancelled']);
    }
    const [first, ...others] = listeners.map(({ heard }) => heard.map(({ data }) => data['eventId']));
    for (const other of others) expect(other).toEqual(first);
  });

  it('S48: sends no events of other MCP servers', async () => {
    const listener = await listening();
    const others = await listening({ apiKey: keyOf('other') });
    const subject = world.subject();
    const theirs = await world.apiOf({ apiKey: keyOf('other') }).issue(askFor(world, subject));
    const mine = await world.ask(subject);
    await others.until(() => others.heard.length === 1);
    await listener.until(() => typesOf(listener, mine.elicitationId).length === 1);
    expect(others.heard.map(({ data }) => data['elicitationId'])).toEqual([theirs.body.elicitationId]);
    expect(typesOf(listener, theirs.body.elicitationId)).toEqual([]);
  });

  it('filters by one or more kinds and statuses', async () => {
    const byStatus = await listening({ query: '?status=declined&status=cancelled' });
    const byKind = await listening({ query: '?kind=credential' });
    const byBoth = await listening({ query: '?kind=form&kind=confirmation&status=cancelled' });
    const [asked, paid, confirmed] = [
      await world.ask(world.subject()),
      await askKind(world, world.subject(), 'credential'),
      await askKind(world, world.subject(), 'confirmation'),
    ];
    for (const { elicitationId } of [asked, paid, confirmed]) await world.api.cancel(elicitationId);
    await byBoth.until(() => byBoth.heard.length === 1);
    await byStatus.until(() => byStatus.heard.length === 3);
    await byKind.until(() => byKind.heard.length === 2);
    expect(new Set(byStatus.heard.map(({ type }) => type))).toEqual(new Set(['elicitation.cancelled']));
    expect(new Set(byKind.heard.map(({ data }) => data['elicitationId']))).toEqual(new Set([paid.elicitationId]));
    expect(byBoth.heard[0]?.data).toMatchObject({ elicitationId: confirmed.elicitationId, kind: 'confirmation' });
  });

  it('N9: a client that reconnects gets every missed event with its original id', async () => {
    const subject = world.subject();
    const witness = await listening();
    const first = await listening();
    const { elicitationId } = await world.ask(subject);
    await first.until(() => typesOf(first, elicitationId).length === 1);
    first.drop();
    await declineOnPage(world.raw(), elicitationId, subject);
    const second = await listening({ replica: 1, lastEventId: first.lastId });
    await second.until(() => second.heard.length === 1);
    second.drop();
    const next = await world.ask(subject);
    // A reconnect uses the original URL; `Last-Event-ID` takes precedence.
    const third = await listening({ query: `?after=${first.lastId}`, lastEventId: second.lastId });
    const again = await listening({ query: `?after=${first.lastId}` });
    await third.until(() => third.heard.length === 1);
    await again.until(() => again.heard.length === 2);
    await witness.until(() => typesOf(witness, next.elicitationId).length === 1);
    expect(typesOf(third, next.elicitationId)).toEqual(['elicitation.pending']);
    expect([...second.heard, ...third.heard]).toEqual(witness.heard.slice(-2));
    expect(again.heard).toEqual(witness.heard.slice(-2));
    expect(first.heard.at(-1)).toEqual(witness.heard.at(-3));
  });

  it('a client that disconnects before the first event misses nothing after reconnecting', async () => {
    const early = await listening();
    await early.until(() => early.lastId !== '');
    early.drop();
    const { elicitationId } = await world.ask(world.subject());
    const back = await listening({ lastEventId: early.lastId });
    await back.until(() => typesOf(back, elicitationId).length === 1);
    expect(back.heard).toHaveLength(1);
  });

  it('keeps a limited number of events and answers 410 to a client that reconnects too late', async () => {
    const api = world.apiOf({ apiKey: keyOf('busy') });
    const listener = await listening({ apiKey: keyOf('busy') });
    const subject = world.subject();
    for (let n = 0; n < RETAINED; n += 1) {
      const { body } = await api.issue(askFor(world, subject));
      await api.cancel(body.elicitationId);
    }
    await listener.until(() => listener.heard.length === 2 * RETAINED);
    const [oldest] = listener.heard;
    const newest = listener.heard.slice(-RETAINED / 2);
    const gone = await refusal({ apiKey: keyOf('busy'), lastEventId: oldest?.id ?? '' });
    expect(gone).toMatchObject({ status: 410, code: 'events_gone' });
    expect(await refusal({ apiKey: keyOf('busy'), query: '?after=0-0' })).toMatchObject({ code: 'events_gone' });
    // Reads several pages of stored events and continues with new ones.
    const back = await listening({ apiKey: keyOf('busy'), lastEventId: newest[0]?.id ?? '' });
    await api.issue(askFor(world, subject));
    await back.until(() => back.heard.length === newest.length);
    expect(back.heard.slice(0, -1)).toEqual(newest.slice(1));
  });

  it.each([
    '?kind=nothing',
    '?status=done',
    '?kind=',
    '?more=1',
    '?after=x',
    '?after=$',
    '?after=1-0&after=2-0',
    '?after=',
  ])('refuses %s', async query => {
    expect(await refusal({ query })).toMatchObject({ status: 400, code: 'invalid_request' });
  });

  it.each(['x', '0', '$', '1-', `${'9'.repeat(16)}-0`, '1-0, 2-0'])('refuses Last-Event-ID %s', async lastEventId => {
    expect(await refusal({ lastEventId })).toMatchObject({ status: 400, code: 'invalid_request' });
  });

  it('an unknown id gets the same response as a deleted one', async () => {
    expect(await refusal({ lastEventId: '999999999999999-0' })).toMatchObject({ status: 410, code: 'events_gone' });
  });

  it('requires a credential', async () => {
    expect(await refusal({ apiKey: 'unknown' })).toMatchObject({ status: 401, code: 'unauthenticated' });
  });

  it('HEAD returns the headers and closes', async () => {
    const head = `HEAD /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${keyOf('tracker')}\r\n\r\n`;
    const answer = await sendBytes(address, head);
    expect([answer.status, answer.headers.get('content-type'), answer.body]).toEqual([200, 'text/event-stream', '']);
  });

  it('S48: limits streams per caller and process, and a closed stream frees its slot', async () => {
    const capped = { apiKey: keyOf('capped') };
    const open = await Promise.all(Array.from({ length: CAP }, () => listening(capped)));
    const listener = await listening(capped);
    expect([listener.status, Number(listener.headers['retry-after'])]).toEqual([429, 1]);
    // Neither another replica nor another caller is affected.
    expect((await listening({ ...capped, replica: 1 })).status).toBe(200);
    expect((await listening()).status).toBe(200);
    open[0]?.drop();
    while ((await listening(capped)).status !== 200) await delay(10);
    // Refused streams take no slot.
    expect((await listening({ ...capped, query: '?after=999999999999999-0' })).status).toBe(429);
    for (const each of open) each.drop();
    while ((await listening({ ...capped, query: '?after=999999999999999-0' })).status !== 410) await delay(10);
    for (let n = 0; n < CAP * 2; n += 1)
      expect((await listening({ ...capped, query: '?after=999999999999999-0' })).status).toBe(410);
  });

  it('S25: connecting, disconnecting and reconnecting write nothing', async () => {
    const { elicitationId } = await world.ask(world.subject());
    const before = await dumpStore(world);
    using writes = await watchWrites(world.redis.url);
    for (let n = 0; n < 20; n += 1) {
      const listener = await listening({ replica: n % 2, query: '?kind=authorization' });
      await listener.until(() => listener.lastId !== '');
      listener.drop();
    }
    // Keys may expire meanwhile, but none is new or changed.
    expect(before).toMatchObject(await dumpStore(world));
    expect((await writes.take()).filter(({ name }) => name !== 'zremrangebyscore')).toEqual([]);
    expect((await world.api.read(elicitationId)).body.status).toBe('pending');
  });

  it('L2 (in part): many streams of one process each get their own events', async () => {
    await using other = await startWorld({
      ...(world.file === undefined && { redisUrl: world.redis.url }),
      mcpServer: { limits: { eventStreams: STREAMS, requestsPerMinute: 1_000_000 } },
    });
    const at = other.gateways[0]?.address ?? '';
    using crowd = new DisposableStack();
    const listeners: EventListener[] = [];
    while (listeners.length < STREAMS) {
      const more = Array.from({ length: 100 }, (_, nth) =>
        listen(at, { apiKey: keyOf('tracker'), query: nth % 2 === 0 ? '' : '?status=cancelled' }),
      );
      for (const listener of await Promise.all(more)) listeners.push(crowd.use(listener));
    }
    const { body } = await other.api.issue(askFor(other, world.subject()));
    await other.api.cancel(body.elicitationId);
    await Promise.all(
      listeners.map(listener =>
        listener.until(() => typesOf(listener, body.elicitationId).includes('elicitation.cancelled')),
      ),
    );
    for (const [nth, listener] of listeners.entries())
      expect(typesOf(listener, body.elicitationId)).toHaveLength(nth % 2 === 0 ? 2 : 1);
    const { counts } = other.gateways[0]?.deps.eventStreams ?? {};
    expect(counts).toMatchObject({ open: STREAMS, cut: 0 });
  });

  it('a stopping gateway closes its streams with a retry delay', async () => {
    await using other = await startWorld({ redisUrl: world.redis.url });
    const at = other.gateways[0]?.address ?? '';
    using reading = await listen(at, { apiKey: keyOf('tracker') });
    using stalled = await listen(at, { apiKey: keyOf('tracker') });
    stalled.stall();
    await reading.until(() => reading.lastId !== '');
    await other.gateways[0]?.close();
    await reading.ended;
    expect(reading.retryMs).toBeGreaterThanOrEqual(500);
    expect(reading.retryMs).toBeLessThanOrEqual(2_500);
    using back = await listen(address, { apiKey: keyOf('tracker'), lastEventId: reading.lastId });
    expect(back.status).toBe(200);
  });
});
