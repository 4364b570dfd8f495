import { newRevocationId, shardIn, systemEntropy } from '@postern/elicitation';
import { describe, expect, test } from 'vitest';
import { connect } from './connect.ts';
import { CROWD, crowd, suite } from './contract-stores.ts';
import {
  ask,
  complete,
  connectionFor,
  connectionIdFor,
  created,
  engage,
  MINUTE,
  moved,
  operation,
  renewed,
  shardFor,
  somebody,
} from './samples.ts';

/** ConnectionStore without refreshes: storing, listing, use and removal. */
export const describeConnectionStore = suite('connections', stores => {
  const connected = () => connect(stores, somebody());
  const read = ({ connectionId }: { connectionId: `cn_${string}` }) => stores.connections.read(connectionId);

  test('returns undefined for an unknown connection', async () => {
    expect(await read({ connectionId: connectionIdFor(somebody()) })).toBeUndefined();
  });

  test('a new token set gets a new generation and keeps the time of the first', async () => {
    const person = somebody();
    const { createdAt } = await connect(stores, person);
    stores.clock.advance(10_000);
    const second = await connect(stores, person, { sealedTokens: 'newer', scopes: ['gist', 'repo'] });
    expect(second).toEqual({
      ...connectionFor(person, second.elicitationId),
      sealedTokens: 'newer',
      scopes: ['gist', 'repo'],
      generation: 2,
      createdAt,
      updatedAt: stores.clock.now(),
    });
  });

  test('connecting again ends loss, lease and failures, and keeps the last use', async () => {
    const person = somebody();
    const current = await connect(stores, person);
    const { connectionId } = current;
    const use = { mcpServerId: 'issue-tracker', tool: 'create_issue' };
    await stores.connections.recordUse({ connectionId, use });
    await stores.connections.beginRefresh({ current, holder: 'one', leaseMs: MINUTE });
    await stores.connections.postponeRefresh({ current, holder: 'one', delayMs: MINUTE });
    await stores.connections.markLost({ current, reason: 'rejected' });
    const again = await connect(stores, person);
    expect(again).not.toHaveProperty('lost');
    expect(again).toMatchObject({ generation: 2, lastUse: { ...use, at: stores.clock.now() } });
    const begun = await stores.connections.beginRefresh({ current: again, holder: 'two', leaseMs: MINUTE });
    expect(begun).toEqual({ result: 'begun', connection: again, failures: 0, isUnfinished: false });
    // Even with the lease of a third caller.
    const third = await connect(stores, person);
    expect(await stores.connections.beginRefresh({ current: third, holder: 'three', leaseMs: MINUTE })).toMatchObject({
      result: 'begun',
    });
  });

  test('leaves absent optional members absent', async () => {
    const person = somebody();
    const {
      account: _,
      accessTokenExpiresAt: __,
      callbackMembers: ___,
      ...plain
    } = connectionFor(person, ask(person).elicitation.elicitationId);
    const active = await moved(stores.elicitations, await created(stores.elicitations, ask(person)), engage);
    await moved(stores.elicitations, active, { ...complete(active), putConnection: plain });
    const stored = await read(plain);
    for (const member of ['account', 'accessTokenExpiresAt', 'callbackMembers', 'resource', 'lost', 'lastUse'])
      expect(stored).not.toHaveProperty(member);
  });

  test('lists the connections of one subject only, of every owner, oldest first', async () => {
    const [person, other] = [somebody(), somebody()];
    const ids = async () => (await stores.connections.list(person)).map(({ connectionId }) => connectionId);
    const first = await connect(stores, person);
    stores.clock.advance(1);
    const shared = await connect(stores, person, connectionFor(person, first.elicitationId, 'group:office'));
    await connect(stores, other);
    expect(await ids()).toEqual([first.connectionId, shared.connectionId]);
    expect((await stores.connections.list(person))[0]).toEqual(first);
    await stores.connections.remove(first);
    expect(await ids()).toEqual([shared.connectionId]);
    expect(await stores.connections.list(somebody())).toEqual([]);
  });

  describe('use', () => {
    const use = { mcpServerId: 'issue-tracker', tool: 'create_issue' };

    test('recordUse stores the last use: its time, MCP server and tool', async () => {
      const connection = await connected();
      const { connectionId } = connection;
      const first = stores.clock.now();
      await stores.connections.recordUse({ connectionId, use });
      expect(await read(connection)).toEqual({ ...connection, lastUse: { ...use, at: first } });
      stores.clock.advance(1);
      for (const other of [
        { ...use, tool: 'close "issue"' },
        { mcpServerId: 'issue-tracker' },
        { mcpServerId: 'calendar' },
      ]) {
        await stores.connections.recordUse({ connectionId, use: other });
        expect((await read(connection))?.lastUse).toEqual({ ...other, at: first + 1 });
      }
    });

    test('writes the same use at most once a minute', async () => {
      const connection = await connected();
      const { connectionId } = connection;
      const at = stores.clock.now();
      await stores.connections.recordUse({ connectionId, use });
      stores.clock.advance(MINUTE - 1);
      await stores.connections.recordUse({ connectionId, use });
      expect((await read(connection))?.lastUse?.at).toBe(at);
      stores.clock.advance(1);
      await stores.connections.recordUse({ connectionId, use });
      expect((await read(connection))?.lastUse?.at).toBe(at + MINUTE);
    });

    test('the last use survives a refresh and a loss, and restores no removed connection', async () => {
      const connection = await connected();
      const { connectionId } = connection;
      await stores.connections.recordUse({ connectionId, use });
      const lastUse = { ...use, at: stores.clock.now() };
      const change = await stores.connections.finishRefresh({ current: connection, ...renewed() });
      expect(change).toMatchObject({ result: 'stored', connection: { lastUse } });
      if (change.result !== 'stored') throw new Error('Expected a token set.');
      await stores.connections.markLost({ current: change.connection, reason: 'refused' });
      expect(await read(connection)).toMatchObject({ lost: { reason: 'refused' }, lastUse });
      await stores.connections.remove({ connectionId });
      await stores.connections.recordUse({ connectionId, use });
      expect(await read(connection)).toBeUndefined();
      expect(await stores.connections.list(connection.subject)).toEqual([]);
    });
  });

  describe('removal', () => {
    test('a removal deletes and returns the connection; a second one finds nothing', async () => {
      const connection = await connected();
      const { connectionId } = connection;
      expect(await stores.connections.remove({ connectionId })).toEqual(connection);
      expect(await read(connection)).toBeUndefined();
      expect(await stores.connections.remove({ connectionId })).toBeUndefined();
      expect(await stores.revocations.claim(shardIn(connectionId), { limit: 100, leaseMs: MINUTE })).toEqual([]);
    });

    test('a removal adds a revocation that is due immediately', async () => {
      const person = somebody();
      const connection = await connect(stores, person);
      const revocationId = newRevocationId(shardFor(person), systemEntropy);
      expect(await stores.connections.remove({ ...connection, revocationId })).toEqual(connection);
      const { owner, subject, provider, account, elicitationId, sealedTokens } = connection;
      const left = { revocationId, owner, subject, provider, account, elicitationId, sealedTokens };
      const claimed = await stores.revocations.claim(shardFor(person), { limit: 100, leaseMs: MINUTE });
      expect(claimed).toEqual([{ ...left, createdAt: stores.clock.now(), attempts: 1 }]);
    });

    test('a removal revokes the stored tokens, not those that the caller read', async () => {
      const person = somebody();
      const connection = await connect(stores, person);
      await stores.connections.finishRefresh({ current: connection, ...renewed('newest') });
      const revocationId = newRevocationId(shardFor(person), systemEntropy);
      expect(await stores.connections.remove({ ...connection, revocationId })).toMatchObject({ generation: 2 });
      expect(await stores.revocations.claimOne(revocationId, MINUTE)).toMatchObject({ sealedTokens: 'newest' });
    });

    test('a removal with a time spares a connection that was made later', async () => {
      const person = somebody();
      const first = await connect(stores, person);
      const connectedUntil = first.createdAt;
      stores.clock.advance(1);
      await stores.connections.finishRefresh({ current: first, ...renewed() });
      expect(await stores.connections.remove({ ...first, connectedUntil })).toMatchObject({ generation: 2 });
      const second = await connect(stores, person);
      const revocationId = newRevocationId(shardFor(person), systemEntropy);
      expect(await stores.connections.remove({ ...second, revocationId, connectedUntil })).toBeUndefined();
      expect(await read(second)).toEqual(second);
      expect(await stores.revocations.claimOne(revocationId, MINUTE)).toBeUndefined();
    });

    test('removing an unknown connection adds no revocation', async () => {
      const person = somebody();
      const revocationId = newRevocationId(shardFor(person), systemEntropy);
      const connectionId = connectionIdFor(person);
      expect(await stores.connections.remove({ connectionId, revocationId })).toBeUndefined();
      expect(await stores.revocations.claimOne(revocationId, MINUTE)).toBeUndefined();
    });

    test('a removal with a revocation in another shard throws and removes nothing', async () => {
      const connection = await connected();
      const other = shardIn(connection.connectionId) === '00' ? '01' : '00';
      const revocationId = newRevocationId(other as typeof other & ReturnType<typeof shardFor>, systemEntropy);
      await expect(stores.connections.remove({ ...connection, revocationId })).rejects.toThrow(TypeError);
      expect(await read(connection)).toEqual(connection);
    });

    test('one of many concurrent removals returns the connection, and adds one revocation', async () => {
      const person = somebody();
      const connection = await connect(stores, person);
      const results = await crowd(() => {
        const revocationId = newRevocationId(shardFor(person), systemEntropy);
        return stores.connections.remove({ ...connection, revocationId });
      });
      expect(results.filter(result => result !== undefined)).toEqual([connection]);
      expect(await stores.revocations.claim(shardFor(person), { limit: CROWD, leaseMs: MINUTE })).toHaveLength(1);
    });

    test('a removal concurrent with a refresh revokes the newest tokens or rejects them', async () => {
      await crowd(async nth => {
        const person = somebody();
        const current = await connect(stores, person);
        const revocationId = newRevocationId(shardFor(person), systemEntropy);
        const refresh = () => stores.connections.finishRefresh({ current, ...renewed('newest') });
        const remove = () => stores.connections.remove({ ...current, revocationId });
        const [first, second] = nth % 2 === 0 ? [refresh(), remove()] : [remove(), refresh()];
        const results = await Promise.all([first, second]);
        const change = results.find(result => result !== undefined && 'result' in result);
        const revocation = await stores.revocations.claimOne(revocationId, MINUTE);
        expect(await read(current)).toBeUndefined();
        const outcome = `${change?.result} ${revocation?.sealedTokens}`;
        expect(['stored newest', 'missing sealed-tokens']).toContain(outcome);
      });
    });

    test('a later connection starts in generation 1', async () => {
      const person = somebody();
      const first = await connect(stores, person);
      await stores.connections.recordUse({ ...first, use: { mcpServerId: 'issue-tracker' } });
      await stores.connections.remove(first);
      stores.clock.advance(1);
      const second = await connect(stores, person);
      expect(second).toMatchObject({
        connectionId: first.connectionId,
        generation: 1,
        createdAt: stores.clock.now(),
      });
      expect(second).not.toHaveProperty('lastUse');
    });
  });

  test('a repeated completion does not restore a connection that was removed since', async () => {
    const person = somebody();
    const active = await moved(stores.elicitations, await created(stores.elicitations, ask(person)), engage);
    const move = { current: active, operationId: operation(), ...complete(active) };
    await stores.elicitations.transition(move);
    const connectionId = connectionIdFor(person);
    await stores.connections.remove({ connectionId });
    expect(await stores.elicitations.transition(move)).toMatchObject({ result: 'applied' });
    expect(await stores.connections.read(connectionId)).toBeUndefined();
  });
});
