import { AuthorizationError, type Grant, type Provider } from '@postern/authorization';
import { connectionIdOf, shardOf } from '@postern/elicitation';
import { samples } from '@postern/testkit/contract';
import { VaultError } from '@postern/vault';
import { describe, expect, it, vi } from 'vitest';
import { createFlowStage, ofAuthorization } from '../testing/flow-stage.ts';

async function setUp(p: { expectedAccount?: string } = {}) {
  const revoked: string[] = [];
  const fate = { isAway: false };
  const stage = createFlowStage({
    revocationReach: 'token',
    revoke: async ({ accessToken }) => {
      if (fate.isAway) throw new AuthorizationError('provider_unavailable');
      revoked.push(accessToken);
      return 'revoked';
    },
  } satisfies Partial<Provider>);
  const ask = samples.ask(stage.subject);
  const request = { ...ask.elicitation.request, ...p };
  const pending = await samples.created(stage.stores.elicitations, {
    ...ask,
    elicitation: { ...ask.elicitation, request },
  });
  const elicitation = ofAuthorization(await samples.moved(stage.stores.elicitations, pending, samples.engage));
  const connectionId = connectionIdOf({ owner: 'issue-tracker', subject: stage.subject, provider: 'github' });
  return {
    ...stage,
    revoked,
    fate,
    elicitation,
    connectionId,
    keep: (change: Partial<Grant> = {}, attempt = 'attempt-1') =>
      stage.storeGrant(elicitation, attempt, { ...grant, ...change }),
    isStored: async () => (await stage.stores.connections.read(connectionId)) !== undefined,
    due: () => stage.revocationFlow.claimDue(shardOf(stage.subject)),
  };
}

const grant: Grant = {
  accessToken: 'granted',
  refreshToken: 'granted-refresh-token',
  tokenType: 'bearer',
  scopes: ['user', 'repo'],
  account: { id: 'octocat' },
  issuer: 'https://github.example',
  clientId: 'postern',
};

describe('a grant that matches the request', () => {
  it('becomes a connection in one commit with the end of its elicitation', async () => {
    const { keep, stored, connectionId, tokenSets, revoked, eventsNamed } = await setUp();
    expect(await keep()).toMatchObject({
      result: 'completed',
      elicitation: { status: 'completed', outcome: { connectionId, scopes: ['repo', 'user'] } },
    });
    const connection = await stored(connectionId);
    expect(connection).toMatchObject({ refreshable: true, scopes: ['repo', 'user'], account: { id: 'octocat' } });
    expect(connection.sealedTokens).not.toContain('granted');
    expect(await tokenSets.open(connection)).toEqual({
      accessToken: 'granted',
      refreshToken: 'granted-refresh-token',
      tokenType: 'bearer',
      issuer: 'https://github.example',
      clientId: 'postern',
      redirectUri: 'https://gate.example/callback/issue-tracker/github',
    });
    expect(revoked).toEqual([]);
    expect(eventsNamed('elicitation.completed')).toHaveLength(1);
  });

  it.each([
    { of: 'another account', account: { id: 'hubot' }, ended: ['access-token-1'] },
    { of: 'the same account', account: { id: 'octocat', name: 'renamed' }, ended: [] },
  ])('a matching grant that replaces a grant of $of revokes $ended', async ({ account, ended }) => {
    const { keep, connect, tokenSets, stored, connectionId, revoked } = await setUp();
    await connect();
    expect(await keep({ account })).toMatchObject({ result: 'completed' });
    expect(revoked).toEqual(ended);
    expect(await stored(connectionId)).toMatchObject({ account, generation: 2 });
    expect(await tokenSets.open(await stored(connectionId))).toMatchObject({ accessToken: 'granted' });
  });

  it('a grant that matches the request is stored if the provider is unavailable for the revocation of the replaced grant', async () => {
    const { keep, connect, fate, clock, due, revocationFlow, revoked } = await setUp();
    await connect();
    fate.isAway = true;
    expect(await keep({ account: { id: 'hubot' } })).toMatchObject({ result: 'completed' });
    fate.isAway = false;
    clock.advance(60_000);
    for (const revocation of await due()) await revocationFlow.sendRevocation(revocation);
    expect(revoked).toEqual(['access-token-1']);
  });

  it('a grant that matches the request is stored even if Redis becomes unavailable right after, with an audit event', async () => {
    const { keep, connect, stored, connectionId, losesNext, stores, eventsNamed } = await setUp();
    await connect();
    losesNext(stores.revocations, 'add');
    expect(await keep({ account: { id: 'hubot' } })).toMatchObject({ result: 'completed' });
    expect(await stored(connectionId)).toMatchObject({ account: { id: 'hubot' } });
    expect(eventsNamed('grant.left')).toMatchObject([{ reason: 'store_unavailable' }]);
  });
});

describe('the gateway revokes a grant and stores no connection', () => {
  it('the gateway revokes a grant and stores no connection if the grant lacks a requested scope', async () => {
    const { keep, isStored, revoked, service, elicitation } = await setUp();
    expect(await keep({ scopes: ['user'] })).toEqual({ result: 'fewer_scopes', missing: ['repo'] });
    expect(revoked).toEqual(['granted']);
    expect(await isStored()).toBe(false);
    expect(await service.find(elicitation.elicitationId)).toMatchObject({ status: 'active' });
  });

  it.each([{ account: { id: 'hubot' } }, {}])(
    'if it is for another account than the expected one (%o)',
    async change => {
      const { account: _, ...unnamed } = grant;
      const { storeGrant, elicitation, isStored, revoked } = await setUp({ expectedAccount: 'octocat' });
      const kept = await storeGrant(elicitation, 'attempt-1', { ...unnamed, ...change });
      expect(kept).toEqual({ result: 'wrong_account' });
      expect(revoked).toEqual(['granted']);
      expect(await isStored()).toBe(false);
    },
  );

  it('the gateway revokes a grant and stores no connection if a newer attempt has replaced this one', async () => {
    const { keep, isStored, revoked } = await setUp();
    expect(await keep({}, 'attempt-0')).toMatchObject({ result: 'superseded', error: { code: 'illegal_transition' } });
    expect(revoked).toEqual(['granted']);
    expect(await isStored()).toBe(false);
  });

  it('the gateway revokes a grant and stores no connection if the elicitation has ended', async () => {
    const { keep, isStored, revoked, stores, elicitation } = await setUp();
    await samples.moved(stores.elicitations, elicitation, samples.cancel);
    expect(await keep()).toMatchObject({ result: 'superseded', error: { code: 'already_ended' } });
    expect(revoked).toEqual(['granted']);
    expect(await isStored()).toBe(false);
  });

  it('S73: the gateway revokes a grant and stores no connection if the storage quota has no room', async () => {
    const { keep, stores, subject, isStored, revoked } = await setUp();
    const quota = { records: 1e9, bytes: 256 * 65_536 };
    await samples.created(stores.elicitations, { ...samples.ask(subject), coalescingDigest: 'other', quota });
    await expect(keep({ accessToken: 'x'.repeat(65_536) })).rejects.toMatchObject({ code: 'quota_exceeded' });
    expect(revoked).toHaveLength(1);
    expect(await isStored()).toBe(false);
  });

  it('later if the first attempt fails, without changing the result', async () => {
    const { keep, losesNext, stores, revoked, due, revocationFlow, eventsNamed } = await setUp();
    losesNext(stores.revocations, 'claimOne');
    expect(await keep({ scopes: ['user'] })).toEqual({ result: 'fewer_scopes', missing: ['repo'] });
    expect(revoked).toEqual([]);
    expect(eventsNamed('revocation.failed')).toHaveLength(1);
    for (const revocation of await due()) await revocationFlow.sendRevocation(revocation);
    expect(revoked).toEqual(['granted']);
  });

  it.each([
    { away: 'the store', reason: 'store_unavailable' },
    { away: 'the key service', reason: 'key_service_unavailable' },
  ])('or, while $away is unavailable, logs that the grant was not revoked', async ({ reason }) => {
    const { keep, losesNext, stores, tokenSets, eventsNamed } = await setUp();
    if (reason === 'store_unavailable') losesNext(stores.revocations, 'add');
    else vi.spyOn(tokenSets, 'seal').mockRejectedValue(new VaultError('key_service_unavailable', 'not now'));
    expect(await keep({ scopes: ['user'] })).toMatchObject({ result: 'fewer_scopes' });
    expect(eventsNamed('grant.left')).toMatchObject([{ reason }]);
  });
});
