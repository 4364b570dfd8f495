import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { expectInContract, expectProblem } from '../support/contract.ts';
import { connectAccount } from '../support/person-at-gateway.ts';
import { dumpRedis } from '../support/redis-dump.ts';
import { askFor, startWorld, type World } from '../support/world.ts';

let world: World;
beforeEach(async () => {
  world = await startWorld({ isRedisKilled: true });
});
afterEach(() => world?.[Symbol.asyncDispose]());

const redis = () => {
  const { server } = world.redis;
  if (server === undefined) throw new Error('this world has no private Redis');
  return server;
};
const health = (path: string) => fetch(`${world.gateways[0]?.address}${path}`);

/** Returns the dump with a new last use of the connection and no other change. */
function withLastUse(dump: Record<string, unknown>, connectionId: string, use: RegExp): Record<string, unknown> {
  const keys = Object.keys(dump).filter(key => key.endsWith(`:cn:${connectionId.slice(5)}`));
  expect(keys).toHaveLength(1);
  const [key = ''] = keys;
  const [type, members, expiry] = dump[key] as [string, [string, unknown][], number];
  expect(members.map(([name]) => name)).not.toContain('lastUse');
  const used = [...members, ['lastUse', expect.stringMatching(use)] as [string, unknown]];
  return { ...dump, [key]: [type, used.sort(([a], [b]) => (a < b ? -1 : 1)), expiry] };
}

async function untilReady(): Promise<void> {
  while ((await health('/readyz')).status !== 200);
}

describe('S61: without Redis', () => {
  it('every call gets 503 with Retry-After, and afterwards each effect exists once', async () => {
    const subject = world.subject();
    const { elicitationId } = await world.ask(subject);
    await connectAccount(world.raw(), elicitationId, subject);
    const connectionId = (await world.api.read(elicitationId)).body.outcome?.connectionId ?? '';
    const pending = await world.ask(world.subject());
    const browser = world.raw();
    await browser.signIn(pending.elicitationId, 'alice');
    const key = { 'idempotency-key': 'through-the-storm' };
    const ask = askFor(world, world.subject());
    const waiting = world.api.read(pending.elicitationId, 50);

    await redis().kill();
    const query = new URLSearchParams({ issuer: world.identityProvider.issuer, subject });
    for (const [operationId, answer] of [
      ['issueElicitation', await world.api.issue(ask, key)],
      ['readElicitation', await world.api.read(elicitationId)],
      ['readElicitation', await world.api.read(elicitationId, 1)],
      ['cancelElicitation', await world.api.cancel(pending.elicitationId)],
      ['listConnections', await world.api.call('GET', `/v1/connections?${query}`)],
      ['getAccessToken', await world.api.accessToken(connectionId)],
      ['removeConnection', await world.api.remove(connectionId)],
    ] as const) {
      expectInContract(operationId, answer);
      expectProblem(answer, 'unavailable');
    }
    for (const path of [`/e/${pending.elicitationId}`, `/login?e=${pending.elicitationId}`, '/me']) {
      const page = await browser.get(path);
      expect(page.status).toBe(503);
      expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
      expect(page.headers['retry-after']).toBe('1');
    }
    expect((await health('/livez')).status).toBe(200);
    expect((await health('/readyz')).status).toBe(503);

    await redis().restart();
    await untilReady();
    const before = await dumpRedis(world.redis.url);
    expect((await world.api.read(elicitationId)).body.status).toBe('completed');
    expect((await world.api.read(pending.elicitationId)).body.status).toBe('pending');
    expect(await dumpRedis(world.redis.url)).toEqual(before);
    // Only the use of the token was recorded, once.
    expect((await world.api.accessToken(connectionId)).status).toBe(200);
    const used = await dumpRedis(world.redis.url);
    expect(used).toEqual(withLastUse(before, connectionId, /^\d{13} \{"mcpServerId":"tracker"\}$/));
    expect((await world.api.accessToken(connectionId)).status).toBe(200);
    expect(await dumpRedis(world.redis.url)).toEqual(used);
    const issued = await world.api.issue(ask, key);
    const again = await world.api.issue(ask, key);
    expect([issued.status, again.body]).toEqual([201, issued.body]);
    expect((await world.api.cancel(pending.elicitationId)).body.status).toBe('cancelled');
    // The waiting read returns either the committed status or 503 with a retry.
    const waited = await waiting;
    if (waited.status === 200) expect(waited.body.status).toBe('cancelled');
    else expectProblem(waited, 'unavailable');
  });

  it('calls to a frozen Redis get 503 and take effect at most once', async () => {
    const subject = world.subject();
    redis().suspend();
    expectProblem(await world.api.issue(askFor(world, subject)), 'unavailable');
    expect((await health('/readyz')).status).toBe(503);
    redis().resume();
    await untilReady();
    // The status shows whether the first request took effect: 201 or 200, with one elicitation either way.
    const retried = await world.api.issue(askFor(world, subject));
    expectInContract('issueElicitation', retried);
    expect([200, 201]).toContain(retried.status);
    const dump = await dumpRedis(world.redis.url);
    expect(Object.keys(dump).filter(name => /:el:/.test(name))).toHaveLength(1);
  });
});
