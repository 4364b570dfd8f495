import { AuthorizationError, type Provider } from '@postern/authorization';
import { shardOf } from '@postern/elicitation';
import { describe, expect, it } from 'vitest';
import { createFlowStage } from '../testing/flow-stage.ts';
import { createDisconnection } from './disconnection.ts';

function setUp(provider: Partial<Pick<Provider, 'revocationReach' | 'isRevocable'>> = {}) {
  const told: string[] = [];
  const fate = { isAway: false };
  const stage = createFlowStage({
    revocationReach: 'token',
    isRevocable: true,
    revoke: async ({ accessToken }) => {
      if (fate.isAway) throw new AuthorizationError('provider_unavailable');
      told.push(accessToken);
      return 'revoked';
    },
    ...provider,
  } satisfies Partial<Provider>);
  const { disconnect, outlook } = createDisconnection(stage);
  return {
    ...stage,
    ...{ told, fate, disconnect, outlook },
    due: () => stage.revocationFlow.due(shardOf(stage.subject)),
  };
}

describe('disconnecting', () => {
  it('removes the connection and tells the provider', async () => {
    const { connect, disconnect, outlook, stores, told, eventsNamed } = setUp();
    const connection = await connect();
    expect(await outlook(connection)).toBe('revoke');
    expect(await disconnect(connection, 'person')).toBe('revoked');
    expect(told).toEqual(['access-token-1']);
    expect(await stores.connections.read(connection.connectionId)).toBeUndefined();
    expect(eventsNamed('connection.disconnected')).toMatchObject([{ by: 'person' }]);
    await expect(disconnect(connection, 'person')).rejects.toMatchObject({ code: 'not_found' });
  });

  it('is done here whatever becomes of it there', async () => {
    const { connect, disconnect, fate, stores } = setUp();
    const connection = await connect();
    fate.isAway = true;
    expect(await disconnect(connection, { mcpServerId: 'issue-tracker' })).toBe('pending');
    expect(await stores.connections.read(connection.connectionId)).toBeUndefined();
  });

  it('does not fail when the store goes away after it was removed', async () => {
    const { connect, disconnect, due, losesNext, revocationFlow, stores, told } = setUp();
    const connection = await connect();
    losesNext(stores.revocations, 'claimOne');
    expect(await disconnect(connection, 'person')).toBe('pending');
    expect(await stores.connections.read(connection.connectionId)).toBeUndefined();
    expect(told).toEqual([]);
    const [revocation] = await due();
    if (revocation === undefined) throw new Error('nothing is due');
    expect(await revocationFlow.tell(revocation)).toBe('revoked');
  });

  it('from a provider that is no longer configured keeps nothing of it', async () => {
    const stage = setUp();
    const connection = await stage.connect();
    const { disconnect, outlook } = createDisconnection({ ...stage, providers: { get: () => undefined, names: [] } });
    expect(await outlook(connection)).toBe('unsupported');
    expect(await disconnect(connection, 'person')).toBe('unsupported');
    expect(await stage.due()).toEqual([]);
    expect(stage.told).toEqual([]);
  });

  it('is foreseen where the provider offers no way to be told', async () => {
    const { connect, outlook } = setUp({ isRevocable: false });
    expect(await outlook(await connect())).toBe('unsupported');
  });
});

describe('two connections on one grant', () => {
  async function siblings() {
    const stage = setUp({ revocationReach: 'grant' });
    const pair = [
      await stage.connect(),
      await stage.connect({ owner: 'calendar', tokens: { accessToken: 'access-token-2' } }),
    ] as const;
    return { ...stage, pair };
  }

  it('the first that is disconnected leaves the grant to the other', async () => {
    const { pair, disconnect, outlook, due, told } = await siblings();
    const [first, last] = pair;
    expect(await outlook(first)).toBe('shared');
    expect(await disconnect(first, 'person')).toBe('shared');
    expect(told).toEqual([]);
    expect(await due()).toEqual([]);
    expect(await outlook(last)).toBe('revoke');
    expect(await disconnect(last, 'person')).toBe('revoked');
    expect(told).toEqual(['access-token-2']);
  });

  it('disconnected at once, one of them tells the provider', async () => {
    const { pair, disconnect, told } = await siblings();
    const results = await Promise.all(pair.map(connection => disconnect(connection, 'person')));
    expect(results).toContain('revoked');
    expect(told).not.toEqual([]);
  });

  it('disconnected while the store comes and goes, the provider is told in the end', async () => {
    const { pair, clock, disconnect, due, losesNext, revocationFlow, stores, told } = await siblings();
    const [first, last] = pair;
    const { remove } = stores.connections;
    Object.assign(stores.connections, {
      // The other one goes, and the store with it, between the look at what is shared and the removal.
      async remove(p: Parameters<typeof remove>[0]) {
        Object.assign(stores.connections, { remove });
        await stores.connections.remove({ connectionId: last.connectionId });
        const removed = await stores.connections.remove(p);
        losesNext(stores.connections, 'list');
        return removed;
      },
    });
    expect(await disconnect(first, 'person')).toBe('pending');
    clock.advance(60_000);
    for (const revocation of await due()) await revocationFlow.tell(revocation);
    expect(told).toEqual(['access-token-1']);
  });
});
