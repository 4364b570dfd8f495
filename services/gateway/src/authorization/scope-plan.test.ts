import { AuthorizationError, type Provider } from '@postern/authorization';
import { samples } from '@postern/testkit/contract';
import { describe, expect, it } from 'vitest';
import { createFlowStage, ofAuthorization } from '../testing/flow-stage.ts';
import { createScopePlanner } from './scope-plan.ts';

interface World {
  readonly incremental?: boolean;
  /** The scopes that the operator allows. */
  readonly allowed?: readonly string[];
  /** The scopes that the configuration always adds. */
  readonly base?: readonly string[];
}

/** The scope functions of a configured provider. */
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
        ...elicitation,
        version: 1,
        status: 'pending',
        createdAt: at,
        expiresAt: at + 60_000,
      });
      return planFor({ ...pending, request: { ...pending.request, scopes, ...change } });
    },
  };
}

describe('without a connection', () => {
  it('requests the needed scopes and the scopes that the configuration adds', async () => {
    const { plan } = setUp({ base: ['openid'] });
    const { requested, held, connection } = await plan(['user', 'repo']);
    expect({ requested, held, connection }).toEqual({
      requested: ['openid', 'repo', 'user'],
      held: [],
      connection: undefined,
    });
  });

  it('holds no scopes of another account', async () => {
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
  ])('keeps the scopes it holds (incremental: $incremental)', async ({ incremental, requested }) => {
    const { connect, plan } = setUp({ incremental, base: ['openid'] });
    const connection = await connect({ scopes: ['repo'] });
    expect(await plan(['user'])).toMatchObject({ requested, held: ['repo'], reason: 'more_scopes', connection });
  });

  it('requests all scopes of an incremental provider if the connection is lost', async () => {
    const { connect, stores, plan } = setUp({ incremental: true, base: ['openid'] });
    const current = await connect({ scopes: ['repo'] });
    await stores.connections.markLost({ current, reason: 'refused' });
    expect(await plan(['user'])).toMatchObject({ requested: ['openid', 'repo', 'user'], reason: 'refused' });
  });

  it('neither requests nor holds scopes that are no longer allowed', async () => {
    const { connect, plan } = setUp();
    await connect({ scopes: ['admin', 'repo'] });
    expect(await plan(['user'])).toMatchObject({ requested: ['repo', 'user'], held: ['repo'] });
  });
});

describe.each([{ incremental: false }, { incremental: true }])(
  'a scope that the operator removes after the issue (incremental: $incremental)',
  world => {
    it('stays in the plan, so that the accept reports the error', async () => {
      const { connect, plan } = setUp(world);
      expect(await plan(['admin'])).toMatchObject({ requested: ['admin'] });
      await connect({ scopes: ['repo'] });
      expect((await plan(['admin'])).requested).toContain('admin');
    });
  },
);

describe('the digest', () => {
  it('the digest is equal for equal scopes, in any order and from any mix of needed and held', async () => {
    const { connect, plan } = setUp();
    const { digest } = await plan(['repo', 'user']);
    expect((await plan(['user', 'repo'])).digest).toBe(digest);
    await connect({ scopes: ['user'] });
    expect((await plan(['repo'])).digest).toBe(digest);
    // A consent must stay valid while one release replaces another.
    expect(digest).toBe('bQl6i8klIOgB0ieGXlTW70');
  });

  it('changes with any requested scope', async () => {
    const { connect, plan } = setUp();
    const { digest } = await plan(['repo']);
    expect((await plan(['repo', 'user'])).digest).not.toBe(digest);
    await connect({ scopes: ['user'] });
    expect((await plan(['repo'])).digest).not.toBe(digest);
  });
});
