import { AuthorizationError, type Provider } from '@postern/authorization';
import { samples } from '@postern/testkit/contract';
import { describe, expect, it } from 'vitest';
import { createFlowStage, ofAuthorization } from '../testing/flow-stage.ts';
import { createScopePlanner } from './scope-plan.ts';

interface World {
  readonly incremental?: boolean;
  /** What the operator lets MCP servers ask for. */
  readonly allowed?: readonly string[];
  /** What the configuration always adds. */
  readonly base?: readonly string[];
}

/** As a configured provider plans: what it would request for a set, and for a set beyond another. */
function setUp({ incremental = false, allowed = ['read', 'repo', 'user'], base = [] }: World = {}) {
  const requestedScopes = (scopes: readonly string[]): string[] => {
    if (scopes.some(scope => !allowed.includes(scope))) throw new AuthorizationError('scope_not_allowed');
    return [...new Set([...base, ...scopes])];
  };
  const stage = createFlowStage({
    incremental,
    requestedScopes,
    scopesToRequest: (needed, held) => {
      requestedScopes(needed);
      return needed.filter(scope => !held.includes(scope));
    },
  } satisfies Partial<Provider>);
  const planFor = createScopePlanner(stage);
  return {
    ...stage,
    async plan(scopes: readonly string[], change: { expectedAccount?: string } = {}) {
      const { elicitation } = samples.ask(stage.subject);
      const at = stage.clock.now();
      const pending = ofAuthorization({
        ...{ ...elicitation, layout: 1, version: 1, status: 'pending', createdAt: at, expiresAt: at + 60_000 },
      });
      return planFor({ ...pending, request: { ...pending.request, scopes, ...change } });
    },
  };
}

describe('without a connection', () => {
  it('what is needed is asked for, with what the configuration adds', async () => {
    const { plan } = setUp({ base: ['openid'] });
    const { requested, held, connection } = await plan(['user', 'repo']);
    expect({ requested, held, connection }).toEqual({
      requested: ['openid', 'repo', 'user'],
      held: [],
      connection: undefined,
    });
  });

  it('of another account nothing is held', async () => {
    const { connect, plan } = setUp();
    await connect({ scopes: ['repo'] });
    expect(await plan(['user'], { expectedAccount: 'hubot' })).toMatchObject({ requested: ['user'], held: [] });
    expect(await plan(['user'], { expectedAccount: 'octocat' })).toMatchObject({ held: ['repo'] });
  });
});

describe('with a connection', () => {
  it.each([
    { incremental: false, requested: ['openid', 'repo', 'user'] },
    { incremental: true, requested: ['openid', 'user'] },
  ])('what it holds is kept (incremental: $incremental)', async ({ incremental, requested }) => {
    const { connect, plan } = setUp({ incremental, base: ['openid'] });
    const connection = await connect({ scopes: ['repo'] });
    expect(await plan(['user'])).toMatchObject({ requested, held: ['repo'], reason: 'more_scopes', connection });
  });

  it('that is lost, an incremental provider is asked for everything: there may be nothing left to add to', async () => {
    const { connect, stores, plan } = setUp({ incremental: true, base: ['openid'] });
    const current = await connect({ scopes: ['repo'] });
    await stores.connections.markLost({ current, reason: 'refused' });
    expect(await plan(['user'])).toMatchObject({ requested: ['openid', 'repo', 'user'], reason: 'refused' });
  });

  it('what nobody may ask for any more is neither asked for nor said to be held', async () => {
    const { connect, plan } = setUp();
    await connect({ scopes: ['admin', 'repo'] });
    expect(await plan(['user'])).toMatchObject({ requested: ['repo', 'user'], held: ['repo'] });
  });
});

describe.each([{ incremental: false }, { incremental: true }])(
  'a scope that was withdrawn after the ask, $incremental',
  world => {
    it('is still planned, so that accepting can say what is wrong', async () => {
      const { connect, plan } = setUp(world);
      expect(await plan(['admin'])).toMatchObject({ requested: ['admin'] });
      await connect({ scopes: ['repo'] });
      expect((await plan(['admin'])).requested).toContain('admin');
    });
  },
);

describe('the digest', () => {
  it('is the same for the same scopes, in whatever order and however they come together', async () => {
    const { connect, plan } = setUp();
    const { digest } = await plan(['repo', 'user']);
    expect((await plan(['user', 'repo'])).digest).toBe(digest);
    await connect({ scopes: ['user'] });
    expect((await plan(['repo'])).digest).toBe(digest);
    // A consent that is under way while one release replaces another still counts.
    expect(digest).toBe('bQl6i8klIOgB0ieGXlTW70');
  });

  it('is another one as soon as anything else is asked for', async () => {
    const { connect, plan } = setUp();
    const { digest } = await plan(['repo']);
    expect((await plan(['repo', 'user'])).digest).not.toBe(digest);
    await connect({ scopes: ['user'] });
    expect((await plan(['repo'])).digest).not.toBe(digest);
  });
});
