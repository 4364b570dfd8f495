import { createSqliteStores } from '@postern/store-sqlite';
import { createFakeClock } from '@postern/testkit';
import { describe, expect, test } from 'vitest';
import type { Elicitation } from './elicitation.ts';
import type { IssueElicitation } from './elicitation-service.ts';
import type { ElicitationStore } from './elicitation-store.ts';
import { alice, connectionFor, issuedIn, mcpServer, oneTime, scopesOf, signedIn } from './testing/samples.ts';
import { ATTEMPT, createServiceBench } from './testing/service-bench.ts';
import { storeWith } from './testing/store-with.ts';

/** Several tool calls that need different scopes of the same account. */
function createBench(wrap: (elicitations: ElicitationStore) => Partial<ElicitationStore> = () => ({})) {
  const clock = createFakeClock();
  const stores = createSqliteStores({ path: ':memory:', now: clock.now });
  const elicitations = storeWith(stores.elicitations, wrap(stores.elicitations));
  return createServiceBench({ ...stores, elicitations }, clock);
}

const asking = (...scopes: string[]): Pick<IssueElicitation, 'request'> => ({
  request: { kind: 'authorization', provider: 'github', scopes },
});

async function openOf(issued: Promise<Awaited<ReturnType<ReturnType<typeof createBench>['issue']>>>) {
  return issuedIn(await issued);
}

describe('a request for more scopes of the same account', () => {
  test('widens the elicitation before the user agrees, with an event and an audit line', async () => {
    const bench = createBench();
    const first = await bench.pending();
    bench.clock.advance(1_000);
    const audits = await bench.audited(async () => {
      expect(await bench.issue(mcpServer(), asking('read:user', 'admin'))).toEqual({
        disposition: 'open',
        elicitation: {
          ...first,
          version: 2,
          request: { ...first.request, scopes: ['admin', 'read:user', 'repo'] },
        },
      });
    });
    const { elicitationId, mcpServerId, subject } = first;
    expect(audits).toEqual([{ type: 'widened', scopes: ['admin', 'read:user'], elicitationId, mcpServerId, subject }]);
    expect(await bench.announced(first)).toEqual(['elicitation.pending', 'elicitation.pending']);
  });

  test.each([[['repo']], [['admin']], [['admin', 'repo']], [[]]])(
    'returns the wider elicitation unchanged: %j',
    async scopes => {
      const bench = createBench();
      const wide = await bench.pending(mcpServer(), asking('admin', 'repo'));
      const audits = await bench.audited(async () => {
        expect(await bench.issue(mcpServer(), asking(...scopes))).toEqual({ disposition: 'open', elicitation: wide });
      });
      expect(audits).toEqual([]);
    },
  );

  test('keeps the notice about the last attempt', async () => {
    const bench = createBench();
    const { elicitationId } = await bench.at('active');
    await bench.service.retry(elicitationId, ATTEMPT, 'provider_denied');
    const widened = await openOf(bench.issue(mcpServer(), asking('admin')));
    expect(widened).toMatchObject({
      elicitationId,
      retryReason: 'provider_denied',
      request: { scopes: ['admin', 'repo'] },
    });
  });

  test.each(['active', 'verifying'] as const)(
    'creates a second elicitation while the first is %s, because the user has agreed',
    async status => {
      const bench = createBench();
      const agreed = await bench.at(status);
      const second = await bench.issue(mcpServer(), asking('admin'));
      expect(second).toMatchObject({ disposition: 'created', elicitation: { request: { scopes: ['admin'] } } });
      expect(await bench.service.find(agreed.elicitationId)).toEqual(agreed);
      // From now on, other requests join the second one.
      const joined = await openOf(bench.issue(mcpServer(), asking('gist')));
      expect(joined).toMatchObject({ request: { scopes: ['admin', 'gist'] } });
      expect(await openOf(bench.issue(mcpServer(), asking('admin')))).toEqual(joined);
    },
  );

  test('completes only with all scopes that were requested in the end', async () => {
    const bench = createBench();
    const { elicitationId: id } = await bench.pending();
    const widened = await openOf(bench.issue(mcpServer(), asking('admin')));
    await bench.service.accept(id, signedIn(alice), oneTime(id, 'attempt'), scopesOf(widened));
    const less = bench.service.complete(id, ATTEMPT, connectionFor(widened, { scopes: ['repo'] }));
    await expect(less).rejects.toThrow(TypeError);
    await bench.service.complete(id, ATTEMPT, connectionFor(widened));
    for (const scopes of [['repo'], ['admin'], ['admin', 'repo']])
      expect(await bench.issue(mcpServer(), asking(...scopes))).toMatchObject({ disposition: 'existing_connection' });
  });

  test.each(['issue-tracker', 'calendar'])(
    'a request for %s with another account or resource gets a separate elicitation',
    async mcpServerId => {
      const bench = createBench();
      const first = await bench.pending();
      for (const change of [{ expectedAccount: '583231' }, { resource: 'https://api.example.com' }]) {
        const { request } = asking('admin');
        const other = await bench.issue(mcpServer({ mcpServerId }), { request: { ...request, ...change } });
        expect(other).toMatchObject({ disposition: 'created' });
      }
      expect(await bench.service.find(first.elicitationId)).toEqual(first);
    },
  );

  test('does not join an elicitation that has ended', async () => {
    const bench = createBench();
    const first = await bench.pending();
    bench.clock.set(first.expiresAt);
    const second = await bench.issue(mcpServer(), asking('admin'));
    expect(second).toMatchObject({ disposition: 'created', elicitation: { request: { scopes: ['admin'] } } });
  });
});

describe('races', () => {
  test('concurrent tool calls for different scopes share one elicitation', async () => {
    const bench = createBench();
    const scopes = Array.from({ length: 30 }, (_, nth) => `scope-${nth}`);
    const issued = await Promise.all(scopes.map(scope => bench.issue(mcpServer(), asking(scope))));
    expect(issued.filter(({ disposition }) => disposition === 'created')).toHaveLength(1);
    const elicitations = issued.map(issuedIn);
    const [id, ...others] = new Set(elicitations.map(each => each.elicitationId));
    expect(others).toEqual([]);
    if (id === undefined) throw new Error('No elicitation was issued.');
    const asked = await bench.service.find(id);
    expect(asked).toMatchObject({ request: { scopes: [...scopes].sort() } });
    // Each call got an elicitation that asks for its scopes.
    for (const [nth, each] of elicitations.entries()) expect(scopesOf(each)).toContain(scopes[nth]);
    const added = bench.audits.filter(audit => audit.type === 'widened').flatMap(audit => audit.scopes);
    const first = elicitations.filter(each => each.version === 1).flatMap(scopesOf);
    expect(new Set([...added, ...first])).toEqual(new Set(scopes));
    expect(added).toHaveLength(scopes.length - 1);
  });

  /** Runs something right before the next write of a kind. */
  function createRacing() {
    const race: { beforeTransition?: (() => Promise<unknown>) | undefined } = {};
    const bench = createBench(inner => ({
      transition: async request => {
        const { beforeTransition } = race;
        race.beforeTransition = undefined;
        await beforeTransition?.();
        return inner.transition(request);
      },
    }));
    return { bench, race };
  }

  test('a user who agrees first agrees to the scopes they saw, and a second elicitation asks for the rest', async () => {
    const { bench, race } = createRacing();
    const { elicitationId: id } = await bench.pending();
    race.beforeTransition = () => bench.service.accept(id, signedIn(alice), oneTime(id, 'attempt'), ['repo']);
    const second = await bench.issue(mcpServer(), asking('admin'));
    expect(second).toMatchObject({ disposition: 'created', elicitation: { request: { scopes: ['admin'] } } });
    expect(await bench.service.find(id)).toMatchObject({ status: 'active', request: { scopes: ['repo'] } });
  });

  test('a user who agrees just after a widening must review the new scopes', async () => {
    const { bench, race } = createRacing();
    const { elicitationId: id } = await bench.pending();
    race.beforeTransition = () => bench.issue(mcpServer(), asking('admin'));
    const call = bench.service.accept(id, signedIn(alice), oneTime(id, 'attempt'), ['repo']);
    await expect(call).rejects.toMatchObject({ code: 'request_changed' });
    expect(await bench.service.find(id)).toMatchObject({ status: 'pending', request: { scopes: ['admin', 'repo'] } });
  });

  test.each<{ what: string; end: (bench: ReturnType<typeof createBench>, of: Elicitation) => unknown }>([
    { what: 'cancelled', end: (bench, of) => bench.service.cancel(mcpServer(), of.elicitationId) },
    { what: 'declined', end: (bench, of) => bench.service.decline(of.elicitationId, signedIn(alice)) },
    { what: 'over', end: (bench, of) => bench.clock.set(of.expiresAt) },
  ])('replaces an elicitation that is $what just before its widening', async ({ end }) => {
    const { bench, race } = createRacing();
    const first = await bench.pending();
    race.beforeTransition = async () => end(bench, first);
    const second = await bench.issue(mcpServer(), asking('admin'));
    expect(second).toMatchObject({ disposition: 'created', elicitation: { request: { scopes: ['admin'] } } });
    expect(await bench.service.find(first.elicitationId)).toMatchObject({ request: { scopes: ['repo'] } });
  });
});
