import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectProblem } from '../support/contract.ts';
import { connectAccount } from '../support/person-at-gateway.ts';
import { dumpStore } from '../support/store-dump.ts';
import { askFor, type ElicitationAnswer, keyOf, startWorld, type World } from '../support/world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld({ replicas: 2, otherMcpServers: [{ id: 'other' }] });
});
afterAll(() => world?.[Symbol.asyncDispose]());

let keys = 0;
const newKey = (): string => {
  keys += 1;
  return `key-${keys}`;
};
const withKey = (key: string) => ({ 'idempotency-key': key });

describe('S43: Idempotency-Key', () => {
  it('the same key and body get the same status and body from any replica', async () => {
    const ask = askFor(world, world.subject());
    const key = newKey();
    const first = await world.api.issue(ask, withKey(key));
    const second = await world.apiOf({ replica: 1 }).issue(ask, withKey(key));
    expect(first.status).toBe(201);
    expect([second.status, second.body]).toEqual([first.status, first.body]);
  });

  it('order and whitespace of the JSON do not matter', async () => {
    const ask = askFor(world, world.subject());
    const key = newKey();
    const first = await world.api.issue(ask, withKey(key));
    const reversed = JSON.stringify(Object.fromEntries(Object.entries(ask).reverse()), undefined, 2);
    const second = await world.api.call('POST', '/v1/elicitations', reversed, withKey(key));
    expect(second.body).toEqual(first.body);
  });

  it('another body gets 422 and has no effect', async () => {
    const subject = world.subject();
    const key = newKey();
    await world.api.issue(askFor(world, subject), withKey(key));
    const before = await dumpStore(world);
    for (const overrides of [{ message: 'another' }, { ttlSeconds: 60 }, { authorization: { provider: 'forge' } }])
      expectProblem(await world.api.issue(askFor(world, subject, overrides), withKey(key)), 'idempotency_key_reused');
    expect(await dumpStore(world)).toEqual(before);
  });

  it('belongs to the caller: another MCP server may use the same one', async () => {
    const ask = askFor(world, world.subject());
    const key = newKey();
    const mine = await world.api.issue(ask, withKey(key));
    const theirs = await world.apiOf({ apiKey: keyOf('other') }).issue(ask, withKey(key));
    expect([mine.status, theirs.status]).toEqual([201, 201]);
    expect(theirs.body.elicitationId).not.toBe(mine.body.elicitationId);
  });

  it('keeps its response after the elicitation has ended', async () => {
    const subject = world.subject();
    const ask = askFor(world, subject);
    const key = newKey();
    const first = await world.api.issue(ask, withKey(key));
    await connectAccount(world.raw(), first.body.elicitationId, subject);
    const replay = await world.api.issue(ask, withKey(key));
    expect([replay.status, replay.body]).toEqual([201, first.body]);
    // Only a read is authoritative.
    expect((await world.api.read(replay.body.elicitationId)).body.status).toBe('completed');
  });

  it('can be used again after a refused request', async () => {
    const subject = world.subject();
    const key = newKey();
    const refused = askFor(world, subject, { authorization: { provider: 'elsewhere' } });
    expectProblem(await world.api.issue(refused, withKey(key)), 'provider_not_allowed');
    expect((await world.api.issue(askFor(world, subject), withKey(key))).status).toBe(201);
  });

  it('is not consumed by an invalid request', async () => {
    const key = newKey();
    expectProblem(await world.api.call('POST', '/v1/elicitations', {}, withKey(key)), 'invalid_request');
    expect((await world.api.issue(askFor(world, world.subject()), withKey(key))).status).toBe(201);
  });

  it.each(['', ' ', 'a b', 'a\tb', 'x'.repeat(256), 'ü'])('must be visible ASCII of at most 255: %j', async key => {
    const answer = await world.api.call<ElicitationAnswer>(
      'POST',
      '/v1/elicitations',
      askFor(world, world.subject()),
      withKey(key),
    );
    expectProblem(answer, 'invalid_request');
  });

  it('belongs to the subject: the same key for another user is another key', async () => {
    const key = newKey();
    const [mine, theirs] = [askFor(world, world.subject()), askFor(world, world.subject())];
    const first = await world.api.issue(mine, withKey(key));
    const second = await world.api.issue(theirs, withKey(key));
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.body.elicitationId).not.toBe(first.body.elicitationId);
    expect((await world.api.issue(mine, withKey(key))).body).toEqual(first.body);
    expect((await world.api.issue(theirs, withKey(key))).body).toEqual(second.body);
  });

  it('repeats the response of a request that found an open elicitation or an existing connection', async () => {
    const subject = world.subject();
    const ask = askFor(world, subject);
    const first = await world.api.issue(ask);
    const [early, late] = [newKey(), newKey()];
    const open = await world.api.issue(ask, withKey(early));
    expect([open.status, open.body.elicitationId]).toEqual([200, first.body.elicitationId]);
    await connectAccount(world.raw(), first.body.elicitationId, subject);
    const existing = await world.api.issue(ask, withKey(late));
    expect(existing.body).toMatchObject({ status: 'completed' });
    expect((await world.api.remove(existing.body.outcome?.connectionId ?? '')).status).toBe(200);
    for (const [key, before] of [
      [early, open],
      [late, existing],
    ] as const) {
      const again = await world.apiOf({ replica: 1 }).issue(ask, withKey(key));
      expect([again.status, again.body]).toEqual([200, before.body]);
      expectProblem(await world.api.issue({ ...ask, message: 'another' }, withKey(key)), 'idempotency_key_reused');
    }
  });

  it('fifty concurrent requests over two replicas get the same elicitation', async () => {
    const subject = world.subject();
    const ask = askFor(world, subject);
    const key = newKey();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => world.apiOf({ replica: n % 2 }).issue(ask, withKey(key))),
    );
    const [first] = answers;
    for (const { status, body } of answers) expect({ status, body }).toEqual({ status: 201, body: first?.body });
    const dump = await dumpStore(world);
    expect(
      Object.entries(dump).filter(
        ([name, value]) => /:el:|^elicitation:/.test(name) && JSON.stringify(value).includes(`${subject}\\`),
      ),
    ).toHaveLength(1);
    expect((await world.api.issue(ask, withKey(key))).body).toEqual(first?.body);
  });

  it('fifty concurrent requests without a key get one open elicitation for the same ask', async () => {
    const ask = askFor(world, world.subject());
    const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => world.apiOf({ replica: n % 2 }).issue(ask)));
    expect(new Set(answers.map(({ body }) => body.elicitationId)).size).toBe(1);
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(49);
  });

  it('another key for the same ask gets the open elicitation', async () => {
    const ask = askFor(world, world.subject());
    const first = await world.api.issue(ask, withKey(newKey()));
    const second = await world.api.issue(ask, withKey(newKey()));
    expect([first.status, second.status]).toEqual([201, 200]);
    expect(second.body.elicitationId).toBe(first.body.elicitationId);
  });
});
