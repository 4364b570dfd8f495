import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { connectPerson } from '../support/connected-person.ts';
import { expectInContract, expectProblem } from '../support/contract.ts';
import { isShortRun } from '../support/run-size.ts';
import { scrape, total } from '../support/scrape.ts';
import { expireAccessToken } from '../support/token-expiry.ts';
import { askFor, keyOf, startWorld, type World } from '../support/world.ts';

/** More than the request slots, and more than the limit of waits for one provider per MCP server. */
const READS = isShortRun ? 120 : 600;
const IN_FLIGHT = READS - 20;
const WAITING_SHARE = READS - 10;
const ON_ONE_CONNECTION = Math.ceil(IN_FLIGHT / 8);
const SHARE = 2;

let world: World;
const sockets: Socket[] = [];
beforeAll(async () => {
  world = await startWorld({
    otherMcpServers: [{ id: 'other' }, { id: 'small', limits: { concurrentRequests: SHARE } }],
    config: {
      metrics: { port: 0 },
      outbound: { timeoutSeconds: 20 },
      overload: { requestsInFlight: IN_FLIGHT, waitingPerProvider: 2 * WAITING_SHARE, eventLoopDelayMs: 10_000 },
    },
  });
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});
afterAll(() => world?.[Symbol.asyncDispose]());

const other = () => world.apiOf({ apiKey: keyOf('other') });
const small = () => world.apiOf({ apiKey: keyOf('small') });

/** A connection whose next token read makes a refresh; the test delays the provider's response. */
async function hangingConnection() {
  const { connectionId } = await connectPerson(world);
  await expireAccessToken(world.redis.url, connectionId, world.clock.now());
  const gate = Promise.withResolvers<void>();
  world.provider.onRefresh(() => gate.promise);
  return { connectionId, letGo: () => gate.resolve(), path: `/v1/connections/${connectionId}/access-token` };
}

/** Sends bytes and leaves the TCP connection open. */
function send(bytes: string): Socket {
  const { hostname, port } = new URL(world.gateways[0]?.address ?? '');
  const socket = connect(Number(port), hostname, () => socket.write(bytes));
  socket.on('error', () => socket.destroy());
  sockets.push(socket);
  return socket;
}
const head = (line: string, apiKey: string, length: number) =>
  `${line} HTTP/1.1\r\nhost: gate\r\nauthorization: Bearer ${apiKey}\r\n` +
  `${length > 0 ? 'content-type: application/json\r\n' : ''}content-length: ${length}\r\n\r\n`;

/** Returns the first response with this status. */
async function until<T extends { status: number }>(ask: () => Promise<T>, status: number): Promise<T> {
  let answer = await ask();
  for (let n = 0; n < 500 && answer.status !== status; n += 1) answer = await ask();
  return answer;
}
const shed = async (labels: Record<string, string>) =>
  total(await scrape(world.gateways[0]), 'postern_requests_shed_total', labels);

describe('S72: a provider that hangs', () => {
  it('delays neither other MCP servers nor users, nor other requests of its own MCP server', async () => {
    const { connectionId, letGo } = await hangingConnection();
    const refused = Promise.withResolvers<void>();
    let refusals = 0;
    const isTooMany = (code: string | undefined) => code === 'overloaded' || code === 'too_many_concurrent_requests';
    const reads = Array.from({ length: READS }, async () => {
      let answer = await world.api.accessToken(connectionId);
      // Refused because too many requests arrived at once.
      while (isTooMany(answer.body.code)) answer = await world.api.accessToken(connectionId);
      if (answer.status === 503 && ++refusals === READS - WAITING_SHARE) refused.resolve();
      return answer;
    });
    // By now all admitted requests wait, because the last refused request has its response.
    await refused.promise;
    expect(world.gateways[0]?.deps.overload.inFlight).toBe(0);

    for (const api of [other(), world.api]) {
      const issued = await api.issue(askFor(world, world.subject()));
      expect(issued.status).toBe(201);
      const { elicitationId } = issued.body;
      expect((await api.read(elicitationId)).status).toBe(200);
      expect((await world.raw().get(`/e/${elicitationId}`)).status).toBe(200);
      expect((await api.cancel(elicitationId)).status).toBe(200);
    }

    letGo();
    const answers = await Promise.all(reads);
    const notAsked = answers.filter(({ status }) => status === 503);
    expect(notAsked).toHaveLength(READS - WAITING_SHARE);
    for (const answer of notAsked) {
      expectInContract('getAccessToken', answer);
      expect(expectProblem(answer, 'provider_unavailable').provider).toBe('forge');
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    }
    expect(new Set(answers.map(({ body }) => body.code))).toEqual(new Set([undefined, 'provider_unavailable']));
    expect(world.gateways[0]?.deps.overload.inFlight).toBe(0);
  });
});

describe('S72: the share of an MCP server', () => {
  it('is reserved before the body is read, refuses with 429, and does not affect others', async () => {
    const line = 'POST /v1/elicitations';
    const slow = Array.from({ length: SHARE }, () => send(head(line, keyOf('small'), 100)));
    const refused = await until(() => small().call('GET', '/v1/connections'), 429);
    expectProblem(refused, 'too_many_concurrent_requests');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(await shed({ reason: 'share' })).toBeGreaterThan(0);
    // The gateway does not read a body that is too large.
    expectProblem(await small().call('POST', '/v1/elicitations', ' '.repeat(70_000)), 'too_many_concurrent_requests');
    expect((await other().issue(askFor(world, world.subject()))).status).toBe(201);
    for (const socket of slow) socket.destroy();
    expectProblem(await until(() => small().call('GET', '/v1/connections'), 400), 'invalid_request');
  });

  it('is not consumed by a JWT that only claims to be from the MCP server', async () => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const forged = `${part({ alg: 'ES256' })}.${part({ iss: 'small', sub: 'small' })}.${'A'.repeat(86)}`;
    const answers = await Promise.all(
      Array.from({ length: 3 * SHARE }, () => world.apiOf({ apiKey: forged }).call('GET', '/v1/connections')),
    );
    for (const answer of answers) expectProblem(answer, 'unauthenticated');
    expectProblem(await small().call('GET', '/v1/connections'), 'invalid_request');
  });
});

describe('S72: one TCP connection', () => {
  it('has an eighth of the slots, and is closed if more requests are pipelined', async () => {
    const { path, letGo } = await hangingConnection();
    const request = head(`POST ${path}`, keyOf('tracker'), 0);
    await once(send(request.repeat(ON_ONE_CONNECTION + 1)), 'close');
    expect(await shed({ reason: 'connection' })).toBe(1);
    const socket = send(request.repeat(ON_ONE_CONNECTION));
    let text = '';
    socket.setEncoding('latin1').on('data', chunk => {
      text += String(chunk);
    });
    letGo();
    const statuses = () => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
    while (statuses().length < ON_ONE_CONNECTION) await scrape(world.gateways[0]);
    expect(new Set(statuses())).toEqual(new Set(['200']));
    expect(await shed({ reason: 'connection' })).toBe(1);
    expect(world.gateways[0]?.deps.overload.inFlight).toBe(0);
  });
});
