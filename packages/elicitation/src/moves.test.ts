import { createSqliteStores } from '@postern/store-sqlite';
import { createFakeClock } from '@postern/testkit';
import { describe, expect, test } from 'vitest';
import type { TransitionResult } from './elicitation-store.ts';
import { newElicitationId, shardOf, systemEntropy } from './ids.ts';
import { MAX_TRIES } from './moves.ts';
import { alice, mcpServer, oneTime, signedIn } from './testing/samples.ts';
import { ATTEMPT, createServiceBench } from './testing/service-bench.ts';
import { storeWith } from './testing/store-with.ts';
import type { TransitionElicitation } from './transitions.ts';

/** A bench whose store can return a different result for a transition. */
function createBench() {
  const clock = createFakeClock();
  const stores = createSqliteStores({ path: ':memory:', now: clock.now });
  const requests: TransitionElicitation[] = [];
  const override: { instead?: (request: TransitionElicitation) => Promise<TransitionResult> } = {};
  const elicitations = storeWith(stores.elicitations, {
    transition: request => {
      requests.push(request);
      return (override.instead ?? (each => stores.elicitations.transition(each)))(request);
    },
  });
  const bench = createServiceBench({ ...stores, elicitations }, clock);
  return { ...bench, stores, requests, override };
}

describe('expire', () => {
  test.each(['pending', 'active'] as const)('expire ends a %s elicitation at its expiry, not before', async status => {
    const bench = createBench();
    const open = await bench.at(status);
    bench.clock.set(open.expiresAt - 1);
    const early = await bench.audited(async () => {
      expect(await bench.service.expire(open.elicitationId)).toEqual(open);
    });
    expect(early).toEqual([]);
    bench.clock.set(open.expiresAt);
    const audits = await bench.audited(async () => {
      expect(await bench.service.expire(open.elicitationId)).toMatchObject({
        status: 'expired',
        endedAt: open.expiresAt,
        version: open.version + 1,
      });
    });
    const { elicitationId, mcpServerId, subject } = open;
    expect(audits).toEqual([{ type: 'expired', elicitationId, mcpServerId, subject }]);
    expect((await bench.announced(open)).at(-1)).toBe('elicitation.expired');
  });

  test('expire leaves a verification alone before its expiry, and fails it afterwards', async () => {
    const bench = createBench();
    const held = await bench.at('verifying');
    bench.clock.set(held.expiresAt - 1);
    const early = await bench.audited(async () => {
      expect(await bench.service.expire(held.elicitationId)).toEqual(held);
    });
    expect(early).toEqual([]);
    bench.clock.set(held.expiresAt);
    const audits = await bench.audited(async () => {
      const failed = { status: 'failed', failure: 'verification_expired', endedAt: held.expiresAt };
      expect(await bench.service.expire(held.elicitationId)).toMatchObject(failed);
    });
    expect(audits).toMatchObject([{ type: 'failed', failure: 'verification_expired' }]);
    expect((await bench.announced(held)).at(-1)).toBe('elicitation.failed');
  });

  test('expire ends an elicitation even long after its expiry, because a caller may be waiting', async () => {
    const bench = createBench();
    const open = await bench.pending();
    bench.clock.set(open.expiresAt + 60 * 60_000);
    expect(await bench.service.expire(open.elicitationId)).toMatchObject({ status: 'expired' });
  });

  test.each(['completed', 'failed', 'declined', 'cancelled', 'expired'] as const)(
    'expire does not change a %s elicitation',
    async status => {
      const bench = createBench();
      const ended = await bench.at(status);
      bench.clock.set(ended.expiresAt + 1);
      const audits = await bench.audited(async () => {
        expect(await bench.service.expire(ended.elicitationId)).toEqual(ended);
      });
      expect(audits).toEqual([]);
      expect(await bench.announced(ended)).toHaveLength(ended.version);
    },
  );

  test('concurrent calls on all replicas expire an elicitation once', async () => {
    const bench = createBench();
    const open = await bench.pending();
    bench.clock.set(open.expiresAt);
    const ends = await Promise.all(Array.from({ length: 50 }, () => bench.service.expire(open.elicitationId)));
    expect(new Set(ends.map(({ version }) => version))).toEqual(new Set([2]));
    expect(bench.audits.map(({ type }) => type)).toEqual(['issued', 'expired']);
    expect(await bench.announced(open)).toEqual(['elicitation.pending', 'elicitation.expired']);
  });

  test('expire finds no unknown elicitation', async () => {
    const { service } = createBench();
    const unknown = newElicitationId(shardOf(alice), systemEntropy);
    await expect(service.expire(unknown)).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('a transition', () => {
  test('decides again after another transition came first', async () => {
    const bench = createBench();
    const { elicitationId: id } = await bench.pending();
    // Between the read and the commit, the user engages: cancelling now starts from the active elicitation.
    bench.override.instead = async request => {
      delete bench.override.instead;
      await bench.service.accept(id, signedIn(alice), oneTime(id, 'attempt'), ['repo']);
      return bench.stores.elicitations.transition(request);
    };
    const audits = await bench.audited(async () => {
      expect(await bench.service.cancel(mcpServer(), id)).toMatchObject({ status: 'cancelled', version: 3 });
    });
    expect(audits.map(({ type }) => type)).toEqual(['accepted', 'cancelled']);
  });

  test('refuses if the other transition has ended the elicitation', async () => {
    const bench = createBench();
    const { elicitationId: id } = await bench.at('active');
    bench.override.instead = async request => {
      delete bench.override.instead;
      await bench.service.decline(id, signedIn(alice));
      return bench.stores.elicitations.transition(request);
    };
    const audits = await bench.audited(async () => {
      const failing = bench.service.fail(id, ATTEMPT, 'provider_refused');
      await expect(failing).rejects.toMatchObject({ code: 'already_ended', status: 'declined' });
    });
    expect(audits.map(({ type }) => type)).toEqual(['declined']);
  });

  test('a repeat that loses the race against its first call is audited once', async () => {
    const bench = createBench();
    const { elicitationId: id } = await bench.pending();
    const calls = await Promise.all(Array.from({ length: 50 }, () => bench.service.decline(id, signedIn(alice))));
    expect(calls.every(({ status }) => status === 'declined')).toBe(true);
    expect(bench.audits.map(({ type }) => type)).toEqual(['issued', 'declined']);
  });

  test('every retry has a new operation id, because a store may treat a repeated id as done', async () => {
    const bench = createBench();
    const { elicitationId: id } = await bench.pending();
    bench.override.instead = async request => ({ result: 'conflict', current: request.current });
    await expect(bench.service.cancel(mcpServer(), id)).rejects.toMatchObject({ code: 'contention' });
    await expect(bench.service.cancel(mcpServer(), id)).rejects.toMatchObject({ code: 'contention' });
    expect(bench.requests).toHaveLength(2 * MAX_TRIES);
    expect(new Set(bench.requests.map(({ operationId }) => operationId)).size).toBe(2 * MAX_TRIES);
    expect(bench.audits.map(({ type }) => type)).toEqual(['issued']);
  });

  test('a transition of a deleted elicitation is not found, and not audited', async () => {
    const bench = createBench();
    const { elicitationId: id } = await bench.pending();
    bench.override.instead = async () => ({ result: 'missing' });
    const audits = await bench.audited(async () => {
      await expect(bench.service.cancel(mcpServer(), id)).rejects.toMatchObject({ code: 'not_found' });
    });
    expect(audits).toEqual([]);
  });

  test('a transition without a reply from the store is not audited, and the caller gets the error', async () => {
    const bench = createBench();
    const { elicitationId: id } = await bench.pending();
    const unavailable = Object.assign(new Error('away'), { code: 'store_unavailable' });
    bench.override.instead = async () => {
      throw unavailable;
    };
    const audits = await bench.audited(async () => {
      await expect(bench.service.cancel(mcpServer(), id)).rejects.toBe(unavailable);
    });
    expect(audits).toEqual([]);
  });
});
