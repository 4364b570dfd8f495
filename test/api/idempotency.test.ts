import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectProblem } from '../support/contract.ts';
import { connectAccount } from '../support/person-at-gateway.ts';
import { dumpRedis } from '../support/redis-dump.ts';
import { type Stage, startStage } from '../support/stage.ts';
import { askFor, type ElicitationAnswer, keyOf } from '../support/world.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await startStage({ replicas: 2, otherMcpServers: [{ id: 'other' }] });
});
afterAll(() => stage?.[Symbol.asyncDispose]());

let keys = 0;
const newKey = (): string => {
  keys += 1;
  return `key-${keys}`;
};
const withKey = (key: string) => ({ 'idempotency-key': key });

describe('S43: Idempotency-Key', () => {
  it('same key and body: the same answer, status included, from any replica', async () => {
    const ask = askFor(stage.world, stage.subject());
    const key = newKey();
    const first = await stage.api.issue(ask, withKey(key));
    const second = await stage.world.api({ replica: 1 }).issue(ask, withKey(key));
    expect(first.status).toBe(201);
    expect([second.status, second.body]).toEqual([first.status, first.body]);
  });

  it('order and spaces of the JSON do not make it another body', async () => {
    const ask = askFor(stage.world, stage.subject());
    const key = newKey();
    const first = await stage.api.issue(ask, withKey(key));
    const reversed = JSON.stringify(Object.fromEntries(Object.entries(ask).reverse()), undefined, 2);
    const second = await stage.api.call('POST', '/v1/elicitations', reversed, withKey(key));
    expect(second.body).toEqual(first.body);
  });

  it('other body: 422, and nothing happens', async () => {
    const subject = stage.subject();
    const key = newKey();
    await stage.api.issue(askFor(stage.world, subject), withKey(key));
    const before = await dumpRedis(stage.world.redis.url);
    for (const overrides of [{ message: 'another' }, { ttlSeconds: 60 }, { authorization: { provider: 'forge' } }])
      expectProblem(
        await stage.api.issue(askFor(stage.world, subject, overrides), withKey(key)),
        'idempotency_key_reused',
      );
    expect(await dumpRedis(stage.world.redis.url)).toEqual(before);
  });

  it('belongs to the caller: another MCP server may use the same one', async () => {
    const ask = askFor(stage.world, stage.subject());
    const key = newKey();
    const mine = await stage.api.issue(ask, withKey(key));
    const theirs = await stage.world.api({ apiKey: keyOf('other') }).issue(ask, withKey(key));
    expect([mine.status, theirs.status]).toEqual([201, 201]);
    expect(theirs.body.elicitationId).not.toBe(mine.body.elicitationId);
  });

  it('keeps its answer after the elicitation has ended', async () => {
    const subject = stage.subject();
    const ask = askFor(stage.world, subject);
    const key = newKey();
    const first = await stage.api.issue(ask, withKey(key));
    await connectAccount(stage.raw(), first.body.elicitationId, subject);
    const replay = await stage.api.issue(ask, withKey(key));
    expect([replay.status, replay.body]).toEqual([201, first.body]);
    // Reading stays authoritative.
    expect((await stage.api.read(replay.body.elicitationId)).body.status).toBe('completed');
  });

  it('is free again after a refusal', async () => {
    const subject = stage.subject();
    const key = newKey();
    const refused = askFor(stage.world, subject, { authorization: { provider: 'elsewhere' } });
    expectProblem(await stage.api.issue(refused, withKey(key)), 'provider_not_allowed');
    expect((await stage.api.issue(askFor(stage.world, subject), withKey(key))).status).toBe(201);
  });

  it('is not taken by a request that is not valid', async () => {
    const key = newKey();
    expectProblem(await stage.api.call('POST', '/v1/elicitations', {}, withKey(key)), 'invalid_request');
    expect((await stage.api.issue(askFor(stage.world, stage.subject()), withKey(key))).status).toBe(201);
  });

  it.each(['', ' ', 'a b', 'a\tb', 'x'.repeat(256), 'ü'])('must be visible ASCII of at most 255: %j', async key => {
    const answer = await stage.api.call<ElicitationAnswer>(
      'POST',
      '/v1/elicitations',
      askFor(stage.world, stage.subject()),
      withKey(key),
    );
    expectProblem(answer, 'invalid_request');
  });

  it('fifty at once over two replicas: one elicitation; the others get it or are told to come back', async () => {
    const subject = stage.subject();
    const ask = askFor(stage.world, subject);
    const key = newKey();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => stage.world.api({ replica: n % 2 }).issue(ask, withKey(key))),
    );
    const issued = answers.filter(({ status }) => status === 201);
    expect(new Set(issued.map(({ body }) => body.elicitationId)).size).toBe(1);
    for (const answer of answers.filter(({ status }) => status !== 201)) expectProblem(answer, 'idempotency_in_flight');
    const dump = await dumpRedis(stage.world.redis.url);
    expect(
      Object.entries(dump).filter(
        ([name, value]) => /:el:/.test(name) && JSON.stringify(value).includes(`${subject}\\`),
      ),
    ).toHaveLength(1);
    expect((await stage.api.issue(ask, withKey(key))).body).toEqual(issued[0]?.body);
  });

  it('fifty at once without a key: still one open elicitation for the same ask', async () => {
    const ask = askFor(stage.world, stage.subject());
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => stage.world.api({ replica: n % 2 }).issue(ask)),
    );
    expect(new Set(answers.map(({ body }) => body.elicitationId)).size).toBe(1);
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(49);
  });

  it('another key for the same ask meets the open one', async () => {
    const ask = askFor(stage.world, stage.subject());
    const first = await stage.api.issue(ask, withKey(newKey()));
    const second = await stage.api.issue(ask, withKey(newKey()));
    expect([first.status, second.status]).toEqual([201, 200]);
    expect(second.body.elicitationId).toBe(first.body.elicitationId);
  });
});
