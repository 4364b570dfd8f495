import { AuthorizationError, type Provider } from '@postern/authorization';
import { newOperationId, type Revocation, shardOf, systemEntropy } from '@postern/elicitation';
import { samples } from '@postern/testkit/contract';
import { describe, expect, it } from 'vitest';
import { createFlowStage, ofAuthorization, sampleTokens } from '../testing/flow-stage.ts';

const HOUR = 60 * 60_000;

/** A provider that ends everything a person ever granted with one token of it, and does so unless it is away. */
function setUp({ revocationReach = 'grant' }: Partial<Pick<Provider, 'revocationReach'>> = {}) {
  const fate = { isAway: false };
  const told: string[] = [];
  const provider = {
    revocationReach,
    revoke: async ({ accessToken }) => {
      if (fate.isAway) throw new AuthorizationError('provider_unavailable');
      told.push(accessToken);
      return 'revoked';
    },
  } satisfies Partial<Provider> as Partial<Provider>;
  const stage = createFlowStage(provider);
  const { connections } = stage.stores;
  return {
    ...stage,
    fate,
    told,
    /** Disconnects while the provider is away, so that it is still to be told afterwards. */
    async leaveUntold(connection: Awaited<ReturnType<typeof stage.connect>>) {
      fate.isAway = true;
      await connections.remove({ connectionId: connection.connectionId });
      expect(await stage.revocationFlow.endGrant(connection)).toBe('pending');
      fate.isAway = false;
    },
    /** What the sweeper would be given now. */
    async due(): Promise<Revocation | undefined> {
      const [revocation] = await stage.revocationFlow.due(shardOf(stage.subject));
      return revocation;
    },
    async sweep() {
      const [revocation] = await stage.revocationFlow.due(shardOf(stage.subject));
      return revocation === undefined ? 'nothing is due' : stage.revocationFlow.tell(revocation);
    },
  };
}

describe('a grant that another connection may rest on', () => {
  it.each([
    { who: 'another account', account: { id: 'hubot' }, result: 'revoked' },
    { who: 'the same account', account: { id: 'octocat', name: 'renamed' }, result: 'shared' },
    { who: 'an unknown account', account: 'unknown', result: 'shared' },
  ] as const)('a connection of $who made since: $result', async ({ account, result }) => {
    const stage = setUp();
    await stage.leaveUntold(await stage.connect());
    stage.clock.advance(HOUR);
    await stage.connect({ account, tokens: { accessToken: 'another' } });
    expect(await stage.sweep()).toBe(result);
    expect(stage.told).toEqual(result === 'revoked' ? ['access-token-1'] : []);
    expect(stage.eventsNamed('revocation.ended')).toMatchObject([
      result === 'revoked' ? { outcome: 'revoked' } : { outcome: 'abandoned', reason: 'grant_in_use' },
    ]);
    stage.clock.advance(HOUR);
    expect(await stage.due()).toBeUndefined();
  });

  it('ends with its last connection', async () => {
    const stage = setUp();
    const first = await stage.connect();
    const last = await stage.connect({ owner: 'calendar' });
    await stage.stores.connections.remove({ connectionId: first.connectionId });
    expect(await stage.revocationFlow.endGrant(first)).toBe('shared');
    await stage.stores.connections.remove({ connectionId: last.connectionId });
    expect(await stage.revocationFlow.endGrant(last)).toBe('revoked');
  });

  it.each([
    { account: { id: 'octocat' }, result: 'shared' },
    { account: { id: 'hubot' }, result: 'revoked' },
  ] as const)('is judged by accounts, not by what was refreshed meanwhile ($result)', async ({ account, result }) => {
    for (const isRefreshed of [false, true]) {
      const stage = setUp();
      const sibling = await stage.connect({ owner: 'calendar', account });
      const connection = await stage.connect();
      stage.losesNext(stage.stores.revocations, 'claimOne');
      await stage.stores.connections.remove({ connectionId: connection.connectionId });
      const ended = await stage.revocationFlow.endGrant(connection);
      expect(ended).toBe(result === 'shared' ? 'shared' : 'pending');
      stage.clock.advance(HOUR);
      if (isRefreshed) {
        const operationId = newOperationId(systemEntropy);
        const { sealedTokens, scopes, refreshable } = sibling;
        const tokens = { sealedTokens, scopes, refreshable };
        const change = await stage.stores.connections.finishRefresh({ current: sibling, tokens, operationId });
        expect(change.result).toBe('stored');
      }
      expect(await stage.sweep()).toBe(result === 'shared' ? 'nothing is due' : 'revoked');
    }
  });

  it('is no question where a revocation reaches one token only', async () => {
    const stage = setUp({ revocationReach: 'token' });
    await stage.connect({ owner: 'calendar' });
    const connection = await stage.connect();
    expect(await stage.revocationFlow.endGrant(connection)).toBe('revoked');
  });
});

describe('trouble', () => {
  it('of the store at the first try: the provider is told later', async () => {
    const stage = setUp();
    const connection = await stage.connect();
    await stage.stores.connections.remove({ connectionId: connection.connectionId });
    stage.losesNext(stage.stores.revocations, 'claimOne');
    expect(await stage.revocationFlow.endGrant(connection)).toBe('pending');
    expect(stage.eventsNamed('revocation.failed')).toMatchObject([{ error: { code: 'store_unavailable' } }]);
    expect(stage.told).toEqual([]);
    expect(await stage.sweep()).toBe('revoked');
    expect(stage.told).toEqual(['access-token-1']);
  });

  it.each([
    {
      what: 'sealed for another connection',
      reason: 'not_authentic',
      spoil: async (stage: ReturnType<typeof setUp>) => (await stage.connect({ owner: 'calendar' })).sealedTokens,
    },
    {
      what: 'sealed by a key that is lost',
      reason: 'unknown_key',
      spoil: async (stage: ReturnType<typeof setUp>) => {
        const { sealedTokens } = await stage.connect();
        return sealedTokens.replace(/^[^.]*/, header => {
          const parsed: unknown = JSON.parse(Buffer.from(header, 'base64url').toString());
          return Buffer.from(JSON.stringify({ ...Object(parsed), kid: 'lost' })).toString('base64url');
        });
      },
    },
  ])('what is $what cannot be told, and is written down', async ({ reason, spoil }) => {
    const stage = setUp({ revocationReach: 'token' });
    const connection = await stage.connect();
    const sealedTokens = await spoil(stage);
    expect(await stage.revocationFlow.endGrant({ ...connection, sealedTokens })).toBe('unsupported');
    expect(stage.eventsNamed('revocation.ended')).toMatchObject([{ outcome: 'abandoned', reason }]);
    expect(stage.told).toEqual([]);
    stage.clock.advance(HOUR);
    expect(await stage.due()).toBeUndefined();
  });

  it('of the provider: tried again after ever longer times, an hour at most, and given up after three days', async () => {
    const stage = setUp();
    const connection = await stage.connect();
    await stage.stores.connections.remove({ connectionId: connection.connectionId });
    const began = stage.clock.now();
    stage.fate.isAway = true;
    expect(await stage.revocationFlow.endGrant(connection)).toBe('pending');
    const delays = () => stage.eventsNamed('revocation.postponed').map(({ delayMs }) => Number(delayMs));
    for (let isOver = false; !isOver; ) {
      const delayMs = delays().at(-1) ?? 0;
      stage.clock.advance(delayMs - 1);
      expect(await stage.due()).toBeUndefined();
      stage.clock.advance(1);
      isOver = (await stage.sweep()) !== 'pending';
    }
    expect(delays().slice(0, 12)).toEqual(
      [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600].map(seconds => seconds * 1000),
    );
    const lasted = stage.clock.now() - began;
    expect(lasted).toBeGreaterThanOrEqual(72 * HOUR);
    expect(lasted).toBeLessThanOrEqual(73 * HOUR);
    expect(stage.eventsNamed('revocation.ended')).toMatchObject([
      { outcome: 'abandoned', reason: 'provider_unavailable' },
    ]);
    stage.clock.advance(2 * HOUR);
    expect(await stage.due()).toBeUndefined();
  });
});

describe('a grant that is not kept', () => {
  it('is ended at once', async () => {
    const stage = setUp();
    const elicitation = ofAuthorization(await samples.created(stage.stores.elicitations, samples.ask(stage.subject)));
    await stage.revocationFlow.discard(elicitation, 'issue-tracker', sampleTokens);
    expect(stage.told).toEqual(['access-token-1']);
    expect(stage.eventsNamed('grant.left')).toEqual([]);
  });

  it('is left alone where its person has any connection there, and that is written down', async () => {
    const stage = setUp();
    await stage.connect({ owner: 'calendar' });
    const elicitation = ofAuthorization(await samples.created(stage.stores.elicitations, samples.ask(stage.subject)));
    await stage.revocationFlow.discard(elicitation, 'issue-tracker', sampleTokens);
    expect(stage.told).toEqual([]);
    expect(await stage.due()).toBeUndefined();
    expect(stage.eventsNamed('grant.left')).toMatchObject([
      { elicitationId: elicitation.elicitationId, provider: 'github', reason: 'in_use' },
    ]);
  });
});
