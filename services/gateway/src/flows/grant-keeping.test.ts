import { AuthorizationError, type Grant, type Provider } from '@postern/authorization';
import { connectionIdOf, shardOf } from '@postern/elicitation';
import { samples } from '@postern/testkit/contract';
import { VaultError } from '@postern/vault';
import { describe, expect, it, vi } from 'vitest';
import { createFlowStage, ofAuthorization } from '../testing/flow-stage.ts';

const redirectUri = new URL('https://gate.example/callback/issue-tracker/github');

async function setUp(p: { expectedAccount?: string } = {}) {
  const told: string[] = [];
  const fate = { isAway: false };
  const stage = createFlowStage({
    revocationReach: 'token',
    revoke: async ({ accessToken }) => {
      if (fate.isAway) throw new AuthorizationError('provider_unavailable');
      told.push(accessToken);
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
    ...{ told, fate, elicitation, connectionId },
    keep: (change: Partial<Grant> = {}, attempt = 'attempt-1') =>
      stage.grantKeeping(elicitation, attempt, { ...grant, ...change }, redirectUri),
    isStored: async () => (await stage.stores.connections.read(connectionId)) !== undefined,
    due: () => stage.revocationFlow.due(shardOf(stage.subject)),
  };
}

const grant: Grant = {
  accessToken: 'granted',
  refreshToken: 'granted-refresh-token',
  tokenType: 'bearer',
  scopes: ['user', 'repo'],
  account: { id: 'octocat' },
  issuer: 'https://github.example',
};

describe('a grant of what was asked', () => {
  it('becomes a connection, sealed for it, in one commit with the end of its elicitation', async () => {
    const { keep, stored, connectionId, tokenSets, told, eventsNamed } = await setUp();
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
      redirectUri: redirectUri.href,
    });
    expect(told).toEqual([]);
    expect(eventsNamed('elicitation.completed')).toHaveLength(1);
  });

  it.each([
    { of: 'another account', account: { id: 'hubot' }, ended: ['access-token-1'] },
    { of: 'the same account', account: { id: 'octocat', name: 'renamed' }, ended: [] },
  ])('that replaces one of $of ends $ended', async ({ account, ended }) => {
    const { keep, connect, tokenSets, stored, connectionId, told } = await setUp();
    await connect();
    expect(await keep({ account })).toMatchObject({ result: 'completed' });
    expect(told).toEqual(ended);
    expect(await stored(connectionId)).toMatchObject({ account, generation: 2 });
    expect(await tokenSets.open(await stored(connectionId))).toMatchObject({ accessToken: 'granted' });
  });

  it('is kept when the provider cannot be told about the account it replaces', async () => {
    const { keep, connect, fate, clock, due, revocationFlow, told } = await setUp();
    await connect();
    fate.isAway = true;
    expect(await keep({ account: { id: 'hubot' } })).toMatchObject({ result: 'completed' });
    fate.isAway = false;
    clock.advance(60_000);
    for (const revocation of await due()) await revocationFlow.tell(revocation);
    expect(told).toEqual(['access-token-1']);
  });

  it('is kept, and says so, when the store goes away right after it', async () => {
    const { keep, connect, stored, connectionId, losesNext, stores, eventsNamed } = await setUp();
    await connect();
    losesNext(stores.revocations, 'add');
    expect(await keep({ account: { id: 'hubot' } })).toMatchObject({ result: 'completed' });
    expect(await stored(connectionId)).toMatchObject({ account: { id: 'hubot' } });
    expect(eventsNamed('grant.left')).toMatchObject([{ reason: 'store_unavailable' }]);
  });
});

describe('a grant that is not kept is ended, and changes nothing', () => {
  it('with fewer scopes than were asked for', async () => {
    const { keep, isStored, told, service, elicitation } = await setUp();
    expect(await keep({ scopes: ['user'] })).toEqual({ result: 'fewer_scopes', missing: ['repo'] });
    expect(told).toEqual(['granted']);
    expect(await isStored()).toBe(false);
    expect(await service.find(elicitation.elicitationId)).toMatchObject({ status: 'active' });
  });

  it.each([{ account: { id: 'hubot' } }, {}])('of another account than the expected one (%o)', async change => {
    const { account: _, ...unnamed } = grant;
    const { grantKeeping, elicitation, isStored, told } = await setUp({ expectedAccount: 'octocat' });
    const kept = await grantKeeping(elicitation, 'attempt-1', { ...unnamed, ...change }, redirectUri);
    expect(kept).toEqual({ result: 'wrong_account' });
    expect(told).toEqual(['granted']);
    expect(await isStored()).toBe(false);
  });

  it('of an attempt that another one came before', async () => {
    const { keep, isStored, told } = await setUp();
    expect(await keep({}, 'attempt-0')).toMatchObject({ result: 'overtaken', error: { code: 'illegal_transition' } });
    expect(told).toEqual(['granted']);
    expect(await isStored()).toBe(false);
  });

  it('after the end', async () => {
    const { keep, isStored, told, stores, elicitation } = await setUp();
    await samples.moved(stores.elicitations, elicitation, samples.cancel);
    expect(await keep()).toMatchObject({ result: 'overtaken', error: { code: 'already_ended' } });
    expect(told).toEqual(['granted']);
    expect(await isStored()).toBe(false);
  });

  it('S73: is ended at the provider where the storage quota has no room for it', async () => {
    const { keep, stores, subject, isStored, told } = await setUp();
    const quota = { records: 1e9, bytes: 256 * 65_536 };
    await samples.created(stores.elicitations, { ...samples.ask(subject), coalescingDigest: 'other', quota });
    await expect(keep({ accessToken: 'x'.repeat(65_536) })).rejects.toMatchObject({ code: 'quota_exceeded' });
    expect(told).toHaveLength(1);
    expect(await isStored()).toBe(false);
  });

  it('also when the first try fails: it does not hide the result', async () => {
    const { keep, losesNext, stores, told, due, revocationFlow, eventsNamed } = await setUp();
    losesNext(stores.revocations, 'claimOne');
    expect(await keep({ scopes: ['user'] })).toEqual({ result: 'fewer_scopes', missing: ['repo'] });
    expect(told).toEqual([]);
    expect(eventsNamed('revocation.failed')).toHaveLength(1);
    for (const revocation of await due()) await revocationFlow.tell(revocation);
    expect(told).toEqual(['granted']);
  });

  it.each([
    { away: 'the store', reason: 'store_unavailable' },
    { away: 'the key service', reason: 'key_service_unavailable' },
  ])('or, where $away is away, is written down as left', async ({ reason }) => {
    const { keep, losesNext, stores, tokenSets, eventsNamed } = await setUp();
    if (reason === 'store_unavailable') losesNext(stores.revocations, 'add');
    else vi.spyOn(tokenSets, 'seal').mockRejectedValue(new VaultError('key_service_unavailable', 'not now'));
    expect(await keep({ scopes: ['user'] })).toMatchObject({ result: 'fewer_scopes' });
    expect(eventsNamed('grant.left')).toMatchObject([{ reason }]);
  });
});
