import { shardOf } from '@postern/elicitation';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectProblem } from '../support/contract.ts';
import { askFor, keyOf, startWorld, type World } from '../support/world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld({
    replicas: 2,
    otherMcpServers: [{ id: 'hoarder', limits: { storedMegabytes: 64 } }, { id: 'calm' }],
    config: { limits: { storedMegabytes: 64 } },
  });
});
afterAll(() => world?.[Symbol.asyncDispose]());

/** Invents a subject, so that no real user's quota is used. The shard is always the same. */
function invented(): string {
  for (;;) {
    const subject = `invented-${crypto.randomUUID()}`;
    if (shardOf({ issuer: world.identityProvider.issuer, subject }).startsWith('7f')) return subject;
  }
}

/** A form of almost 32 KiB. */
function largeForm(user: string) {
  const { subject, message } = askFor(world, user);
  const items = { type: 'string', enum: Array.from({ length: 240 }, (_, at) => `${at}-${'x'.repeat(120)}`) } as const;
  return {
    kind: 'form',
    subject,
    message,
    form: { requestedSchema: { type: 'object', properties: { a: items } } },
  } as const;
}

describe('the storage quota of an MCP server', () => {
  it('S73: an MCP server that invents subjects gets 429 on every replica, and others are not affected', async () => {
    const [first, second] = [0, 1].map(replica => world.apiOf({ apiKey: keyOf('hoarder'), replica }));
    if (first === undefined || second === undefined) throw new Error('Expected two replicas.');
    let accepted = 0;
    let answer = await first.issue(largeForm(invented()));
    for (; answer.status === 201 && accepted < 50; accepted += 1) answer = await first.issue(largeForm(invented()));
    expectProblem(answer, 'quota_exceeded');
    expect(accepted).toBeGreaterThanOrEqual(4);
    expect(accepted).toBeLessThanOrEqual(8);
    const hours = Number(answer.headers.get('retry-after')) / 3_600;
    expect(hours).toBeGreaterThan(24);
    expect(hours).toBeLessThanOrEqual(26);
    expectProblem(await second.issue(largeForm(invented())), 'quota_exceeded');

    const calm = world.apiOf({ apiKey: keyOf('calm') });
    expect((await calm.issue(largeForm(invented()))).status).toBe(201);
    expect(world.log()).toContain('"event":"quota.exceeded"');
  });

  it('S73: a refused request does not consume its Idempotency-Key', async () => {
    const hoarder = world.apiOf({ apiKey: keyOf('hoarder') });
    const key = { 'idempotency-key': crypto.randomUUID() };
    expectProblem(await hoarder.issue(largeForm(invented()), key), 'quota_exceeded');
    expect((await hoarder.issue(askFor(world, world.subject()), key)).status).toBe(201);
  });
});
