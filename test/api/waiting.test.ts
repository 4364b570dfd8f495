import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectInContract, expectProblem } from '../support/contract.ts';
import { connectAccount } from '../support/person-at-gateway.ts';
import { type Api, askFor, type ElicitationAnswer, keyOf, startWorld, type World } from '../support/world.ts';

const WAITS = 3;
let world: World;
beforeAll(async () => {
  world = await startWorld({
    replicas: 2,
    otherMcpServers: [{ id: 'capped', limits: { concurrentWaits: WAITS } }],
  });
});
afterAll(() => world?.[Symbol.asyncDispose]());

const LONG = 50;

describe('S48: waiting reads', () => {
  it('answer when the status becomes terminal through another replica', async () => {
    const subject = world.subject();
    const { elicitationId } = await world.ask(subject);
    const waiting = world.apiOf({ replica: 1 }).read(elicitationId, LONG);
    await connectAccount(world.raw(), elicitationId, subject);
    const answer = await waiting;
    expectInContract('readElicitation', answer);
    expect(answer.body.status).toBe('completed');
  });

  it('all answer on every replica when the elicitation is cancelled', async () => {
    const { elicitationId } = await world.ask(world.subject());
    const waiting = Array.from({ length: 20 }, (_, n) => world.apiOf({ replica: n % 2 }).read(elicitationId, LONG));
    await world.api.cancel(elicitationId);
    expect((await Promise.all(waiting)).map(({ body }) => body.status)).toEqual(waiting.map(() => 'cancelled'));
  });

  it('answer immediately for an ended elicitation', async () => {
    const { elicitationId } = await world.ask(world.subject());
    await world.api.cancel(elicitationId);
    expect((await world.api.read(elicitationId, LONG)).body.status).toBe('cancelled');
  });

  it('answer with the current status after the timeout', async () => {
    const { elicitationId } = await world.ask(world.subject());
    const answer = await world.api.read(elicitationId, 1);
    expect(answer).toMatchObject({ status: 200, body: { status: 'pending' } });
  });

  it.each(['', '-1', '56', '1.5', '1e1', '0x1', ' 1', 'x', '١', '1&wait=2', '1&more=1', '99999999999999999999'])(
    'refuse wait=%s',
    async wait => {
      const { elicitationId } = await world.ask(world.subject());
      expectProblem(await world.api.call('GET', `/v1/elicitations/${elicitationId}?wait=${wait}`), 'invalid_request');
    },
  );

  it('are limited per caller and process, and a disconnected caller frees its slot', async () => {
    const capped = world.apiOf({ apiKey: keyOf('capped') });
    const { body } = await capped.issue(askFor(world, world.subject()));
    const gone = new AbortController();
    const address = world.gateways[0]?.address ?? '';
    const left = Array.from({ length: WAITS }, () =>
      fetch(`${address}/v1/elicitations/${body.elicitationId}?wait=${LONG}`, {
        headers: { authorization: `Bearer ${keyOf('capped')}` },
        signal: gone.signal,
      }).then(
        () => 'answered',
        () => 'gone',
      ),
    );
    const refused = await until(capped, body.elicitationId, 429);
    expectInContract('readElicitation', refused);
    expectProblem(refused, 'rate_limited');
    // Neither another caller nor a plain read is affected.
    expect((await capped.read(body.elicitationId)).status).toBe(200);
    const mine = await world.ask(world.subject());
    expect((await world.api.read(mine.elicitationId, 1)).status).toBe(200);

    gone.abort();
    expect(await Promise.all(left)).toEqual(left.map(() => 'gone'));
    expect((await until(capped, body.elicitationId, 200)).body.status).toBe('pending');
  });

  it('of unknown ids answer immediately and free their slot', async () => {
    const capped = world.apiOf({ apiKey: keyOf('capped') });
    for (let read = 0; read < WAITS * 4; read += 1) {
      expect((await capped.read(`el_00${'b'.repeat(43)}`, LONG)).status).toBe(404);
    }
  });

  it('answer with the current status when the gateway stops', async () => {
    await using other = await startWorld({
      ...(world.file === undefined && { redisUrl: world.redis.url }),
      mcpServer: { limits: { concurrentWaits: WAITS } },
    });
    const api = other.api;
    const { body } = await api.issue(askFor(other, 'alice'));
    const waiting = Array.from({ length: WAITS }, () => api.read(body.elicitationId, LONG));
    // When no slot is free, all of them are waiting.
    await until(api, body.elicitationId, 429);
    await other.gateways[0]?.close();
    for (const answer of await Promise.all(waiting)) {
      expect(answer).toMatchObject({ status: 200, body: { status: 'pending' } });
      expect(answer.headers.get('connection')).toBe('close');
    }
  });
});

/** Repeats the request until the response has the status; only the test's timeout limits it. */
async function until(api: Api, elicitationId: string, status: number) {
  while (true) {
    const answer = await api.call<ElicitationAnswer>('GET', `/v1/elicitations/${elicitationId}?wait=1`);
    if (answer.status === status) return answer;
  }
}
