import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { issueFor, visitorFor } from '../support/asks.ts';
import { expectProblem } from '../support/contract.ts';
import { sendBytes } from '../support/raw-http.ts';
import { askFor, keyOf, startWorld, type World } from '../support/world.ts';

const PER_MINUTE = 20;
const PER_SUBJECT = 3;
const PAGES_PER_MINUTE = 25;
let world: World;
beforeAll(async () => {
  world = await startWorld({
    replicas: 2,
    otherMcpServers: [
      { id: 'flood', limits: { requestsPerMinute: PER_MINUTE } },
      { id: 'calm', limits: { requestsPerMinute: PER_MINUTE } },
      { id: 'eager', limits: { elicitationsPerSubject: PER_SUBJECT } },
      { id: 'other', limits: { elicitationsPerSubject: PER_SUBJECT } },
    ],
    config: { limits: { pageRequestsPerMinute: PAGES_PER_MINUTE } },
  });
});
afterAll(() => world?.[Symbol.asyncDispose]());

const UNKNOWN = `el_00${'c'.repeat(43)}`;
const address = () => world.gateways[0]?.address ?? '';

describe('S46, S215: rate limits', () => {
  it('a caller that exceeds its limit is refused and does not slow down other callers', async () => {
    const flood = world.apiOf({ apiKey: keyOf('flood') });
    const calm = world.apiOf({ apiKey: keyOf('calm') });
    const flooding = Promise.all(Array.from({ length: PER_MINUTE * 5 }, () => flood.read(UNKNOWN)));
    const calmly = await Promise.all(Array.from({ length: PER_MINUTE }, () => calm.read(UNKNOWN)));
    expect(calmly.map(({ status }) => status)).toEqual(calmly.map(() => 404));
    const statuses = (await flooding).map(({ status }) => status);
    expect(statuses.filter(status => status === 404)).toHaveLength(PER_MINUTE);
    expect(statuses.filter(status => status === 429)).toHaveLength(PER_MINUTE * 4);
    const refused = await flood.read(UNKNOWN);
    expect(expectProblem(refused, 'rate_limited').detail ?? '').toMatch(
      new RegExp(`\\b${PER_MINUTE} .+mcpServers\\[\\]\\.limits\\.requestsPerMinute`),
    );
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(60);
  });

  it('address headers do not evade the limit of a caller', async () => {
    const flood = world.apiOf({ apiKey: keyOf('flood') });
    for (const header of ['x-forwarded-for', 'forwarded', 'x-real-ip'])
      expect(
        (await flood.call('GET', `/v1/elicitations/${UNKNOWN}`, undefined, { [header]: '203.0.113.9' })).status,
      ).toBe(429);
  });

  it('a request with a wrong credential does not count towards any rate limit', async () => {
    const wrong = world.apiOf({ apiKey: 'wrong' });
    for (let n = 0; n < PER_MINUTE * 2; n += 1) expect((await wrong.read(UNKNOWN)).status).toBe(401);
    expect((await world.api.read(UNKNOWN)).status).toBe(404);
  });

  it('new elicitations are limited per subject over all replicas, and per MCP server', async () => {
    const subject = world.subject();
    const issue = (apiKey: string, replica: number, person = subject, scopes = ['repo']) =>
      world
        .apiOf({ apiKey: keyOf(apiKey), replica })
        .issue(askFor(world, person, { authorization: { provider: 'forge', scopes } }));
    const cancel = async (apiKey: string, replica: number) => {
      const { status, body } = await issue(apiKey, replica);
      await world.apiOf({ apiKey: keyOf(apiKey) }).cancel(body.elicitationId);
      return status;
    };
    const statuses = [];
    for (let n = 0; n < PER_SUBJECT; n += 1) statuses.push(await cancel('eager', n % 2));
    expect(statuses).toEqual(statuses.map(() => 201));
    for (const replica of [0, 1]) {
      const refused = await issue('eager', replica);
      expect(expectProblem(refused, 'too_many_elicitations').detail ?? '').toContain('limits.elicitationsPerSubject');
    }
    // Another MCP server, and another person of this one, are not affected.
    expect((await issue('other', 0)).status).toBe(201);
    expect((await issue('eager', 0, world.subject())).status).toBe(201);
  });

  it('repeating the ask of an open elicitation does not count towards the limit', async () => {
    const api = world.apiOf({ apiKey: keyOf('eager') });
    const ask = askFor(world, world.subject());
    const first = await api.issue(ask);
    for (let n = 0; n < PER_SUBJECT * 3; n += 1) expect((await api.issue(ask)).status).toBe(200);
    await api.cancel(first.body.elicitationId);
    expect((await api.issue(ask)).status).toBe(201);
  });

  it('pages and unknown paths are limited per address, the API and health checks are not', async () => {
    const get = (path: string, headers = {}) => fetch(`${address()}${path}`, { redirect: 'manual', headers });
    const answers = await Promise.all(Array.from({ length: PAGES_PER_MINUTE * 2 }, () => get(`/e/${UNKNOWN}`)));
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(PAGES_PER_MINUTE);
    const refused = await get(`/e/${UNKNOWN}`, { 'x-forwarded-for': '203.0.113.9' });
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(refused.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(refused.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect((await get('/nowhere')).status).toBe(429);
    expect((await get('/livez')).status).toBe(200);
    expect((await world.api.read(UNKNOWN)).status).toBe(404);
  });

  it('a request whose caller has disconnected, and has no address any more, is no unexpected error', async () => {
    const request = Object.assign(new IncomingMessage(new Socket()), { method: 'GET', url: `/e/${UNKNOWN}` });
    const response = new ServerResponse(request);
    world.gateways[0]?.app.routing(request, response);
    await expect.poll(() => response.writableEnded, { timeout: 5_000 }).toBe(true);
    expect(response.statusCode).toBe(200);
  });
});

describe('S201: strangers at one address', () => {
  it('do not stop people behind it who have signed in, or who return from a sign-in', async () => {
    await using office = await startWorld({
      config: { limits: { pageRequestsPerMinute: PAGES_PER_MINUTE } },
    });
    const askOf = async (user: string) =>
      (await issueFor(office, user, askFor(office, office.subject()))).elicitationId;
    const [first, second] = [await askOf('alice'), await askOf('bob')];
    const alice = await visitorFor(office, 'alice', first);
    const bob = office.raw();
    const callback = await bob.signInAnswer(second, 'bob');
    const stranger = office.raw();
    for (let n = 0; n < PAGES_PER_MINUTE; n += 1) await stranger.get(`/e/${UNKNOWN}`);
    for (const path of [`/e/${UNKNOWN}`, '/nowhere', `${callback.pathname}${callback.search}`])
      expect([path, (await stranger.get(path)).status]).toEqual([path, 429]);
    // An invented cookie belongs to no session.
    stranger.cookies.set('postern_session', `bs_00${'A'.repeat(43)}`);
    expect((await stranger.get('/me')).status).toBe(429);
    expect((await alice.get(`/e/${first}`)).status).toBe(200);
    expect((await bob.get(callback)).status).toBe(303);
    expect((await bob.get('/me')).status).toBe(200);
    // Each person has a share of their own.
    const answers = [];
    for (let n = 0; n < PAGES_PER_MINUTE; n += 1) answers.push((await alice.get('/me')).status);
    expect(answers.at(-1)).toBe(429);
    expect((await bob.get('/me')).status).toBe(200);
  });
});

describe('S59: a trusted proxy', () => {
  it('sets the client address and nothing else', async () => {
    await using behind = await startWorld({
      config: { trustProxy: ['127.0.0.1'], limits: { pageRequestsPerMinute: 2 } },
    });
    const get = (forwardedFor: string) =>
      fetch(`${behind.gateways[0]?.address}/e/${UNKNOWN}`, {
        headers: { 'x-forwarded-for': forwardedFor, 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' },
      });
    for (const client of ['203.0.113.1', '203.0.113.2']) {
      // The gateway ignores entries that the client put before those of the proxy.
      const answers = [await get(client), await get(`198.51.100.7, ${client}`), await get(client)];
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
      for (const answer of answers) expect(await answer.text()).not.toContain('evil.example');
    }
  });
});

describe('S58: size limits and timeouts', () => {
  it('are configured explicitly', () => {
    const [gateway] = world.gateways;
    expect(gateway?.app.initialConfig).toMatchObject({ bodyLimit: 65_536 });
    expect(gateway?.httpServer).toMatchObject({
      headersTimeout: 10_000,
      requestTimeout: 15_000,
      keepAliveTimeout: 75_000,
      timeout: 90_000,
    });
  });

  const post = (headers: string, body: string) =>
    sendBytes(
      address(),
      `POST /v1/elicitations HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${keyOf('tracker')}\r\n${headers}\r\n\r\n${body}`,
    );

  it('a body over 64 KiB is refused with and without Content-Length', async () => {
    const answer = await world.api.call('POST', '/v1/elicitations', ' '.repeat(65_537));
    expectProblem(answer, 'payload_too_large');
    const announced = await post('Content-Type: application/json\r\nContent-Length: 99999999999', '{');
    expect(announced.status).toBe(413);
    const chunk = ' '.repeat(16_384);
    const chunks = `4000\r\n${chunk}\r\n`.repeat(5);
    const chunked = await post('Content-Type: application/json\r\nTransfer-Encoding: chunked', `${chunks}0\r\n\r\n`);
    expect(chunked.status).toBe(413);
  });

  it('a body just under the limit is accepted', async () => {
    const ask = JSON.stringify(askFor(world, world.subject()));
    const answer = await world.api.call('POST', '/v1/elicitations', ask.padEnd(65_536, ' '));
    expect(answer.status).toBe(201);
  });

  it.each([
    ['text/plain', '{}'],
    ['application/x-www-form-urlencoded', 'a=b'],
    ['multipart/form-data; boundary=x', '--x--'],
    ['application/json-patch+json', '[]'],
    ['application/jsonx', '{}'],
    ['', '{}'],
  ])('the media type %j is refused', async (type, body) => {
    const answer = await world.api.call('POST', '/v1/elicitations', body, { 'content-type': type });
    expectProblem(answer, 'unsupported_media_type');
  });

  it.each(['application/json', 'application/json; charset=utf-8', 'Application/JSON;charset="utf-8"'])(
    'the media type %j is JSON',
    async type => {
      const answer = await world.api.call('POST', '/v1/elicitations', '{}', { 'content-type': type });
      expectProblem(answer, 'invalid_request');
    },
  );

  it('headers over 16 KiB get a regular problem response', async () => {
    const answer = await sendBytes(
      address(),
      `GET /livez HTTP/1.1\r\nHost: x\r\nCookie: ${'a'.repeat(17_000)}\r\n\r\n`,
    );
    expect(answer.status).toBe(431);
    expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/);
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  });
});
