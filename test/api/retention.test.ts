import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectAccount } from '../support/person-at-gateway.ts';
import { dumpRedis } from '../support/redis-dump.ts';
import { startWorld, type World } from '../support/world.ts';

const MINUTE = 60_000;
const SEALED = /ey[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+){4}/;

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.[Symbol.asyncDispose]());

interface SealedKey {
  /** The part of the key after the shard: `cn`, `once`, …. */
  readonly room: string;
  /** Milliseconds until Redis deletes it; undefined without an expiry. */
  readonly left: number | undefined;
}

/** Every key in Redis with a sealed value. */
async function sealedKeys(): Promise<SealedKey[]> {
  const dump = await dumpRedis(world.redis.url);
  return Object.entries(dump).flatMap(([key, entry]) => {
    if (!SEALED.test(JSON.stringify(entry))) return [];
    const [, , expiresAt] = entry as [string, unknown, number];
    return [{ room: key.split(':')[2] ?? key, left: expiresAt < 0 ? undefined : expiresAt - Date.now() }];
  });
}
const rooms = async () => (await sealedKeys()).map(({ room }) => room);

/** A user who has accepted and is at the provider, which leaves a sealed transaction. */
async function leaving() {
  const user = world.subject();
  const { elicitationId } = await world.ask(user);
  const browser = world.raw();
  await browser.signIn(elicitationId, user);
  const destination = await browser.accept(elicitationId);
  return { elicitationId, browser, destination };
}

async function connected(): Promise<string> {
  const user = world.subject();
  const { elicitationId } = await world.ask(user);
  await connectAccount(world.raw(), elicitationId, user);
  return (await world.api.read(elicitationId)).body.outcome?.connectionId ?? '';
}

describe('S52: a sealed value', () => {
  it.each(['decline', 'cancel', 'silence'])('of a transaction expires within minutes, with %s', async ending => {
    const { elicitationId, browser } = await leaving();
    if (ending === 'cancel') await world.api.cancel(elicitationId);
    if (ending === 'decline') {
      const form = { csrf_token: await browser.csrfToken(elicitationId) };
      await browser.post(`/e/${elicitationId}/decline`, { form });
    }
    const kept = await sealedKeys();
    expect(kept.length).toBeGreaterThan(0);
    for (const { room, left } of kept) {
      expect(room).toBe('once');
      expect(left).toBeGreaterThan(0);
      expect(left).toBeLessThanOrEqual(15 * MINUTE);
    }
  });

  it('of a transaction is deleted with the token exchange; one value remains until the user disconnects', async () => {
    const before = await rooms();
    const connectionId = await connected();
    expect((await rooms()).sort()).toEqual([...before, 'cn'].sort());
    expect((await sealedKeys()).find(({ room }) => room === 'cn')?.left).toBeUndefined();
    expect((await world.api.remove(connectionId)).body.revocation).toBe('revoked');
    expect(await rooms()).toEqual(before);
  });

  it('of a deleted connection expires even while the provider is down', async () => {
    const connectionId = await connected();
    world.provider.fault({ endpoint: 'revocation', status: 503 });
    expect((await world.api.remove(connectionId)).body.revocation).toBe('pending');
    const kept = (await sealedKeys()).filter(({ room }) => room !== 'once');
    world.provider.clearFaults();
    expect(kept.map(({ room }) => room)).toEqual(['rv']);
    expect(kept[0]?.left).toBeGreaterThan(0);
    expect(kept[0]?.left).toBeLessThanOrEqual(8 * 24 * 60 * MINUTE);
  });
});
