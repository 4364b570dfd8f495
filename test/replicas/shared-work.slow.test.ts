import { randomUUID } from 'node:crypto';
import { parseElicitationId, shardIn } from '@postern/elicitation';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { askFor, startWorld, type World } from '../support/world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld({ replicas: 2, sweepPauseMs: 20 });
});
afterAll(() => world?.[Symbol.asyncDispose]());

const both = [0, 1] as const;
const CALLS = [0, 1, 0, 1, 0, 1, 0, 1];

function idOf(text: string) {
  const elicitationId = parseElicitationId(text);
  if (elicitationId === undefined) throw new Error(`not an elicitation id: ${text}`);
  return elicitationId;
}

/** Number of events in the shared log that report this status of the elicitation. */
async function eventsOf(elicitationId: string, status: string): Promise<number> {
  const id = idOf(elicitationId);
  const events = (await world.gateways[0]?.deps.stores.events.read(shardIn(id), { limit: 10_000 })) ?? [];
  return events.filter(({ event }) => event.elicitationId === id && event.type === `elicitation.${status}`).length;
}

describe('concurrent issuing at two replicas', () => {
  it('with one idempotency key gives one elicitation', async () => {
    const user = world.subject();
    const key = { 'idempotency-key': randomUUID() };
    const answers = await Promise.all(CALLS.map(replica => world.apiOf({ replica }).issue(askFor(world, user), key)));
    const [first] = answers;
    for (const { status, body } of answers) expect({ status, body }).toEqual({ status: 201, body: first?.body });
    for (const replica of both) {
      const again = await world.apiOf({ replica }).issue(askFor(world, user), key);
      expect(again).toMatchObject({ status: 201, body: first?.body });
    }
    const other = askFor(world, user, { message: 'Something else' });
    expect(await world.apiOf({ replica: 1 }).issue(other, key)).toMatchObject({
      status: 422,
      body: { code: 'idempotency_key_reused' },
    });
  });

  it('the same ask without a key creates one open elicitation', async () => {
    const user = world.subject();
    const answers = await Promise.all(CALLS.map(replica => world.apiOf({ replica }).issue(askFor(world, user))));
    const [elicitationId = '', ...others] = new Set(answers.map(({ body }) => body.elicitationId));
    expect(others).toEqual([]);
    expect(answers.map(({ status }) => status).sort()).toEqual([...CALLS.slice(1).map(() => 200), 201]);
    expect(await eventsOf(elicitationId, 'pending')).toBe(1);
  });
});

// Without a wake-up, waiters would stay for their full 55 seconds.
describe('concurrent ends at two replicas', () => {
  it('one of cancel and decline wins, and both replicas return the same outcome', async () => {
    for (const replica of both) {
      const user = world.subject();
      const issued = await world.ask(user);
      const browser = world.raw();
      await browser.signIn(issued.elicitationId, user);
      const form = { csrf_token: await browser.csrfToken(issued.elicitationId) };
      await Promise.all([
        browser.post(`/e/${issued.elicitationId}/decline`, { form }),
        world.apiOf({ replica }).cancel(issued.elicitationId),
      ]);
      const ends = await Promise.all(both.map(at => world.apiOf({ replica: at }).read(issued.elicitationId, 55)));
      const [status = '', ...others] = new Set(ends.map(({ body }) => body.status));
      expect(others).toEqual([]);
      const [declined, cancelled] = await Promise.all(
        ['declined', 'cancelled'].map(end => eventsOf(issued.elicitationId, end)),
      );
      expect({ declined, cancelled }).toEqual({
        declined: status === 'declined' ? 1 : 0,
        cancelled: status === 'cancelled' ? 1 : 0,
      });
    }
  });

  it('the sweeps of both replicas write one expiry event and wake the waiters of both', async () => {
    const issued = await Promise.all(Array.from({ length: 16 }, () => world.ask(world.subject(), { ttlSeconds: 10 })));
    const waiting = issued.flatMap(({ elicitationId }) =>
      both.map(replica => world.apiOf({ replica }).read(elicitationId, 55)),
    );
    world.clock.ahead = 11_000;
    for (const { body } of await Promise.all(waiting)) expect(body.status).toBe('expired');
    for (const { elicitationId } of issued) expect(await eventsOf(elicitationId, 'expired')).toBe(1);
  });

  it('concurrent requests after expiry expire the elicitation once', async () => {
    world.clock.backToNow();
    const { elicitationId } = await world.ask(world.subject(), { ttlSeconds: 10 });
    world.clock.ahead = 11_000;
    await Promise.all(CALLS.map(replica => world.gateways[replica]?.deps.service.expire(idOf(elicitationId))));
    expect((await world.api.read(elicitationId)).body.status).toBe('expired');
    expect(await eventsOf(elicitationId, 'expired')).toBe(1);
    const audited = world
      .log()
      .split('\n')
      .filter(line => line.includes(elicitationId));
    expect(audited.filter(line => line.includes('"elicitation.expired"'))).toHaveLength(1);
  });
});
