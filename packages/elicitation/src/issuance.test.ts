import { createSqliteStores } from '@postern/store-sqlite';
import { createFakeClock } from '@postern/testkit';
import { describe, expect, test } from 'vitest';
import type { NewConnection } from './connection.ts';
import type { IssueElicitation } from './elicitation-service.ts';
import type { ElicitationStore } from './elicitation-store.ts';
import { connectionIdOf, newElicitationId, shardIn, shardOf, systemEntropy } from './ids.ts';
import {
  alice,
  bob,
  connectionFor,
  ISSUER,
  issuedIn,
  MINUTE,
  mcpServer,
  oneTime,
  scopesOf,
  signedIn,
  TTL_MS,
} from './testing/samples.ts';
import { ATTEMPT, createServiceBench } from './testing/service-bench.ts';
import { storeWith } from './testing/store-with.ts';

function createBench(wrap: (elicitations: ElicitationStore) => Partial<ElicitationStore> = () => ({})) {
  const clock = createFakeClock();
  const stores = createSqliteStores({ path: ':memory:', now: clock.now });
  return createServiceBench(
    { ...stores, elicitations: storeWith(stores.elicitations, wrap(stores.elicitations)) },
    clock,
  );
}

type AuthorizationInput = Extract<IssueElicitation['request'], { kind: 'authorization' }>;
const authorization = (change: Partial<AuthorizationInput> = {}): Pick<IssueElicitation, 'request'> => ({
  request: { kind: 'authorization', provider: 'github', scopes: ['repo'], ...change },
});

describe('a new elicitation', () => {
  test('a new elicitation is pending, for that subject, and contains the input', async () => {
    const bench = createBench();
    const given = {
      message: 'To file the issue',
      requestedBy: { mcpClient: 'Example', tool: 'create_issue' },
      returnUrl: 'https://tracker.example.com/done',
      ...authorization({ resource: 'https://api.example.com', expectedAccount: '583231' }),
    };
    const issued = await bench.issue(mcpServer(), given);
    expect(issued).toEqual({
      disposition: 'created',
      elicitation: {
        ...given,
        elicitationId: expect.stringMatching(/^el_/),
        version: 1,
        status: 'pending',
        mcpServerId: 'issue-tracker',
        identityMode: 'login',
        subject: alice,
        createdAt: bench.clock.now(),
        expiresAt: bench.clock.now() + TTL_MS,
      },
    });
  });

  test('a new elicitation is in the shard of its subject', async () => {
    const { elicitationId } = await createBench().pending(mcpServer(), { subject: bob });
    expect(shardIn(elicitationId)).toBe(shardOf(bob));
  });

  test.each(['login', 'external', 'loopback'] as const)(
    'a new elicitation keeps the identity mode %s',
    async identityMode => {
      expect(await createBench().pending(mcpServer({ identityMode }))).toMatchObject({ identityMode });
    },
  );

  test.each([
    { ttlMs: MINUTE, lives: MINUTE },
    { ttlMs: 5 * MINUTE, lives: 5 * MINUTE },
    { ttlMs: 5 * MINUTE + 1, lives: 5 * MINUTE },
  ])('limits a lifetime of $ttlMs ms to $lives ms under a limit of 5 minutes', async ({ ttlMs, lives }) => {
    const limits = { ...mcpServer().limits, maxTtlMs: 5 * MINUTE };
    const { createdAt, expiresAt } = await createBench().pending(mcpServer({ limits }), { ttlMs });
    expect(expiresAt - createdAt).toBe(lives);
  });

  test('requests sorted scopes without duplicates, and the default scopes of the provider if none are named', async () => {
    const named = await createBench().pending(mcpServer(), authorization({ scopes: ['repo', 'admin', 'repo'] }));
    expect(scopesOf(named)).toEqual(['admin', 'repo']);
    const none = await createBench().pending(mcpServer(), authorization({ scopes: [] }));
    expect(scopesOf(none)).toEqual([]);
    const unnamed = { kind: 'authorization', provider: 'github' } as const;
    const byDefault = await createBench().pending(mcpServer(), { request: unnamed });
    expect(scopesOf(byDefault)).toEqual(['read:user', 'repo']);
  });

  test('a new elicitation is announced and audited once', async () => {
    const bench = createBench();
    const elicitation = await bench.pending();
    expect(await bench.announced(elicitation)).toEqual(['elicitation.pending']);
    const { elicitationId, mcpServerId, subject } = elicitation;
    expect(bench.audits).toEqual([{ type: 'issued', elicitationId, mcpServerId, subject }]);
  });
});

describe('refusals', () => {
  const refusals: { code: string; server?: Parameters<typeof mcpServer>[0]; input?: Partial<IssueElicitation> }[] = [
    { code: 'kind_not_allowed', server: { kinds: [] } },
    { code: 'issuer_not_allowed', server: { issuers: [] } },
    { code: 'issuer_not_allowed', input: { subject: { ...alice, issuer: `${ISSUER}/` } } },
    { code: 'return_url_not_registered', input: { returnUrl: 'https://tracker.example.com/done?x=1' } },
    { code: 'return_url_not_registered', input: { returnUrl: 'https://evil.example.com/done' } },
    { code: 'provider_not_allowed', server: { providers: ['gitlab'] } },
    { code: 'unknown_provider', server: { providers: ['gitlab'] }, input: authorization({ provider: 'gitlab' }) },
    { code: 'too_many_elicitations', server: { limits: { ...mcpServer().limits, subjectMax: 0 } } },
    { code: 'quota_exceeded', server: { limits: { ...mcpServer().limits, quota: { records: 0, bytes: 0 } } } },
  ];

  test.each(refusals)('refuses with $code, and writes and audits nothing', async ({ code, server, input }) => {
    const bench = createBench();
    await expect(bench.issue(mcpServer(server), input)).rejects.toMatchObject({ code });
    expect(await bench.allAnnounced()).toEqual([]);
    expect(bench.audits).toEqual([]);
  });

  test('only the subject over the limit is refused, with a retry time and for one window', async () => {
    const bench = createBench();
    const limits = { ...mcpServer().limits, subjectMax: 2, subjectWindowMs: MINUTE, maxTtlMs: TTL_MS };
    const ask = (resource: string, subject = alice, mcpServerId = 'issue-tracker') =>
      bench.issue(mcpServer({ mcpServerId, limits }), { subject, ...authorization({ resource }) });
    await ask('a');
    bench.clock.advance(MINUTE / 4);
    await ask('b');
    await expect(ask('c')).rejects.toMatchObject({ code: 'too_many_elicitations', retryAfterMs: (MINUTE * 3) / 4 });
    expect(await ask('c', bob)).toMatchObject({ disposition: 'created' });
    expect(await ask('c', alice, 'calendar')).toMatchObject({ disposition: 'created' });
    // An open elicitation does not count.
    expect(await ask('a')).toMatchObject({ disposition: 'open' });
    bench.clock.advance((MINUTE * 3) / 4);
    expect(await ask('c')).toMatchObject({ disposition: 'created' });
  });
});

describe('a repeated request', () => {
  test.each(['pending', 'active', 'verifying'] as const)('finds the %s elicitation', async status => {
    const bench = createBench();
    const open = await bench.at(status);
    const audits = await bench.audited(async () => {
      expect(await bench.issue()).toEqual({ disposition: 'open', elicitation: open });
    });
    expect(audits).toEqual([]);
  });

  test.each(['failed', 'declined', 'cancelled', 'expired'] as const)(
    'a repeat after %s creates a new elicitation',
    async status => {
      const bench = createBench();
      const ended = await bench.at(status);
      const issued = await bench.issue();
      expect(issued).toMatchObject({ disposition: 'created' });
      expect(issued).not.toMatchObject({ elicitation: { elicitationId: ended.elicitationId } });
    },
  );

  test('requests are the same however they are spelled', async () => {
    const bench = createBench();
    const resource = 'https://api.example.com';
    await bench.pending(mcpServer(), authorization({ resource, scopes: ['repo', 'read:user'] }));
    const spellings: IssueElicitation['request'][] = [
      { resource, scopes: ['read:user', 'repo', 'repo'], provider: 'github', kind: 'authorization' },
      { kind: 'authorization', provider: 'github', resource },
    ];
    for (const request of spellings)
      expect(await bench.issue(mcpServer(), { request })).toMatchObject({ disposition: 'open' });
  });

  test.each<{ what: string; server?: Parameters<typeof mcpServer>[0]; input?: Partial<IssueElicitation> }>([
    { what: 'another MCP server', server: { mcpServerId: 'calendar' } },
    {
      what: 'another MCP server of the same group',
      server: { mcpServerId: 'calendar', connectionOwner: 'issue-tracker' },
    },
    { what: 'another identity mode', server: { identityMode: 'external' } },
    { what: 'another person', input: { subject: bob } },
    { what: 'a resource', input: authorization({ resource: 'https://api.example.com' }) },
    { what: 'an expected account', input: authorization({ expectedAccount: '583231' }) },
  ])('I6 is not that of $what', async ({ server, input }) => {
    const bench = createBench();
    const first = await bench.pending();
    const other = await bench.issue(mcpServer(server), input);
    expect(other).toMatchObject({ disposition: 'created' });
    expect(other).not.toMatchObject({ elicitation: { elicitationId: first.elicitationId } });
  });

  test('replaces an open elicitation that ends between being found and being read', async () => {
    let endIt = async () => {};
    const bench = createBench(elicitations => ({
      read: async id => {
        await endIt();
        return elicitations.read(id);
      },
    }));
    const first = await bench.pending();
    endIt = async () => {
      endIt = async () => {};
      await bench.service.cancel(mcpServer(), first.elicitationId);
    };
    const second = await bench.issue();
    expect(second).toMatchObject({ disposition: 'created', elicitation: { status: 'pending' } });
    expect(await bench.announced(first)).toEqual(['elicitation.pending', 'elicitation.cancelled']);
  });

  test('concurrent requests create one elicitation, and all callers get it', async () => {
    const bench = createBench();
    const issued = await Promise.all(Array.from({ length: 50 }, () => bench.issue()));
    expect(issued.filter(({ disposition }) => disposition === 'created')).toHaveLength(1);
    const ids = issued.map(each => issuedIn(each).elicitationId);
    expect(new Set(ids).size).toBe(1);
    expect(bench.audits.map(({ type }) => type)).toEqual(['issued']);
  });

  test('a store that always reports a newer record ends in contention', async () => {
    const bench = createBench(() => ({
      create: async () => ({ result: 'open', elicitationId: newElicitationId(shardOf(alice), systemEntropy) }),
      read: async () => undefined,
    }));
    await expect(bench.issue()).rejects.toMatchObject({ code: 'contention' });
  });
});

describe('a connection', () => {
  /** A connection of an earlier elicitation. `change` alters what the provider granted. */
  async function connected(change: Partial<NewConnection> = {}, server = mcpServer(), subject = alice) {
    const bench = createBench();
    const { elicitationId: id } = await bench.pending(server, { subject });
    const active = await bench.service.accept(id, signedIn(subject), oneTime(id, 'attempt'), ['repo']);
    const owner = server.connectionOwner;
    const connectionId = connectionIdOf({ owner, subject, provider: 'github' });
    await bench.service.complete(id, ATTEMPT, connectionFor(active, { owner, connectionId, ...change }));
    return { bench, connectionId };
  }

  test('a usable connection is returned immediately, without an elicitation, event or audit line', async () => {
    const { bench, connectionId } = await connected({ scopes: ['read:user', 'repo'], account: { id: '583231' } });
    const announced = (await bench.allAnnounced()).length;
    for (const request of [{}, { scopes: [] }, { expectedAccount: '583231' }]) {
      const audits = await bench.audited(async () => {
        const issued = await bench.issue(mcpServer(), authorization(request));
        expect(issued).toEqual({
          disposition: 'existing_connection',
          connection: await bench.stores.connections.read(connectionId),
        });
      });
      expect(audits).toEqual([]);
    }
    expect(await bench.allAnnounced()).toHaveLength(announced);
  });

  const HOUR = 60 * MINUTE;
  const anHour = { accessTokenExpiresAt: createFakeClock().now() + HOUR };

  test.each<{
    why: string;
    granted?: Partial<NewConnection>;
    asked?: Partial<AuthorizationInput>;
    after?: number;
  }>([
    { why: 'lacks a scope', asked: { scopes: ['repo', 'admin'] } },
    { why: 'is of another account', granted: { account: { id: '1' } }, asked: { expectedAccount: '583231' } },
    { why: 'is of an unknown account', asked: { expectedAccount: '583231' } },
    { why: 'has a token at its end', granted: anHour, after: HOUR - 30_000 },
    { why: 'has a token past its end', granted: anHour, after: 2 * HOUR },
    { why: 'is for another resource', asked: { resource: 'https://api.example.com' } },
  ])('that $why does not serve: the person is asked', async ({ granted, asked, after = 0 }) => {
    const { bench } = await connected(granted);
    bench.clock.advance(after);
    const first = await bench.issue(mcpServer(), authorization(asked));
    expect(first).toMatchObject({ disposition: 'created' });
    expect(await bench.issue(mcpServer(), authorization(asked))).toMatchObject({ disposition: 'open' });
  });

  test('a connection stops serving when its token expires', async () => {
    const { bench } = await connected(anHour);
    bench.clock.advance(HOUR - 30_001);
    expect(await bench.issue()).toMatchObject({ disposition: 'existing_connection' });
    bench.clock.advance(1);
    expect(await bench.issue()).toMatchObject({ disposition: 'created' });
  });

  test('a refreshable connection serves even with an expired token, until it is lost', async () => {
    const { bench, connectionId } = await connected({ ...anHour, refreshable: true });
    bench.clock.advance(2 * HOUR);
    const issued = await bench.issue();
    expect(issued).toMatchObject({ disposition: 'existing_connection' });
    const current = await bench.stores.connections.read(connectionId);
    if (current === undefined) throw new Error('The connection has vanished.');
    await bench.stores.connections.markLost({ current, reason: 'refused' });
    expect(await bench.issue()).toMatchObject({ disposition: 'created' });
  });

  test('a connection answers before an open elicitation, which may ask for more than needed', async () => {
    const { bench } = await connected();
    await bench.pending(mcpServer(), authorization({ scopes: ['repo', 'admin'] }));
    const audits = await bench.audited(async () => {
      expect(await bench.issue()).toMatchObject({ disposition: 'existing_connection' });
    });
    expect(audits).toEqual([]);
  });

  test('I6 a connection serves neither another user nor another MCP server', async () => {
    const { bench } = await connected();
    expect(await bench.issue(mcpServer({ mcpServerId: 'calendar' }))).toMatchObject({ disposition: 'created' });
    expect(await bench.issue(mcpServer(), { subject: bob })).toMatchObject({ disposition: 'created' });
  });

  test('a connection serves an MCP server of the same declared group', async () => {
    const { bench } = await connected({}, mcpServer({ connectionOwner: 'office' }));
    const calendar = mcpServer({ mcpServerId: 'calendar', connectionOwner: 'office' });
    expect(await bench.issue(calendar)).toMatchObject({
      disposition: 'existing_connection',
      connection: { owner: 'office' },
    });
  });

  test('checks a connection again that changes during the check', async () => {
    const generations: (number | undefined)[] = [];
    let replace = async () => {};
    const bench = createBench(elicitations => ({
      create: async request => {
        const result = await elicitations.create(request);
        generations.push(request.seen.answer?.generation);
        await replace();
        return result;
      },
    }));
    await bench.at('completed');
    // Another elicitation of this user completes in between, with a second token set that has enough scopes.
    const wide = authorization({ scopes: ['admin', 'repo'] });
    const other = await bench.pending(mcpServer(), authorization({ scopes: ['other'] }));
    const active = await bench.service.accept(
      other.elicitationId,
      signedIn(alice),
      oneTime(other.elicitationId, 'attempt'),
      ['other'],
    );
    replace = async () => {
      replace = async () => {};
      await bench.service.complete(
        other.elicitationId,
        ATTEMPT,
        connectionFor(active, { scopes: ['admin', 'other', 'repo'] }),
      );
    };
    generations.length = 0;
    expect(await bench.issue(mcpServer(), wide)).toMatchObject({
      disposition: 'existing_connection',
      connection: { generation: 2 },
    });
    expect(generations).toEqual([undefined, 1]);
  });
});

describe('an idempotency key', () => {
  const idempotencyKey = { digest: 'digest-of-the-key', fingerprint: 'of-the-body' };

  test('a repeat returns the elicitation in its initial state, whatever its status now', async () => {
    const bench = createBench();
    const first = await bench.pending(mcpServer(), { idempotencyKey });
    await bench.service.decline(first.elicitationId, signedIn(alice));
    expect(await bench.issue(mcpServer(), { idempotencyKey })).toEqual({ disposition: 'repeated', elicitation: first });
    expect(await bench.announced(first)).toEqual(['elicitation.pending', 'elicitation.declined']);
  });

  test('a repeat does not count against the limit', async () => {
    const bench = createBench();
    const server = mcpServer({ limits: { ...mcpServer().limits, subjectMax: 1 } });
    await bench.pending(server, { idempotencyKey });
    expect(await bench.issue(server, { idempotencyKey })).toMatchObject({ disposition: 'repeated' });
  });

  test('a repeat is not audited again', async () => {
    const bench = createBench();
    await bench.pending(mcpServer(), { idempotencyKey });
    expect(await bench.audited(() => bench.issue(mcpServer(), { idempotencyKey }))).toEqual([]);
  });

  test('another request under the same key is refused, and creates nothing', async () => {
    const bench = createBench();
    const first = await bench.pending(mcpServer(), { idempotencyKey });
    const other = { idempotencyKey: { ...idempotencyKey, fingerprint: 'of-another-body' } };
    const code = 'idempotency_key_reused';
    await expect(bench.issue(mcpServer(), { ...other, ...authorization({ scopes: ['gist'] }) })).rejects.toMatchObject({
      code,
    });
    expect(await bench.announced(first)).toEqual(['elicitation.pending']);
  });

  test('a repeat returns the response that is stored under the key', async () => {
    const stored = { result: 'replayed', response: 'response' } as const;
    const bench = createBench(() => ({ create: async () => stored }));
    expect(await bench.issue(mcpServer(), { idempotencyKey })).toEqual({
      disposition: 'replayed',
      response: 'response',
    });
  });
});
