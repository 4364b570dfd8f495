import { AuthorizationError, type Provider } from '@postern/authorization';
import { newOperationId, shardOf, systemEntropy } from '@postern/elicitation';
import { describe, expect, it } from 'vitest';
import { createFlowStage } from '../testing/flow-stage.ts';
import { createDisconnection } from './disconnection.ts';

function setUp(provider: Partial<Pick<Provider, 'revocationReach' | 'isRevocable' | 'revoke'>> = {}) {
  const revoked: string[] = [];
  const fate = { isAway: false };
  const stage = createFlowStage({
    revocationReach: 'token',
    isRevocable: async () => true,
    revoke: async ({ accessToken }) => {
      if (fate.isAway) throw new AuthorizationError('provider_unavailable');
      revoked.push(accessToken);
      return 'revoked';
    },
    ...provider,
  } satisfies Partial<Provider>);
  const { disconnect, disconnectAll, outlook, outlookOfAll } = createDisconnection(stage);
  return {
    ...stage,
    revoked,
    fate,
    disconnect,
    disconnectAll,
    outlook,
    outlookOfAll,
    due: () => stage.revocationFlow.claimDue(shardOf(stage.subject)),
  };
}

describe('disconnecting', () => {
  it('removes the connection and revokes the grant', async () => {
    const { connect, disconnect, outlook, stores, revoked, eventsNamed } = setUp();
    const connection = await connect();
    expect(await outlook(connection)).toMatchObject({ provider: 'revoke' });
    expect(await disconnect(connection, 'person')).toMatchObject({ revocation: 'revoked' });
    expect(revoked).toEqual(['access-token-1']);
    expect(await stores.connections.read(connection.connectionId)).toBeUndefined();
    expect(eventsNamed('connection.disconnected')).toMatchObject([{ by: 'person' }]);
    await expect(disconnect(connection, 'person')).rejects.toMatchObject({ code: 'not_found' });
  });

  it('removes the connection even if the provider fails', async () => {
    const { connect, disconnect, fate, stores } = setUp();
    const connection = await connect();
    fate.isAway = true;
    expect(await disconnect(connection, { mcpServerId: 'issue-tracker' })).toMatchObject({ revocation: 'pending' });
    expect(await stores.connections.read(connection.connectionId)).toBeUndefined();
  });

  it('succeeds if Redis becomes unavailable after the removal', async () => {
    const { connect, disconnect, due, losesNext, revocationFlow, stores, revoked } = setUp();
    const connection = await connect();
    losesNext(stores.revocations, 'claimOne');
    expect(await disconnect(connection, 'person')).toMatchObject({ revocation: 'pending' });
    expect(await stores.connections.read(connection.connectionId)).toBeUndefined();
    expect(revoked).toEqual([]);
    const [revocation] = await due();
    if (revocation === undefined) throw new Error('nothing is due');
    expect(await revocationFlow.sendRevocation(revocation)).toBe('revoked');
  });

  it('stores no revocation for a provider that is no longer configured', async () => {
    const stage = setUp();
    const connection = await stage.connect();
    const { disconnect, outlook } = createDisconnection({ ...stage, providers: { get: () => undefined, names: [] } });
    expect(await outlook(connection)).toMatchObject({ provider: 'unsupported' });
    expect(await disconnect(connection, 'person')).toMatchObject({ revocation: 'unsupported' });
    expect(await stage.due()).toEqual([]);
    expect(stage.revoked).toEqual([]);
  });

  it('reports in advance that the provider cannot revoke', async () => {
    const { connect, outlook } = setUp({ isRevocable: async () => false });
    expect(await outlook(await connect())).toMatchObject({ provider: 'unsupported' });
  });
});

describe('S81: the time until which access may outlive the connection', () => {
  const at = (accessUntil: number) => ({ accessUntil: new Date(accessUntil) });

  it.each([
    { what: 'not confirmed', result: 'refresh_token_revoked', hasEnded: false },
    { what: 'no way to revoke', result: 'unsupported', hasEnded: false },
    { what: 'all confirmed', result: 'revoked', hasEnded: true },
    { what: 'the access token confirmed', result: 'access_token_revoked', hasEnded: true },
  ] as const)(
    'is returned after disconnecting unless the provider confirmed the revocation: $what',
    async ({ result, hasEnded }) => {
      const { connect, disconnect, outlook, clock } = setUp({ revoke: async () => result });
      const accessTokenExpiresAt = clock.now() + 1000;
      const connection = await connect({ accessTokenExpiresAt });
      expect(await outlook(connection)).toEqual({ provider: 'revoke', ...at(accessTokenExpiresAt) });
      const lasts = hasEnded ? {} : at(accessTokenExpiresAt);
      expect(await disconnect(connection, 'person')).toEqual({ revocation: result, ...lasts });
    },
  );

  it('the time until which access may outlive the connection is absent for an expired access token, and unknown without an expiry', async () => {
    const { connect, disconnect, outlook, clock } = setUp({ revoke: async () => 'unsupported' });
    const expired = await connect({ accessTokenExpiresAt: clock.now() });
    expect(await outlook(expired)).toEqual({ provider: 'revoke' });
    expect(await disconnect(expired, 'person')).toEqual({ revocation: 'unsupported' });
    expect(await disconnect(await connect(), 'person')).toEqual({ revocation: 'unsupported', accessUntil: 'unknown' });
  });

  it('the time until which access may outlive the connection is the expiry of the removed token set, not of the one read before', async () => {
    const { connect, disconnect, stores, clock } = setUp({ revoke: async () => 'unsupported' });
    const before = await connect({ accessTokenExpiresAt: clock.now() + 1000 });
    const { sealedTokens, scopes, refreshable } = before;
    const tokens = { sealedTokens, scopes, refreshable, accessTokenExpiresAt: clock.now() + 5000 };
    const operationId = newOperationId(systemEntropy);
    await stores.connections.finishRefresh({ current: before, tokens, operationId });
    expect(await disconnect(before, 'person')).toMatchObject(at(clock.now() + 5000));
  });
});

describe('two connections that share a grant', () => {
  async function siblings() {
    const stage = setUp({ revocationReach: 'grant' });
    const pair = [
      await stage.connect(),
      await stage.connect({ owner: 'calendar', tokens: { accessToken: 'access-token-2' } }),
    ] as const;
    return { ...stage, pair };
  }

  it('end together when all are disconnected, because none is left to need the grant', async () => {
    const { pair, disconnectAll, outlookOfAll, revoked } = await siblings();
    expect(await outlookOfAll(pair)).toEqual({ revoked: ['github'], unsupported: [] });
    const ended = await disconnectAll(pair, 'person');
    expect(ended).toMatchObject([
      { provider: 'github', revocation: 'revoked' },
      { provider: 'github', revocation: 'revoked' },
    ]);
    expect(revoked.sort()).toEqual(['access-token-1', 'access-token-2']);
    expect(await disconnectAll(pair, 'person')).toEqual([]);
  });

  it('keep it until the second one is disconnected', async () => {
    const { pair, disconnect, outlook, due, revoked } = await siblings();
    const [first, last] = pair;
    expect(await outlook(first)).toMatchObject({ provider: 'shared' });
    expect(await disconnect(first, 'person')).toMatchObject({ revocation: 'shared' });
    expect(revoked).toEqual([]);
    expect(await due()).toEqual([]);
    expect(await outlook(last)).toMatchObject({ provider: 'revoke' });
    expect(await disconnect(last, 'person')).toMatchObject({ revocation: 'revoked' });
    expect(revoked).toEqual(['access-token-2']);
  });

  it('revoke it once when both are disconnected at the same time', async () => {
    const { pair, disconnect, revoked } = await siblings();
    const results = await Promise.all(pair.map(connection => disconnect(connection, 'person')));
    expect(results.map(({ revocation }) => revocation)).toContain('revoked');
    expect(revoked).not.toEqual([]);
  });

  it('revoke it in the end if Redis fails while both are disconnected', async () => {
    const { pair, clock, disconnect, due, losesNext, revocationFlow, stores, revoked } = await siblings();
    const [first, last] = pair;
    const { remove } = stores.connections;
    Object.assign(stores.connections, {
      // Between the check and the removal, the other connection is disconnected and Redis fails.
      async remove(p: Parameters<typeof remove>[0]) {
        Object.assign(stores.connections, { remove });
        await stores.connections.remove({ connectionId: last.connectionId });
        const removed = await stores.connections.remove(p);
        losesNext(stores.connections, 'list');
        return removed;
      },
    });
    expect(await disconnect(first, 'person')).toMatchObject({ revocation: 'pending' });
    clock.advance(60_000);
    for (const revocation of await due()) await revocationFlow.sendRevocation(revocation);
    expect(revoked).toEqual(['access-token-1']);
  });
});
