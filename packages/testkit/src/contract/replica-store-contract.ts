import { expect, test } from 'vitest';
import { freshSuite } from './contract-stores.ts';

const LIFE_MS = 10_000;
const record = { instance: 'host-a:7', version: '1.0.0', startedAt: 1, status: 'serving', requests: 2 } as const;

export const describeReplicaStore = freshSuite('replicas', stores => {
  const announce = (id: string, change: object = {}) => stores.replicas.announce(id, { ...record, ...change }, LIFE_MS);
  const ids = async () => (await stores.replicas.list()).map(({ replicaId }) => replicaId);

  test('lists the replicas that have announced themselves, oldest first, until their time is over', async () => {
    await announce('rp_b', { startedAt: 2 });
    await announce('rp_a');
    expect(await stores.replicas.list()).toEqual([
      { replicaId: 'rp_a', isOrderedToDrain: false, ...record },
      { replicaId: 'rp_b', isOrderedToDrain: false, ...record, startedAt: 2 },
    ]);
    stores.clock.advance(LIFE_MS - 1);
    await announce('rp_b', { startedAt: 2 });
    stores.clock.advance(1);
    expect(await ids()).toEqual(['rp_b']);
    await stores.replicas.withdraw('rp_b');
    expect(await ids()).toEqual([]);
  });

  test('says how long the announcement of a replica still lasts', async () => {
    await announce('rp_a');
    stores.clock.advance(3_000);
    await announce('rp_b');
    expect(await stores.replicas.remainingMs('rp_a')).toBe(LIFE_MS - 3_000);
    expect(await stores.replicas.remainingMs('rp_b')).toBe(LIFE_MS);
    expect(await stores.replicas.remainingMs('rp_c')).toBe(0);
    stores.clock.advance(LIFE_MS - 3_000);
    expect(await stores.replicas.remainingMs('rp_a')).toBe(0);
  });

  test('S134: a replica learns of the order to drain with its next announcement, and keeps it', async () => {
    await announce('rp_a');
    await announce('rp_b');
    expect(await stores.replicas.drain('rp_a', { evenLast: false })).toBe('ordered');
    expect(await stores.replicas.drain('rp_a', { evenLast: false })).toBe('already');
    expect(await announce('rp_b')).toEqual({ mustDrain: false });
    for (const status of ['serving', 'draining', 'drained'])
      expect(await announce('rp_a', { status })).toEqual({ mustDrain: true });
  });

  test('S134: concurrent orders leave one replica, unless they are forced', async () => {
    const all = ['rp_a', 'rp_b', 'rp_c'];
    for (const id of all) await announce(id);
    const orders = await Promise.all(all.map(id => stores.replicas.drain(id, { evenLast: false })));
    expect(orders.toSorted()).toEqual(['last', 'ordered', 'ordered']);
    const [left = ''] = all.filter((_, at) => orders[at] === 'last');
    expect(await stores.replicas.drain(left, { evenLast: true })).toBe('ordered');
  });

  test('refuses an order for a replica that is gone, and does not count it as one that serves', async () => {
    await announce('rp_a');
    stores.clock.advance(1);
    // Before the other one is gone: an announcement forgets replicas whose time is over.
    await announce('rp_b');
    stores.clock.advance(LIFE_MS - 1);
    expect(await stores.replicas.drain('rp_a', { evenLast: true })).toBe('unknown');
    expect(await stores.replicas.drain('rp_b', { evenLast: false })).toBe('last');
  });
});
