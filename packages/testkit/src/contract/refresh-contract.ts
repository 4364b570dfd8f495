import {
  type BeginRefresh,
  type Connection,
  newRevocationId,
  systemEntropy,
  type TokenSetOf,
} from '@postern/elicitation';
import { describe, expect, test } from 'vitest';
import { connect } from './connect.ts';
import { CROWD, crowd, suite } from './contract-stores.ts';
import { connectionFor, connectionIdFor, MINUTE, operation, renewed, shardFor, somebody } from './samples.ts';

const LEASE_MS = 15_000;

/** The refresh of a token set: one caller at a time, no issued token is lost, and no old token is restored. */
export const describeRefresh = suite('refresh', stores => {
  const connected = () => connect(stores, somebody());
  const read = ({ connectionId }: Pick<Connection, 'connectionId'>) => stores.connections.read(connectionId);
  const begin = (current: TokenSetOf, holder = operation(), of: { leaseMs?: number; goneHolder?: string } = {}) =>
    stores.connections.beginRefresh({ current, holder, leaseMs: LEASE_MS, ...of });
  const finish = (current: TokenSetOf, ...of: Parameters<typeof renewed>) =>
    stores.connections.finishRefresh({ current, ...renewed(...of) });
  const postpone = (current: TokenSetOf, holder: string, delayMs: number) =>
    stores.connections.postponeRefresh({ current, holder, delayMs });
  /** A refresh that the provider refuses, at once due again. */
  async function refuse(current: TokenSetOf) {
    const holder = operation();
    expect(await begin(current, holder)).toMatchObject({ result: 'begun' });
    return stores.connections.postponeRefresh({ current, holder, delayMs: 0, isRefusal: true });
  }

  async function finished(current: TokenSetOf, ...of: Parameters<typeof renewed>): Promise<Connection> {
    const change = await finish(current, ...of);
    if (change.result !== 'stored') throw new Error(`Expected the tokens to be stored, got ${change.result}.`);
    return change.connection;
  }

  /** Reconnects the same id after its removal. */
  async function reconnected({ subject, connectionId }: Connection): Promise<Connection> {
    await stores.connections.remove({ connectionId });
    stores.clock.advance(1);
    return connect(stores, subject);
  }

  describe('the lease', () => {
    test('the lease is granted with the current connection', async () => {
      const connection = await connected();
      expect(await begin(connection)).toEqual({ result: 'begun', connection, failures: 0, isUnfinished: false });
      expect(await read(connection)).toEqual(connection);
    });

    test('the lease is granted to one of many concurrent callers, and the others learn when to retry', async () => {
      const connection = await connected();
      const results = await crowd(() => begin(connection));
      expect(results.filter(({ result }) => result === 'begun')).toHaveLength(1);
      const others = results.filter(({ result }) => result !== 'begun');
      const held: BeginRefresh = { result: 'held', retryAfterMs: LEASE_MS, holder: expect.any(String) };
      expect(others).toEqual(others.map(() => held));
      expect(others).toHaveLength(CROWD - 1);
    });

    test('the holder can take the lease again', async () => {
      const connection = await connected();
      await begin(connection, 'one');
      stores.clock.advance(LEASE_MS - 1);
      expect(await begin(connection, 'one')).toMatchObject({ result: 'begun' });
      stores.clock.advance(1);
      expect(await begin(connection, 'two')).toEqual({ result: 'held', retryAfterMs: LEASE_MS - 1, holder: 'one' });
    });

    test('the lease expires on the clock of the store; one of many waiting callers then gets it', async () => {
      const connection = await connected();
      await begin(connection, 'one');
      stores.clock.advance(LEASE_MS - 1);
      expect(await begin(connection, 'two')).toEqual({ result: 'held', retryAfterMs: 1, holder: 'one' });
      stores.clock.advance(1);
      const results = await crowd(() => begin(connection));
      expect(results.filter(({ result }) => result === 'begun')).toHaveLength(1);
      expect(await begin(connection, 'one')).toMatchObject({ result: 'held' });
    });

    test('no lease is granted for a removed connection', async () => {
      const first = await connected();
      const second = await finished(first);
      expect(await begin(first)).toEqual({ result: 'superseded', connection: second });
      expect(await begin({ ...second, generation: 3 })).toEqual({ result: 'superseded', connection: second });
      const connectionId = connectionIdFor(somebody());
      expect(await begin({ ...first, connectionId })).toEqual({ result: 'missing' });
    });

    test('no lease is granted for a lost token set', async () => {
      const current = await connected();
      const lost = await stores.connections.markLost({ current, reason: 'refused' });
      expect(lost).toMatchObject({ result: 'stored' });
      expect(await begin(current)).toEqual({ ...lost, result: 'superseded' });
    });

    test('no lease is granted for an earlier connection of the same id and generation', async () => {
      const first = await connected();
      const second = await reconnected(first);
      expect(second.generation).toBe(first.generation);
      expect(await begin(first)).toEqual({ result: 'missing' });
      expect(await begin(second)).toMatchObject({ result: 'begun' });
    });

    test('the lease distinguishes holders with any name', async () => {
      const connection = await connected();
      for (const holder of ['a b', 'a', '1 a b', 'a b\n', '']) {
        expect(await begin(connection, holder)).toMatchObject({ result: 'begun' });
        expect(await begin(connection, `${holder}.`)).toMatchObject({ result: 'held' });
        stores.clock.advance(LEASE_MS);
      }
    });
  });

  describe('the lease of a holder that is gone', () => {
    test('is free before its end for a caller that names the holder, and only then', async () => {
      const connection = await connected();
      await begin(connection, 'rp_1 one');
      for (const goneHolder of ['rp_1', 'one', 'another', ''])
        expect(await begin(connection, 'two', { goneHolder })).toMatchObject({ result: 'held', holder: 'rp_1 one' });
      const results = await crowd(() => begin(connection, operation(), { goneHolder: 'rp_1 one' }));
      expect(results.filter(({ result }) => result === 'begun')).toMatchObject([{ isUnfinished: false }]);
      expect(results.filter(({ result }) => result === 'held')).toHaveLength(CROWD - 1);
    });

    test('marks the token set as unfinished once it has expired, until the next token set', async () => {
      const connection = await connected();
      await begin(connection, 'one');
      stores.clock.advance(LEASE_MS);
      expect(await begin(connection, 'two')).toMatchObject({ result: 'begun', isUnfinished: true });
      await postpone(connection, 'two', 0);
      expect(await begin(connection, 'two')).toMatchObject({ result: 'begun', isUnfinished: true });
      const next = await finished(connection);
      expect(await begin(next)).toMatchObject({ result: 'begun', isUnfinished: false });
    });
  });

  describe('finishing', () => {
    test('finishing stores the next token set and releases the lease', async () => {
      const connection = await connected();
      await begin(connection, 'one');
      stores.clock.advance(1_000);
      const { tokens, operationId } = renewed('newer', { scopes: ['gist', 'repo'], refreshable: false });
      const stored = {
        ...connection,
        ...tokens,
        generation: 2,
        updatedAt: stores.clock.now(),
      };
      expect(await stores.connections.finishRefresh({ current: connection, tokens, operationId })).toEqual({
        result: 'stored',
        connection: stored,
      });
      expect(await read(connection)).toEqual(stored);
      expect(await begin(stored, 'two')).toMatchObject({ result: 'begun', failures: 0 });
    });

    test('finishing keeps no member of the old token set, not even its expiry', async () => {
      const connection = await connected();
      expect(connection).toHaveProperty('accessTokenExpiresAt');
      const tokens = { sealedTokens: 'newer', scopes: [], refreshable: true };
      await stores.connections.finishRefresh({ current: connection, tokens, operationId: operation() });
      const stored = await read(connection);
      expect(stored).not.toHaveProperty('accessTokenExpiresAt');
      expect(stored).toMatchObject({ scopes: [], account: connection.account });
    });

    test('finishing again under its operation succeeds without a change, even after a loss', async () => {
      const current = await connected();
      const refresh = { current, ...renewed() };
      const first = await stores.connections.finishRefresh(refresh);
      if (first.result !== 'stored') throw new Error('Expected a token set.');
      stores.clock.advance(1_000);
      expect(await stores.connections.finishRefresh(refresh)).toEqual(first);
      await stores.connections.markLost({ current: first.connection, reason: 'refused' });
      expect(await stores.connections.finishRefresh(refresh)).toMatchObject({
        result: 'stored',
        connection: { generation: 2, lost: { reason: 'refused' } },
      });
      const third = await finished(first.connection);
      expect(await stores.connections.finishRefresh(refresh)).toEqual({ result: 'superseded', connection: third });
    });

    test('finishing succeeds after the lease expired, even if another caller has started a refresh', async () => {
      const connection = await connected();
      await begin(connection, 'slow');
      stores.clock.advance(LEASE_MS);
      expect(await begin(connection, 'next')).toMatchObject({ result: 'begun' });
      const stored = await finished(connection, 'of the slow one');
      expect(await read(connection)).toEqual(stored);
      // The next caller is too late: its refresh token was not the newest.
      expect(await finish(connection, 'of the next one')).toEqual({ result: 'superseded', connection: stored });
      expect(await read(connection)).toEqual(stored);
    });

    test('finishing stores one of many concurrent token sets', async () => {
      const connection = await connected();
      const results = await crowd(nth => finish(connection, `tokens-${nth}`));
      const [stored, ...others] = results.filter(({ result }) => result === 'stored');
      expect(others).toEqual([]);
      expect(await read(connection)).toEqual(stored && 'connection' in stored ? stored.connection : undefined);
      for (const result of results.filter(result => result !== stored))
        expect(result).toEqual({ ...stored, result: 'superseded' });
    });

    test('finishing restores no removed connection', async () => {
      const connection = await connected();
      await stores.connections.remove(connection);
      expect(await finish(connection)).toEqual({ result: 'missing' });
      expect(await read(connection)).toBeUndefined();
      expect(await stores.connections.list(connection.subject)).toEqual([]);
    });

    test('finishing leaves a later connection of the same id and generation unchanged', async () => {
      const first = await connected();
      const second = await reconnected(first);
      expect(await finish(first)).toEqual({ result: 'missing' });
      expect(await read(first)).toEqual(second);
    });

    test('does not change a connection that the user has replaced meanwhile', async () => {
      const first = await connected();
      await begin(first);
      const second = await connect(stores, first.subject, { sealedTokens: 'by the person' });
      expect(await finish(first)).toEqual({ result: 'superseded', connection: second });
      expect(await read(first)).toEqual(second);
    });
  });

  describe('a failure of the provider', () => {
    test('a failure postpones the next refresh for all callers, and is counted', async () => {
      const connection = await connected();
      for (const failures of [1, 2, 3]) {
        const holder = operation();
        expect(await begin(connection, holder)).toMatchObject({ result: 'begun', failures: failures - 1 });
        await postpone(connection, holder, MINUTE);
        expect(await begin(connection, holder)).toEqual({ result: 'postponed', retryAfterMs: MINUTE });
        stores.clock.advance(MINUTE - 1);
        expect(await begin(connection)).toEqual({ result: 'postponed', retryAfterMs: 1 });
        stores.clock.advance(1);
      }
      expect(await read(connection)).toEqual(connection);
      const results = await crowd(() => begin(connection));
      expect(results.filter(({ result }) => result === 'begun')).toMatchObject([{ failures: 3 }]);
    });

    test('the next token set clears the back-off', async () => {
      const connection = await connected();
      await begin(connection, 'one');
      await postpone(connection, 'one', MINUTE);
      const next = await finished(connection);
      expect(await begin(next)).toEqual({ result: 'begun', connection: next, failures: 0, isUnfinished: false });
    });

    test('a failure is accepted only from the last holder, once, even after its lease expired', async () => {
      const connection = await connected();
      await postpone(connection, 'stranger', MINUTE);
      await begin(connection, 'one');
      await postpone(connection, 'another', MINUTE);
      expect(await begin(connection, 'two')).toMatchObject({ result: 'held' });
      stores.clock.advance(LEASE_MS);
      await postpone(connection, 'one', MINUTE);
      await postpone(connection, 'one', 2 * MINUTE);
      expect(await begin(connection, 'two')).toEqual({ result: 'postponed', retryAfterMs: MINUTE });
      stores.clock.advance(MINUTE);
      expect(await begin(connection, 'two')).toMatchObject({ result: 'begun', failures: 1 });
      await postpone(connection, 'one', MINUTE);
      expect(await begin(connection, 'two')).toMatchObject({ result: 'begun' });
    });

    test('a failure with an earlier token set does not postpone the refresh of a later one', async () => {
      const first = await connected();
      await begin(first, 'one');
      const second = await finished(first);
      await begin(second, 'one');
      await postpone(first, 'one', MINUTE);
      await postpone({ ...second, createdAt: second.createdAt - 1 }, 'one', MINUTE);
      expect(await begin(second, 'one')).toMatchObject({ result: 'begun', failures: 0 });
    });
  });

  describe('refusals of the provider', () => {
    test('are counted with their time in the commit that postpones, and are returned to all callers', async () => {
      const connection = await connected();
      const firstAt = stores.clock.now();
      expect(await refuse(connection)).toEqual({ count: 1, firstAt, lastAt: firstAt, isLatest: true });
      stores.clock.advance(MINUTE);
      await begin(connection, 'one');
      const failed = { count: 1, firstAt, lastAt: firstAt, isLatest: false };
      expect(await stores.connections.postponeRefresh({ current: connection, holder: 'one', delayMs: 0 })).toEqual(
        failed,
      );
      stores.clock.advance(MINUTE);
      await begin(connection, 'two');
      const again = { current: connection, holder: 'two', delayMs: MINUTE, isRefusal: true };
      const refusals = { count: 2, firstAt, lastAt: firstAt + 2 * MINUTE, isLatest: true };
      expect(await stores.connections.postponeRefresh(again)).toEqual(refusals);
      // Its repeat counts nothing.
      expect(await stores.connections.postponeRefresh(again)).toEqual(refusals);
      expect(await begin(connection)).toEqual({ result: 'postponed', retryAfterMs: MINUTE, refusals });
    });

    test('are those of one token set', async () => {
      const first = await connected();
      await refuse(first);
      const second = await finished(first);
      expect(await stores.connections.postponeRefresh({ current: first, holder: 'late', delayMs: 0 })).toBeUndefined();
      await begin(second, 'one');
      await postpone(second, 'one', MINUTE);
      expect(await begin(second)).toEqual({ result: 'postponed', retryAfterMs: MINUTE });
    });

    test('end when the user connects again', async () => {
      const first = await connected();
      await refuse(first);
      const second = await connect(stores, first.subject);
      await begin(second, 'one');
      await postpone(second, 'one', MINUTE);
      expect(await begin(second)).toEqual({ result: 'postponed', retryAfterMs: MINUTE });
    });
  });

  test('keeps whether the refresh token rotates, until a refresh shows otherwise', async () => {
    const first = await connected();
    expect(first).not.toHaveProperty('rotates');
    const store = async (current: TokenSetOf, rotates: { rotates?: boolean }) => {
      const { tokens, operationId } = renewed();
      await stores.connections.finishRefresh({ current, tokens: { ...tokens, ...rotates }, operationId });
      const stored = await read(first);
      if (stored === undefined) throw new Error('not connected');
      return stored;
    };
    const second = await store(first, { rotates: false });
    expect(second.rotates).toBe(false);
    const third = await store(second, {});
    expect(third.rotates).toBe(false);
    expect((await store(third, { rotates: true })).rotates).toBe(true);
  });

  describe('loss', () => {
    test('markLost marks this token set; a repeat changes nothing', async () => {
      const current = await connected();
      await begin(current);
      stores.clock.advance(1_000);
      const lost = { ...current, lost: { reason: 'refused', at: stores.clock.now() } };
      const stored = { result: 'stored', connection: lost };
      expect(await stores.connections.markLost({ current, reason: 'refused' })).toEqual(stored);
      stores.clock.advance(1_000);
      expect(await stores.connections.markLost({ current, reason: 'rejected' })).toEqual(stored);
      expect(await read(current)).toEqual(lost);
      expect(await stores.connections.list(current.subject)).toEqual([lost]);
    });

    test('markLost never marks another token set', async () => {
      const first = await connected();
      const second = await finished(first);
      const superseded = await stores.connections.markLost({ current: first, reason: 'rejected' });
      expect(superseded).toEqual({ result: 'superseded', connection: second });
      const third = await reconnected(second);
      for (const current of [first, second])
        expect(await stores.connections.markLost({ current, reason: 'rejected' })).toEqual({ result: 'missing' });
      expect(await read(first)).toEqual(third);
      const gone = { ...first, connectionId: connectionIdFor(somebody()) };
      expect(await stores.connections.markLost({ current: gone, reason: 'refused' })).toEqual({ result: 'missing' });
    });

    test('tokens that arrive later undo the loss, because issued tokens are kept', async () => {
      const current = await connected();
      await stores.connections.markLost({ current, reason: 'refused' });
      const stored = await finished(current, 'newest');
      expect(stored).not.toHaveProperty('lost');
      expect(await read(current)).toEqual(stored);
    });

    test('a loss concurrent with new tokens keeps the tokens in any order', async () => {
      await crowd(async nth => {
        const current = await connected();
        const lose = () => stores.connections.markLost({ current, reason: 'refused' });
        const refresh = () => finish(current, 'newest');
        const results = await Promise.all(nth % 2 === 0 ? [refresh(), lose()] : [lose(), refresh()]);
        expect(nth % 2 === 0 ? results[0] : results[1]).toMatchObject({ result: 'stored' });
        const stored = await read(current);
        expect(stored).toMatchObject({ generation: 2, sealedTokens: 'newest' });
        expect(stored).not.toHaveProperty('lost');
      });
    });
  });

  describe('waiting callers', () => {
    const FOREVER = 10 * MINUTE;
    const changes: { what: string; change: (current: Connection) => Promise<unknown> }[] = [
      { what: 'the next token set', change: current => finish(current) },
      { what: 'a failure', change: current => postpone(current, 'one', MINUTE) },
      { what: 'the loss', change: current => stores.connections.markLost({ current, reason: 'refused' }) },
      { what: 'the removal', change: current => stores.connections.remove(current) },
      {
        what: 'the removal with a revocation',
        change: current => {
          const revocationId = newRevocationId(shardFor(current.subject), systemEntropy);
          return stores.connections.remove({ ...current, revocationId });
        },
      },
      { what: 'connecting again', change: ({ subject }) => connect(stores, subject) },
    ];
    test.each(changes)('waiting callers are woken by $what', async ({ change }) => {
      const person = somebody();
      using watch = stores.notifier.watch(connectionIdFor(person));
      const current = await connect(stores, person);
      // The only earlier wake-up. From here on only the change can end the wait.
      await watch.next(FOREVER);
      await begin(current, 'one');
      const waiting = watch.next(FOREVER);
      await change(current);
      await waiting;
    });
  });

  test('a refresh does not change the other connections of the user', async () => {
    const first = await connected();
    const other = await connect(
      stores,
      first.subject,
      connectionFor(first.subject, first.elicitationId, 'group:office'),
    );
    await begin(first);
    await finished(first);
    expect(await begin(other)).toEqual({ result: 'begun', connection: other, failures: 0, isUnfinished: false });
  });
});
