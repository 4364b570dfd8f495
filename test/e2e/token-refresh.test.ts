import { tokenDigest } from '@postern/testkit/providers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ConnectedPerson, connectPerson } from '../support/connected-person.ts';
import { ageAccessToken, expireAccessToken } from '../support/token-expiry.ts';
import { createApi, keyOf, startWorld, type World } from '../support/world.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

let world: World;

beforeAll(async () => {
  world = await startWorld({ replicas: 2 });
});
beforeEach(() => {
  const { provider } = world;
  world.clock.ahead = 0;
  provider.clearFaults();
  provider.clearRequests();
  provider.onRefresh(undefined);
  Object.assign(provider.switches, { refreshTokens: 'rotate-strict', rewriteTokenAnswer: undefined });
});
afterAll(() => world?.[Symbol.asyncDispose]());

const expire = ({ connectionId }: ConnectedPerson) =>
  expireAccessToken(world, connectionId, Date.now() + world.clock.ahead);
const age = ({ connectionId }: ConnectedPerson) => ageAccessToken(world, connectionId, Date.now() + world.clock.ahead);
const refreshRequests = () =>
  world.provider.requests('token').filter(({ form }) => form['grant_type'] === 'refresh_token');
const grantOf = (accessToken: string) => {
  const grant = world.provider.tokens.grantOf(accessToken);
  if (grant === undefined) throw new Error('the provider does not know this token');
  return grant;
};
const statusOf = (accessToken: string) => world.provider.tokens.statusOf(accessToken);

/** Delays the next response to a refresh. Resolves when the provider has rotated the token. */
function holdRefresh(): { rotated: Promise<void>; release: () => void } {
  const rotated = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  world.provider.onRefresh(() => {
    world.provider.onRefresh(undefined);
    rotated.resolve();
    return released.promise;
  });
  return { rotated: rotated.promise, release: released.resolve };
}

describe('S22: an expired token', () => {
  it('is refreshed before it is returned, and the previous one is never returned again', async () => {
    const person = await connectPerson(world);
    const first = await person.token();
    await expire(person);
    const second = await person.token();
    expect(second.generation).toBe(first.generation + 1);
    expect(statusOf(second.accessToken)).toBe('current');
    expect(await person.token()).toEqual(second);
    expect(refreshRequests()).toHaveLength(1);
  });

  it('is refreshed repeatedly, each time with the newest refresh token', async () => {
    const person = await connectPerson(world);
    for (let round = 1; round <= 5; round += 1) {
      await expire(person);
      const { accessToken } = await person.token();
      expect(grantOf(accessToken)).toMatchObject({ rotations: round, reuses: 0, status: 'live' });
    }
  });

  it.each(['static', 'static-repeated'] as const)('is refreshed with a static refresh token (%s)', async mode => {
    world.provider.switches.refreshTokens = mode;
    const person = await connectPerson(world);
    for (let round = 1; round <= 3; round += 1) {
      await expire(person);
      const { accessToken } = await person.token();
      expect(statusOf(accessToken)).toBe('current');
      expect(grantOf(accessToken).refreshes).toHaveLength(round);
    }
    expect(new Set(refreshRequests().map(({ form }) => form['refresh_token'])).size).toBe(1);
  });

  it('without a refresh token needs the user, and the page says that the connection was for a limited time', async () => {
    world.provider.switches.refreshTokens = 'no-refresh';
    const person = await connectPerson(world);
    await expire(person);
    expect(await person.refusal()).toMatchObject({ status: 409, code: 'reauthorization_required' });
    expect((await person.listed())?.status).toBe('reauthorization_required');
    const { elicitationId, page } = await person.askedAgain();
    expect(page).toContain('was for a limited time');
    await person.connectAgain(elicitationId);
    expect(statusOf((await person.token()).accessToken)).toBe('current');
    expect(refreshRequests()).toHaveLength(0);
  });

  it('does not exist without expires_in; a report refreshes the token', async () => {
    world.provider.switches.rewriteTokenAnswer = ({ expires_in: _, ...answer }) => answer;
    const person = await connectPerson(world);
    const first = await person.token();
    expect(first.expiresAt).toBeUndefined();
    world.clock.ahead = 30 * DAY_MS;
    expect(await person.token()).toEqual(first);
    expect(refreshRequests()).toHaveLength(0);
    const second = await person.token({ rejectedGeneration: first.generation });
    expect(second.generation).toBe(first.generation + 1);
    expect(statusOf(second.accessToken)).toBe('current');
  });
});

describe('S22: a token close to expiry', () => {
  it('is refreshed early by one call', async () => {
    const person = await connectPerson(world);
    const first = await person.token();
    await age(person);
    const second = await person.token();
    expect(second.generation).toBe(first.generation + 1);
    expect(await person.token()).toEqual(second);
    expect(refreshRequests()).toHaveLength(1);
  });

  it('is returned by all replicas during the refresh', async () => {
    const person = await connectPerson(world);
    const first = await person.token();
    await age(person);
    const { rotated, release } = holdRefresh();
    const renewing = person.token();
    await rotated;
    const other = world.apiOf({ replica: 1 });
    expect(await person.token()).toMatchObject({ accessToken: first.accessToken, generation: first.generation });
    expect((await other.accessToken(person.connectionId)).body.accessToken).toBe(first.accessToken);
    release();
    expect((await renewing).generation).toBe(first.generation + 1);
    expect(await person.token()).toEqual(await renewing);
    expect(refreshRequests()).toHaveLength(1);
  });
});

describe('S22: a token that the API rejected', () => {
  it('is refreshed when it is reported, and only then', async () => {
    const person = await connectPerson(world);
    const first = await person.token();
    const second = await person.token({ rejectedGeneration: first.generation });
    expect(second.generation).toBe(first.generation + 1);
    // Late reports about the previous token, and about one that never existed.
    expect(await person.token({ rejectedGeneration: first.generation })).toEqual(second);
    expect(await person.token({ rejectedGeneration: second.generation + 1 })).toEqual(second);
    expect(refreshRequests()).toHaveLength(1);
  });

  it('is refreshed once for concurrent reports on all replicas', async () => {
    const person = await connectPerson(world);
    const { generation } = await person.token();
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, nth) =>
        world.apiOf({ replica: nth % 2 }).accessToken(person.connectionId, { rejectedGeneration: generation }),
      ),
    );
    expect(new Set(answers.map(({ body }) => body.generation))).toEqual(new Set([generation + 1]));
    expect(refreshRequests()).toHaveLength(1);
    expect(grantOf(answers[0]?.body.accessToken ?? '')).toMatchObject({ reuses: 0, status: 'live' });
  });

  it('without a refresh token needs the user, unless it is brand-new', async () => {
    world.provider.switches.refreshTokens = 'no-refresh';
    const person = await connectPerson(world);
    const first = await person.token();
    expect(await person.token({ rejectedGeneration: first.generation })).toEqual(first);

    world.clock.ahead = MINUTE_MS + 1;
    expect(await person.refusal({ rejectedGeneration: first.generation })).toMatchObject({
      status: 409,
      code: 'reauthorization_required',
    });
    // No request returns this token again.
    expect(await person.refusal()).toMatchObject({ status: 409 });
    const { elicitationId, page } = await person.askedAgain();
    expect(page).toContain('although you connected your account');
    await person.connectAgain(elicitationId);
    const second = await person.token();
    expect(statusOf(second.accessToken)).toBe('current');
    // A late report does not affect the new token.
    world.clock.ahead = 3 * MINUTE_MS;
    expect(await person.token({ rejectedGeneration: first.generation })).toEqual(second);
  });

  it('is not confused with a token of another connection with the same id', async () => {
    const person = await connectPerson(world);
    const first = await person.token();
    expect((await world.api.remove(person.connectionId)).status).toBe(200);
    const { elicitationId } = await person.askedAgain();
    await person.connectAgain(elicitationId);
    const second = await person.token();
    expect(second.generation).toBeGreaterThan(first.generation);
    expect(await person.token({ rejectedGeneration: first.generation })).toEqual(second);
    expect(refreshRequests()).toHaveLength(0);
  });
});

describe('T10: a refresh response after the lease expired and another replica refreshed', () => {
  /** The first replica gets its response long after its lease; the other replica refreshes meanwhile. */
  async function overtaken(person: ConnectedPerson, meanwhile: () => void = () => undefined) {
    await expire(person);
    const { rotated, release } = holdRefresh();
    const late = person.token();
    await rotated;
    meanwhile();
    world.clock.ahead += MINUTE_MS;
    const other = await world.apiOf({ replica: 1 }).accessToken(person.connectionId);
    release();
    return { late: await late, other };
  }

  it('works with a provider that has a grace period, and the token stored first is returned', async () => {
    world.provider.switches.refreshTokens = 'rotate-grace';
    const person = await connectPerson(world);
    const { generation } = await person.token();
    const { late, other } = await overtaken(person);
    expect(other.body.generation).toBe(generation + 1);
    expect(late).toEqual(other.body);
    expect(grantOf(late.accessToken)).toMatchObject({ rotations: 1, graceAnswers: 1, reuses: 0, status: 'live' });
  });

  it('is stored if the other refresh was rejected, without asking the user', async () => {
    const { provider } = world;
    const person = await connectPerson(world);
    const { generation } = await person.token();
    // Rejected as reuse by a provider that does not revoke the grant.
    const refused = { status: 400, headers: { 'content-type': 'application/json' }, body: '{"error":"invalid_grant"}' };
    const { late, other } = await overtaken(person, () =>
      provider.fault({ endpoint: 'token', grantType: 'refresh_token', times: 1, ...refused }),
    );
    expect(other).toMatchObject({ status: 409, body: { code: 'reauthorization_required' } });
    expect(late.generation).toBe(generation + 1);
    expect(statusOf(late.accessToken)).toBe('current');
    expect(await person.token()).toEqual(late);
    expect((await person.listed())?.status).toBe('usable');
  });
});

describe('a refresh', () => {
  it('S19: updates the scopes, and a tool that needs more asks the user', async () => {
    const { provider } = world;
    const person = await connectPerson(world);
    provider.switches.rewriteTokenAnswer = answer => ({ ...answer, scope: 'openid profile' });
    await expire(person);
    expect((await person.token()).scopes).not.toContain('repo');
    expect((await person.listed())?.scopes).not.toContain('repo');
    provider.switches.rewriteTokenAnswer = undefined;
    const { elicitationId } = await person.askedAgain();
    await person.connectAgain(elicitationId);
    expect((await person.token()).scopes).toContain('repo');
  });

  it('returns the token that the provider issued last', async () => {
    const person = await connectPerson(world);
    await expire(person);
    const { accessToken } = await person.token();
    const last = grantOf(accessToken).refreshes.at(-1);
    expect(last).toMatchObject({ accessToken: tokenDigest(accessToken), answer: 'sent' });
    expect(await callApi(accessToken)).toBe(200);
  });
});

describe('last use', () => {
  it('is shown with the connection to the minute, and is empty before the first use', async () => {
    const person = await connectPerson(world);
    expect((await person.listed())?.lastUsedAt).toBeUndefined();
    await person.token({ tool: 'list_repositories' });
    const first = (await person.listed())?.lastUsedAt ?? '';
    expect(first).toMatch(/^\d{4}-/);
    world.clock.ahead = MINUTE_MS / 2;
    await person.token({ tool: 'list_repositories' });
    expect((await person.listed())?.lastUsedAt).toBe(first);
    world.clock.ahead = 2 * MINUTE_MS;
    await person.token({ tool: 'list_repositories' });
    const second = (await person.listed())?.lastUsedAt ?? '';
    expect(Date.parse(second) - Date.parse(first)).toBeGreaterThanOrEqual(2 * MINUTE_MS);
  });

  it('is not updated by a refused caller', async () => {
    const person = await connectPerson(world);
    const stranger = createApi(world.gateways[0]?.address ?? '', keyOf('unknown'));
    expect((await stranger.accessToken(person.connectionId)).status).toBe(401);
    expect((await person.listed())?.lastUsedAt).toBeUndefined();
  });
});

/** Status of the provider's API for a token. */
async function callApi(accessToken: string): Promise<number> {
  const { origin } = world.provider;
  return (await fetch(`${origin}/api/me`, { headers: { authorization: `Bearer ${accessToken}` } })).status;
}
