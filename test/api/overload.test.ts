import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectInContract, expectProblem } from '../support/contract.ts';
import { connectAccount } from '../support/person-at-gateway.ts';
import { scrape, total } from '../support/scrape.ts';
import { askFor, keyOf, startWorld, type World } from '../support/world.ts';

/** Of these, new work may use 14 and reads 17. */
const IN_FLIGHT = 20;
const WAITS = 2;
const STREAMS = 1;
const overload = {
  requestsInFlight: IN_FLIGHT,
  eventLoopDelayMs: 10_000,
  waitingReads: WAITS,
  eventStreams: STREAMS,
};
let world: World;
beforeAll(async () => {
  world = await startWorld({ config: { metrics: { port: 0 }, overload } });
});
afterAll(() => world?.[Symbol.asyncDispose]());

const gateway = ({ gateways: [first] } = world) => {
  if (first === undefined) throw new Error('no gateway');
  return first;
};
const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${gateway().address}${path}`, { redirect: 'manual', headers });
const UNKNOWN = `el_00${'c'.repeat(43)}`;

/** Keeps requests in flight until the end of the block. */
function busyWith(count: number): Disposable {
  const stack = new DisposableStack();
  for (let n = 0; n < count; n += 1) {
    const permit = stack.use(gateway().deps.overload.permit());
    permit.enter();
  }
  return stack;
}

describe('L3: an overloaded process', () => {
  it('sheds new work first, then reads, then flows in progress, and never health checks', async () => {
    const subject = world.subject();
    const { elicitationId } = await world.ask(subject);
    const statuses = async () => ({
      issue: (await world.api.issue(askFor(world, world.subject()))).status,
      read: (await world.api.read(elicitationId)).status,
      wait: (await world.api.read(UNKNOWN, 1)).status,
      page: (await get(`/e/${UNKNOWN}`)).status,
      redeem: (await world.api.redeem(elicitationId)).status,
      callback: (await get('/callback/tracker/forge')).status,
      live: (await get('/livez')).status,
      ready: (await get('/readyz')).status,
    });
    const free = await statuses();
    expect(free).toEqual({
      issue: 201,
      read: 200,
      wait: 404,
      page: 200,
      redeem: 409,
      callback: 400,
      live: 200,
      ready: 200,
    });
    for (const [busy, turnedAway] of [
      [13, {}],
      [14, { issue: 503 }],
      [17, { issue: 503, read: 503, wait: 503, page: 503 }],
      [19, { issue: 503, read: 503, wait: 503, page: 503 }],
      [20, { issue: 503, read: 503, wait: 503, page: 503, redeem: 503, callback: 503 }],
    ] as const) {
      using _ = busyWith(busy);
      expect(await statuses(), String(busy)).toEqual({ ...free, ...turnedAway });
    }
    expect(await statuses()).toEqual(free);
  });

  it('responds as in the contract with Retry-After', async () => {
    using _ = busyWith(IN_FLIGHT);
    const seconds = new Set<number>();
    for (let n = 0; n < 40; n += 1) {
      const answer = await world.api.issue(askFor(world, 'alice'));
      expectInContract('issueElicitation', answer);
      expectProblem(answer, 'overloaded');
      seconds.add(Number(answer.headers.get('retry-after')));
    }
    expect(seconds.size).toBeGreaterThan(1);
    expect(Math.min(...seconds)).toBeGreaterThanOrEqual(1);
    expect(Math.max(...seconds)).toBeLessThanOrEqual(5);
  });

  it('sheds before it checks the credential or reads the body', async () => {
    using _ = busyWith(IN_FLIGHT);
    const wrong = world.apiOf({ apiKey: 'wrong' });
    expectProblem(await wrong.read(UNKNOWN), 'overloaded');
    expectProblem(await wrong.call('POST', '/v1/elicitations', '{"a":'), 'overloaded');
    expectProblem(await world.api.call('POST', '/v1/elicitations', ' '.repeat(70_000)), 'overloaded');
  });

  it('shows users a page with the usual headers', async () => {
    using _ = busyWith(IN_FLIGHT);
    for (const path of [`/e/${UNKNOWN}`, '/me', '/callback/tracker/forge?code=x&state=y']) {
      const page = await get(path, { accept: 'text/html' });
      expect(page.status).toBe(503);
      expect(Number(page.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
      expect(page.headers.get('cache-control')).toBe('no-store');
    }
  });

  it('counts shed requests and logs the start once', async () => {
    const before = await scrape(gateway());
    {
      using _ = busyWith(IN_FLIGHT);
      await world.api.issue(askFor(world, 'alice'));
      await get('/me');
      expect(total(await scrape(gateway()), 'postern_requests_in_flight')).toBe(IN_FLIGHT);
    }
    const after = await scrape(gateway());
    for (const className of ['new', 'read']) {
      const labels = { class: className, reason: 'in_flight' };
      const grown = (name: string) => total(after, name, labels) - total(before, name, labels);
      expect(grown('postern_requests_shed_total')).toBe(1);
    }
    expect(total(after, 'postern_requests_in_flight')).toBe(0);
    expect(world.log()).toContain('"overload.shed"');
  });

  it('completes a flow in progress while new work is shed', async () => {
    const subject = world.subject();
    const { elicitationId } = await world.ask(subject);
    using _ = busyWith(14);
    expect((await world.api.issue(askFor(world, world.subject()))).status).toBe(503);
    await connectAccount(world.raw(), elicitationId, subject);
    const { body } = await world.api.read(elicitationId);
    expect(body.status).toBe('completed');
    expect((await world.api.accessToken(body.outcome?.connectionId ?? '')).status).toBe(200);
  });
});

describe('S232: callers that do not read', () => {
  it('take no place once their request has its response', async () => {
    const [waited, next] = [await world.ask(world.subject()), await world.ask(world.subject())];
    const { hostname, port } = new URL(gateway().address);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    const send = (line: string) =>
      socket.write(`${line} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${keyOf('tracker')}\r\n\r\n`);
    send(`GET /v1/elicitations/${waited.elicitationId}?wait=50`);
    // Their responses are behind that of the waiting read.
    send('GET /v1/me');
    send(`POST /v1/elicitations/${next.elicitationId}/cancel`);
    const statusOf = async () => (await world.api.read(next.elicitationId)).body.status;
    await expect.poll(statusOf, { timeout: 5_000 }).toBe('cancelled');
    await expect.poll(() => gateway().deps.overload.inFlight, { timeout: 5_000 }).toBe(0);
    expect(gateway().deps.overload.waits.all).toBe(1);
    expect(socket.bytesRead).toBe(0);
    socket.destroy();
    await expect.poll(() => gateway().deps.overload.waits.all, { timeout: 5_000 }).toBe(0);
  });
});

describe('L3: waiting reads', () => {
  it('are those of one route, whatever the query of another says', async () => {
    const { elicitationId } = await world.ask(world.subject());
    const shed = async (className: string) =>
      total(await scrape(gateway()), 'postern_requests_shed_total', { class: className, reason: 'in_flight' });
    const before = { read: await shed('read'), wait: await shed('wait') };
    {
      using _ = busyWith(17);
      const api = { authorization: `Bearer ${keyOf('tracker')}` };
      for (const path of ['/me?wait=1', `/e/${UNKNOWN}?wait=1`, `/v1/payments/${elicitationId}?wait=1`])
        expect((await get(path, api)).status).toBe(503);
      for (const wait of ['00', 'x'])
        expect((await get(`/v1/elicitations/${elicitationId}?wait=${wait}`, api)).status).toBe(503);
      expect((await get(`/v1/elicitations/${elicitationId}?wait=1`, api)).status).toBe(503);
    }
    expect({ read: (await shed('read')) - before.read, wait: (await shed('wait')) - before.wait }).toEqual({
      read: 5,
      wait: 1,
    });
  });

  it('have their own limit and take no request slots', async () => {
    const { elicitationId } = await world.ask(world.subject());
    const waiting = Array.from({ length: WAITS }, () => world.api.read(elicitationId, 50));
    await refusedAt(() => world.api.read(elicitationId, 1));
    expect(gateway().deps.overload.inFlight).toBe(0);
    expectProblem(await world.api.read(elicitationId, 50), 'overloaded');
    expect((await world.api.read(elicitationId)).status).toBe(200);
    // `wait=0` means a plain read, also in a longer notation.
    expect((await world.api.read(elicitationId, 0)).status).toBe(200);
    await world.api.cancel(elicitationId);
    for (const answer of await Promise.all(waiting)) expect(answer.body.status).toBe('cancelled');
    expect((await world.api.read(elicitationId, 1)).status).toBe(200);
  });

  it('and event streams likewise', async () => {
    const open = () => get('/v1/events', { authorization: `Bearer ${keyOf('tracker')}` });
    const first = await open();
    expect(first.status).toBe(200);
    const refused = await open();
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({ code: 'overloaded' });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    await first.body?.cancel();
    // The slot becomes free when the gateway notices the disconnect.
    let again = await open();
    while (again.status !== 200) {
      await again.body?.cancel();
      again = await open();
    }
    await again.body?.cancel();
  });

  async function refusedAt(ask: () => Promise<{ status: number }>): Promise<void> {
    while ((await ask()).status !== 503);
  }
});

describe('R6: a Redis that accepts connections but never answers', () => {
  it('the gateway holds requests up to its limit, sheds the others immediately and leaks none', async () => {
    await using own = await startWorld({ isRedisKilled: true, config: { overload } });
    const { server } = own.redis;
    if (server === undefined) throw new Error('this world has no private Redis');
    const { elicitationId } = await own.ask(own.subject());
    const { address, deps } = gateway(own);
    const status = async (path: string) => (await fetch(`${address}${path}`)).status;
    server.suspend();
    try {
      let most = 0;
      const watching = setInterval(() => {
        most = Math.max(most, deps.overload.inFlight);
      }, 1);
      const answers = await Promise.all(Array.from({ length: IN_FLIGHT * 4 }, () => own.api.read(elicitationId)));
      clearInterval(watching);
      expect(most).toBeLessThanOrEqual(17);
      const codes = answers.map(answer => expectProblem(answer).code);
      expect(new Set(codes)).toEqual(new Set(['unavailable', 'overloaded']));
      expect(await status('/livez')).toBe(200);
    } finally {
      server.resume();
    }
    while ((await status('/readyz')) !== 200);
    expect(deps.overload.inFlight).toBe(0);
    expect((await own.api.read(elicitationId)).body.status).toBe('pending');
  });
});

describe('connections', () => {
  it('are bounded', () => {
    expect(gateway().httpServer.maxConnections).toBe(gateway().deps.config.overload.connections);
  });
});
