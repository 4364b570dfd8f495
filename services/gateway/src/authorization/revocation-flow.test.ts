import { AuthorizationError, type Provider, type RevocationResult } from '@postern/authorization';
import { newOperationId, type Revocation, shardOf, systemEntropy } from '@postern/elicitation';
import { samples } from '@postern/testkit/contract';
import { describe, expect, it } from 'vitest';
import { createFlowStage, ofAuthorization, sampleTokens } from '../testing/flow-stage.ts';

const HOUR = 60 * 60_000;

/** A provider that revokes all grants of a user with one token, unless it is unavailable. */
function setUp({ revocationReach = 'grant' }: Partial<Pick<Provider, 'revocationReach'>> = {}) {
  const fate = { isAway: false };
  const revoked: string[] = [];
  const provider = {
    revocationReach,
    revoke: async ({ accessToken }) => {
      if (fate.isAway) throw new AuthorizationError('provider_unavailable');
      revoked.push(accessToken);
      return 'revoked';
    },
  } satisfies Partial<Provider> as Partial<Provider>;
  const stage = createFlowStage(provider);
  const { connections } = stage.stores;
  return {
    ...stage,
    fate,
    revoked,
    /** Disconnects while the provider is unavailable, so that the revocation stays pending. */
    async leavePending(connection: Awaited<ReturnType<typeof stage.connect>>) {
      fate.isAway = true;
      await connections.remove({ connectionId: connection.connectionId });
      expect(await stage.revocationFlow.revokeGrant(connection)).toBe('pending');
      fate.isAway = false;
    },
    /** The revocations that are due now. */
    async due(): Promise<Revocation | undefined> {
      const [revocation] = await stage.revocationFlow.claimDue(shardOf(stage.subject));
      return revocation;
    },
    async sweep() {
      const [revocation] = await stage.revocationFlow.claimDue(shardOf(stage.subject));
      return revocation === undefined ? 'nothing is due' : stage.revocationFlow.sendRevocation(revocation);
    },
  };
}

describe('a grant that another connection may share', () => {
  it.each([
    { who: 'another account', account: { id: 'hubot' }, result: 'revoked' },
    { who: 'the same account', account: { id: 'octocat', name: 'renamed' }, result: 'shared' },
    { who: 'an unknown account', account: 'unknown', result: 'shared' },
  ] as const)('and a newer connection of $who: $result', async ({ account, result }) => {
    const stage = setUp();
    await stage.leavePending(await stage.connect());
    stage.clock.advance(HOUR);
    await stage.connect({ account, tokens: { accessToken: 'another' } });
    expect(await stage.sweep()).toBe(result);
    expect(stage.revoked).toEqual(result === 'revoked' ? ['access-token-1'] : []);
    expect(stage.eventsNamed('revocation.ended')).toMatchObject([
      result === 'revoked' ? { outcome: 'revoked' } : { outcome: 'abandoned', reason: 'grant_in_use' },
    ]);
    stage.clock.advance(HOUR);
    expect(await stage.due()).toBeUndefined();
  });

  it('a grant that another connection may share is revoked with its last connection', async () => {
    const stage = setUp();
    const first = await stage.connect();
    const last = await stage.connect({ owner: 'calendar' });
    await stage.stores.connections.remove({ connectionId: first.connectionId });
    expect(await stage.revocationFlow.revokeGrant(first)).toBe('shared');
    await stage.stores.connections.remove({ connectionId: last.connectionId });
    expect(await stage.revocationFlow.revokeGrant(last)).toBe('revoked');
  });

  it.each([
    { account: { id: 'octocat' }, result: 'shared' },
    { account: { id: 'hubot' }, result: 'revoked' },
  ] as const)('is recognised by its account, also after a refresh ($result)', async ({ account, result }) => {
    for (const isRefreshed of [false, true]) {
      const stage = setUp();
      const sibling = await stage.connect({ owner: 'calendar', account });
      const connection = await stage.connect();
      stage.losesNext(stage.stores.revocations, 'claimOne');
      await stage.stores.connections.remove({ connectionId: connection.connectionId });
      const ended = await stage.revocationFlow.revokeGrant(connection);
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

  it('a grant that another connection may share is not searched for at a provider that revokes single tokens', async () => {
    const stage = setUp({ revocationReach: 'token' });
    await stage.connect({ owner: 'calendar' });
    const connection = await stage.connect();
    expect(await stage.revocationFlow.revokeGrant(connection)).toBe('revoked');
  });
});

describe('a revocation that fails', () => {
  it('a revocation that fails is retried later if Redis fails at the first attempt', async () => {
    const stage = setUp();
    const connection = await stage.connect();
    await stage.stores.connections.remove({ connectionId: connection.connectionId });
    stage.losesNext(stage.stores.revocations, 'claimOne');
    expect(await stage.revocationFlow.revokeGrant(connection)).toBe('pending');
    expect(stage.eventsNamed('revocation.failed')).toMatchObject([{ error: { code: 'store_unavailable' } }]);
    expect(stage.revoked).toEqual([]);
    expect(await stage.sweep()).toBe('revoked');
    expect(stage.revoked).toEqual(['access-token-1']);
  });

  it.each([
    {
      what: 'sealed for another connection',
      reason: 'not_authentic',
      spoil: async (stage: ReturnType<typeof setUp>) => (await stage.connect({ owner: 'calendar' })).sealedTokens,
    },
    {
      what: 'sealed under a lost key',
      reason: 'unknown_key',
      spoil: async (stage: ReturnType<typeof setUp>) => {
        const { sealedTokens } = await stage.connect();
        return sealedTokens.replace(/^[^.]*/, header => {
          const parsed: unknown = JSON.parse(Buffer.from(header, 'base64url').toString());
          return Buffer.from(JSON.stringify({ ...Object(parsed), kid: 'lost' })).toString('base64url');
        });
      },
    },
  ])('is retried, and abandoned after three days, if the tokens are $what', async ({ reason, spoil }) => {
    const stage = setUp({ revocationReach: 'token' });
    const connection = await stage.connect();
    const sealedTokens = await spoil(stage);
    expect(await stage.revocationFlow.revokeGrant({ ...connection, sealedTokens })).toBe('pending');
    expect(stage.eventsNamed('revocation.postponed')).toMatchObject([{ reason }]);
    stage.clock.advance(73 * HOUR);
    expect(await stage.sweep()).toBe('unsupported');
    expect(stage.eventsNamed('revocation.ended')).toMatchObject([{ outcome: 'abandoned', reason }]);
    expect(stage.revoked).toEqual([]);
  });

  it('a revocation that fails is retried with growing delays of at most an hour, and abandoned after three days', async () => {
    const stage = setUp();
    const connection = await stage.connect();
    await stage.stores.connections.remove({ connectionId: connection.connectionId });
    const began = stage.clock.now();
    stage.fate.isAway = true;
    expect(await stage.revocationFlow.revokeGrant(connection)).toBe('pending');
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

describe('S81: a provider that revokes one of two tokens', () => {
  /** The provider responds with these results, one per call. */
  function answering(...answers: (RevocationResult | AuthorizationError)[]) {
    const asked: object[] = [];
    const stage = createFlowStage({
      revocationReach: 'token',
      async revoke({ accessToken, refreshToken }) {
        asked.push({ accessToken, refreshToken });
        const answer = answers.shift();
        if (answer === undefined) throw new Error('unexpected revocation');
        if (answer instanceof AuthorizationError) throw answer;
        return answer;
      },
    });
    const sweep = async () => {
      stage.clock.advance(HOUR);
      const [revocation] = await stage.revocationFlow.claimDue(shardOf(stage.subject));
      return revocation === undefined ? 'nothing is due' : stage.revocationFlow.sendRevocation(revocation);
    };
    const disconnected = async () => {
      const connection = await stage.connect();
      await stage.stores.connections.remove({ connectionId: connection.connectionId });
      return connection;
    };
    return { ...stage, asked, sweep, disconnected };
  }
  const unavailable = new AuthorizationError('provider_unavailable', { confirmed: 'refresh_token' });

  it.each(['refresh_token_revoked', 'access_token_revoked'] as const)(
    '%s is final, and appears in the audit line',
    async result => {
      const stage = answering(result);
      expect(await stage.revocationFlow.revokeGrant(await stage.disconnected())).toBe(result);
      expect(stage.eventsNamed('revocation.ended')).toMatchObject([{ outcome: result }]);
      expect(await stage.sweep()).toBe('nothing is due');
    },
  );

  it('retries both tokens after one failed, and logs which one was confirmed', async () => {
    const stage = answering(unavailable, 'revoked');
    expect(await stage.revocationFlow.revokeGrant(await stage.disconnected())).toBe('pending');
    expect(stage.eventsNamed('revocation.postponed')).toMatchObject([
      { reason: 'provider_unavailable', confirmed: 'refresh_token' },
    ]);
    expect(await stage.sweep()).toBe('revoked');
    expect(stage.asked).toHaveLength(2);
    expect(stage.asked[1]).toEqual(stage.asked[0]);
  });

  it('logs which token was confirmed when the gateway gives up', async () => {
    const stage = answering(unavailable, unavailable);
    expect(await stage.revocationFlow.revokeGrant(await stage.disconnected())).toBe('pending');
    stage.clock.advance(72 * HOUR);
    await stage.sweep();
    expect(stage.eventsNamed('revocation.ended')).toMatchObject([
      { outcome: 'abandoned', reason: 'provider_unavailable', confirmed: 'refresh_token' },
    ]);
  });

  it('revokes both tokens again after a crash between the two requests', async () => {
    const crash = new Error('the process ended');
    const stage = answering('revoked');
    const { revoke } = stage.providers.get('github') ?? {};
    Object.assign(stage.providers.get('github') ?? {}, { revoke: () => Promise.reject(crash) });
    expect(await stage.revocationFlow.revokeGrant(await stage.disconnected())).toBe('pending');
    Object.assign(stage.providers.get('github') ?? {}, { revoke });
    expect(await stage.sweep()).toBe('revoked');
    expect(stage.asked).toMatchObject([{ accessToken: 'access-token-1', refreshToken: expect.any(String) }]);
  });
});

describe('a grant that is not stored', () => {
  it('a grant that is not stored is revoked immediately', async () => {
    const stage = setUp();
    const elicitation = ofAuthorization(await samples.created(stage.stores.elicitations, samples.ask(stage.subject)));
    await stage.revocationFlow.discardGrant(elicitation, 'issue-tracker', sampleTokens);
    expect(stage.revoked).toEqual(['access-token-1']);
    expect(stage.eventsNamed('grant.left')).toEqual([]);
  });

  it('a grant that is not stored is not revoked but logged if the subject has a connection at the provider', async () => {
    const stage = setUp();
    await stage.connect({ owner: 'calendar' });
    const elicitation = ofAuthorization(await samples.created(stage.stores.elicitations, samples.ask(stage.subject)));
    await stage.revocationFlow.discardGrant(elicitation, 'issue-tracker', sampleTokens);
    expect(stage.revoked).toEqual([]);
    expect(await stage.due()).toBeUndefined();
    expect(stage.eventsNamed('grant.left')).toMatchObject([
      { elicitationId: elicitation.elicitationId, provider: 'github', reason: 'in_use' },
    ]);
  });
});
