import {
  type BeginRefresh,
  type Connection,
  newRevocationId,
  systemEntropy,
  type TokenSetOf,
} from '@postern/elicitation';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connect } from './connect.ts';
import { type ContractStores, CROWD, crowd, type MakeStores } from './contract-stores.ts';
import { connectionFor, connectionIdFor, MINUTE, operation, renewed, shardFor, somebody } from './samples.ts';

const LEASE_MS = 15_000;

/** The refresh of a token set: one caller at a time, nothing that was issued gets lost, nothing old comes back. */
export function describeRefresh(name: string, makeStores: MakeStores): void {
  describe(`${name}: refresh`, () => {
    let stores: ContractStores;
    beforeAll(async () => {
      stores = await makeStores();
    });
    afterAll(() => stores[Symbol.asyncDispose]());

    const connected = () => connect(stores, somebody());
    const read = ({ connectionId }: Pick<Connection, 'connectionId'>) => stores.connections.read(connectionId);
    const begin = (current: TokenSetOf, holder = operation(), leaseMs = LEASE_MS) =>
      stores.connections.beginRefresh({ current, holder, leaseMs });
    const finish = (current: TokenSetOf, ...of: Parameters<typeof renewed>) =>
      stores.connections.finishRefresh({ current, ...renewed(...of) });
    const postpone = (current: TokenSetOf, holder: string, delayMs: number) =>
      stores.connections.postponeRefresh({ current, holder, delayMs });

    async function finished(current: TokenSetOf, ...of: Parameters<typeof renewed>): Promise<Connection> {
      const change = await finish(current, ...of);
      if (change.result !== 'stored') throw new Error(`Expected the tokens to be stored, got ${change.result}.`);
      return change.connection;
    }

    /** The same id, connected anew after it was removed. */
    async function reconnected({ subject, connectionId }: Connection): Promise<Connection> {
      await stores.connections.remove({ connectionId });
      stores.clock.advance(1);
      return connect(stores, subject);
    }

    describe('the lease', () => {
      test('is given with the connection as it stands', async () => {
        const connection = await connected();
        expect(await begin(connection)).toEqual({ result: 'begun', connection, troubles: 0 });
        expect(await read(connection)).toEqual(connection);
      });

      test('of many at once one begins, and the others know when to come back', async () => {
        const connection = await connected();
        const results = await crowd(() => begin(connection));
        expect(results.filter(({ result }) => result === 'begun')).toHaveLength(1);
        const others = results.filter(({ result }) => result !== 'begun');
        expect(others).toEqual(others.map((): BeginRefresh => ({ result: 'held', retryAfterMs: LEASE_MS })));
        expect(others).toHaveLength(CROWD - 1);
      });

      test('is for its holder to begin again, from now on', async () => {
        const connection = await connected();
        await begin(connection, 'one');
        stores.clock.advance(LEASE_MS - 1);
        expect(await begin(connection, 'one')).toMatchObject({ result: 'begun' });
        stores.clock.advance(1);
        expect(await begin(connection, 'two')).toEqual({ result: 'held', retryAfterMs: LEASE_MS - 1 });
      });

      test('is over on the clock of the store; of many who wait for that, one begins', async () => {
        const connection = await connected();
        await begin(connection, 'one');
        stores.clock.advance(LEASE_MS - 1);
        expect(await begin(connection, 'two')).toEqual({ result: 'held', retryAfterMs: 1 });
        stores.clock.advance(1);
        const results = await crowd(() => begin(connection));
        expect(results.filter(({ result }) => result === 'begun')).toHaveLength(1);
        expect(await begin(connection, 'one')).toMatchObject({ result: 'held' });
      });

      test('is not given for what is there no more', async () => {
        const first = await connected();
        const second = await finished(first);
        expect(await begin(first)).toEqual({ result: 'superseded', connection: second });
        expect(await begin({ ...second, generation: 3 })).toEqual({ result: 'superseded', connection: second });
        const connectionId = connectionIdFor(somebody());
        expect(await begin({ ...first, connectionId })).toEqual({ result: 'missing' });
      });

      test('is not given for what is lost', async () => {
        const current = await connected();
        const lost = await stores.connections.markLost({ current, reason: 'refused' });
        expect(lost).toMatchObject({ result: 'stored' });
        expect(await begin(current)).toEqual({ ...lost, result: 'superseded' });
      });

      test('is not given for an earlier connection of the same id and generation', async () => {
        const first = await connected();
        const second = await reconnected(first);
        expect(second.generation).toBe(first.generation);
        expect(await begin(first)).toEqual({ result: 'missing' });
        expect(await begin(second)).toMatchObject({ result: 'begun' });
      });

      test('holders with any name are told apart', async () => {
        const connection = await connected();
        for (const holder of ['a b', 'a', '1 a b', 'a b\n', '']) {
          expect(await begin(connection, holder)).toMatchObject({ result: 'begun' });
          expect(await begin(connection, `${holder}.`)).toMatchObject({ result: 'held' });
          stores.clock.advance(LEASE_MS);
        }
      });
    });

    describe('finishing', () => {
      test('stores the next token set and ends the lease', async () => {
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
        expect(await begin(stored, 'two')).toMatchObject({ result: 'begun', troubles: 0 });
      });

      test('keeps nothing of the old token set: an end that is not named again is none', async () => {
        const connection = await connected();
        expect(connection).toHaveProperty('accessTokenExpiresAt');
        const tokens = { sealedTokens: 'newer', scopes: [], refreshable: true };
        await stores.connections.finishRefresh({ current: connection, tokens, operationId: operation() });
        const stored = await read(connection);
        expect(stored).not.toHaveProperty('accessTokenExpiresAt');
        expect(stored).toMatchObject({ scopes: [], account: connection.account });
      });

      test('repeated under its operation changes nothing and succeeds, also when it is lost by then', async () => {
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

      test('comes through after the lease ended, even if another has begun meanwhile', async () => {
        const connection = await connected();
        await begin(connection, 'slow');
        stores.clock.advance(LEASE_MS);
        expect(await begin(connection, 'next')).toMatchObject({ result: 'begun' });
        const stored = await finished(connection, 'of the slow one');
        expect(await read(connection)).toEqual(stored);
        // The next one is too late: its refresh token was not the newest.
        expect(await finish(connection, 'of the next one')).toEqual({ result: 'superseded', connection: stored });
        expect(await read(connection)).toEqual(stored);
      });

      test('of many at once one is stored', async () => {
        const connection = await connected();
        const results = await crowd(nth => finish(connection, `tokens-${nth}`));
        const [stored, ...others] = results.filter(({ result }) => result === 'stored');
        expect(others).toEqual([]);
        expect(await read(connection)).toEqual(stored && 'connection' in stored ? stored.connection : undefined);
        for (const result of results.filter(result => result !== stored))
          expect(result).toEqual({ ...stored, result: 'superseded' });
      });

      test('brings nothing back that was removed', async () => {
        const connection = await connected();
        await stores.connections.remove(connection);
        expect(await finish(connection)).toEqual({ result: 'missing' });
        expect(await read(connection)).toBeUndefined();
        expect(await stores.connections.list(connection.subject)).toEqual([]);
      });

      test('does not touch a later connection of the same id and generation', async () => {
        const first = await connected();
        const second = await reconnected(first);
        expect(await finish(first)).toEqual({ result: 'missing' });
        expect(await read(first)).toEqual(second);
      });

      test('does not touch what its person has connected meanwhile', async () => {
        const first = await connected();
        await begin(first);
        const second = await connect(stores, first.subject, { sealedTokens: 'by the person' });
        expect(await finish(first)).toEqual({ result: 'superseded', connection: second });
        expect(await read(first)).toEqual(second);
      });
    });

    describe('trouble at the provider', () => {
      test('holds everybody off for a while, and is counted', async () => {
        const connection = await connected();
        for (const troubles of [1, 2, 3]) {
          const holder = operation();
          expect(await begin(connection, holder)).toMatchObject({ result: 'begun', troubles: troubles - 1 });
          await postpone(connection, holder, MINUTE);
          expect(await begin(connection, holder)).toEqual({ result: 'postponed', retryAfterMs: MINUTE });
          stores.clock.advance(MINUTE - 1);
          expect(await begin(connection)).toEqual({ result: 'postponed', retryAfterMs: 1 });
          stores.clock.advance(1);
        }
        expect(await read(connection)).toEqual(connection);
        const results = await crowd(() => begin(connection));
        expect(results.filter(({ result }) => result === 'begun')).toMatchObject([{ troubles: 3 }]);
      });

      test('is forgotten with the next token set', async () => {
        const connection = await connected();
        await begin(connection, 'one');
        await postpone(connection, 'one', MINUTE);
        const next = await finished(connection);
        expect(await begin(next)).toEqual({ result: 'begun', connection: next, troubles: 0 });
      });

      test('is reported by the last holder only, once, and also after its lease ended', async () => {
        const connection = await connected();
        await postpone(connection, 'nobody', MINUTE);
        await begin(connection, 'one');
        await postpone(connection, 'another', MINUTE);
        expect(await begin(connection, 'two')).toMatchObject({ result: 'held' });
        stores.clock.advance(LEASE_MS);
        await postpone(connection, 'one', MINUTE);
        await postpone(connection, 'one', 2 * MINUTE);
        expect(await begin(connection, 'two')).toEqual({ result: 'postponed', retryAfterMs: MINUTE });
        stores.clock.advance(MINUTE);
        expect(await begin(connection, 'two')).toMatchObject({ result: 'begun', troubles: 1 });
        await postpone(connection, 'one', MINUTE);
        expect(await begin(connection, 'two')).toMatchObject({ result: 'begun' });
      });

      test('of an earlier token set does not hold up a later one', async () => {
        const first = await connected();
        await begin(first, 'one');
        const second = await finished(first);
        await begin(second, 'one');
        await postpone(first, 'one', MINUTE);
        await postpone({ ...second, createdAt: second.createdAt - 1 }, 'one', MINUTE);
        expect(await begin(second, 'one')).toMatchObject({ result: 'begun', troubles: 0 });
      });
    });

    describe('loss', () => {
      test('marks this token set; repeating it changes nothing', async () => {
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

      test('never marks another token set', async () => {
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

      test('is undone by tokens that come late: what was issued is kept', async () => {
        const current = await connected();
        await stores.connections.markLost({ current, reason: 'refused' });
        const stored = await finished(current, 'newest');
        expect(stored).not.toHaveProperty('lost');
        expect(await read(current)).toEqual(stored);
      });

      test('against tokens that come at the same time: they are kept, whatever the order', async () => {
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
        { what: 'trouble', change: current => postpone(current, 'one', MINUTE) },
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
      test.each(changes)('are woken by $what', async ({ change }) => {
        const person = somebody();
        using watch = stores.notifier.watch(connectionIdFor(person));
        const current = await connect(stores, person);
        // The one announcement there was; from here on only the change can end the wait.
        await watch.next(FOREVER);
        await begin(current, 'one');
        const waiting = watch.next(FOREVER);
        await change(current);
        await waiting;
      });
    });

    test('a refresh of one connection leaves the others of the person alone', async () => {
      const first = await connected();
      const other = await connect(
        stores,
        first.subject,
        connectionFor(first.subject, first.elicitationId, 'group:office'),
      );
      await begin(first);
      await finished(first);
      expect(await begin(other)).toEqual({ result: 'begun', connection: other, troubles: 0 });
    });
  });
}
