import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ContractStores, MakeStores } from './contract-stores.ts';
import { ask, complete, connectionFor, created, engage, moved, operation, somebody } from './samples.ts';

export function describeConnectionStore(name: string, makeStores: MakeStores): void {
  describe(`${name}: connections`, () => {
    let stores: ContractStores;
    beforeAll(async () => {
      stores = await makeStores();
    });
    afterAll(() => stores[Symbol.asyncDispose]());

    /** Connects a person for an owner, replacing the connection that is there. */
    async function connect(subject: ReturnType<typeof somebody>, owner = 'issue-tracker', change = {}) {
      const request = ask(subject, { coalescingDigest: operation(), connectionId: unconnectedId() });
      const active = await moved(stores.elicitations, await created(stores.elicitations, request), engage);
      const connection = { ...connectionFor(subject, active.elicitationId, owner), ...change };
      await moved(stores.elicitations, active, { ...complete(active), putConnection: connection });
      return connection;

      // Same shard, but nothing is connected there: the ask never meets the connection of an earlier call.
      function unconnectedId() {
        return ask(subject).connectionId.replace(/.$/, last => (last === 'A' ? 'B' : 'A')) as `cn_${string}`;
      }
    }

    test('an unknown connection reads as nothing', async () => {
      expect(await stores.connections.read(ask(somebody()).connectionId)).toBeUndefined();
    });

    test('a new token set is a new generation and keeps the time of the first', async () => {
      const person = somebody();
      const { connectionId } = await connect(person);
      const createdAt = stores.clock.now();
      stores.clock.advance(10_000);
      const second = await connect(person, 'issue-tracker', { sealedTokens: 'newer', scopes: ['gist', 'repo'] });
      expect(await stores.connections.read(connectionId)).toEqual({
        ...second,
        layout: 1,
        generation: 2,
        createdAt,
        updatedAt: stores.clock.now(),
      });
    });

    test('what is optional and absent stays absent', async () => {
      const person = somebody();
      const {
        account: _,
        accessTokenExpiresAt: __,
        ...plain
      } = connectionFor(person, ask(person).elicitation.elicitationId);
      const active = await moved(stores.elicitations, await created(stores.elicitations, ask(person)), engage);
      await moved(stores.elicitations, active, { ...complete(active), putConnection: plain });
      const stored = await stores.connections.read(plain.connectionId);
      expect(stored).not.toHaveProperty('account');
      expect(stored).not.toHaveProperty('accessTokenExpiresAt');
    });

    test('lists the connections of one subject only, of every owner, oldest first', async () => {
      const [person, other] = [somebody(), somebody()];
      const mine = await connect(person);
      stores.clock.advance(1);
      const shared = await connect(person, 'group:office');
      await connect(other);
      const listed = await stores.connections.list(person);
      expect(listed.map(({ connectionId }) => connectionId)).toEqual([mine.connectionId, shared.connectionId]);
      expect(listed[0]).toEqual(await stores.connections.read(mine.connectionId));
      expect(await stores.connections.list(somebody())).toEqual([]);
    });
  });
}
