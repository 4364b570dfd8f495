import { createCookieJar, driveAuthorization } from '@postern/testkit/providers';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startWorld, type World } from '../support/world.ts';

let world: World;

beforeAll(async () => {
  world = await startWorld({
    identityProvider: { pairwise: true },
    // `sub` differs per relying party; only the directory's object id is the same everywhere.
    config: ({ base }) => ({
      identityProviders: (base.identityProviders ?? []).map(identityProvider => ({
        ...identityProvider,
        subjectClaim: 'oid',
      })),
    }),
  });
});
afterEach(() => world.identityProvider.clearFaults());
afterAll(() => world?.[Symbol.asyncDispose]());

const objectIdOf = (user: string) => `oid-${user}`;
const hasSession = (cookies: ReadonlyMap<string, string>) => cookies.has('postern_session');

describe('a failing sign-in', () => {
  it('identity provider down: the page reports it and offers a retry, without a cookie or a loop', async () => {
    const user = world.subject();
    const { elicitationId } = await world.ask(objectIdOf(user));
    const raw = world.raw();
    world.identityProvider.fault({ endpoint: 'metadata', status: 503 });
    const answer = await raw.get(`/login?e=${elicitationId}`);
    expect(answer).toMatchObject({ status: 502, location: undefined, setCookies: [] });
    expect(answer.body).toContain(`href="/login?e=${elicitationId}"`);
    world.identityProvider.clearFaults();
    expect(await raw.signIn(elicitationId, user)).toMatchObject({ location: `/e/${elicitationId}` });
  });

  it.each([
    ['503', { status: 503 }, 502],
    ['a broken connection', { drop: 'before' }, 502],
    [
      'an error',
      { status: 400, body: '{"error":"invalid_grant"}', headers: { 'content-type': 'application/json' } },
      400,
    ],
    ['HTML', { status: 200, body: '<p>x</p>', headers: { 'content-type': 'text/html' } }, 502],
    [
      'no ID token',
      {
        status: 200,
        body: '{"access_token":"x","token_type":"Bearer"}',
        headers: { 'content-type': 'application/json' },
      },
      400,
    ],
  ] as const)('token endpoint answers %s: no session is created, and a retry works', async (_, fault, status) => {
    const user = world.subject();
    const { elicitationId } = await world.ask(objectIdOf(user));
    const raw = world.raw();
    const answer = await raw.signInAnswer(elicitationId, user);
    world.identityProvider.fault({ endpoint: 'token', ...fault });
    const refused = await raw.get(answer);
    expect(refused.status).toBe(status);
    expect(refused.body).toContain(`href="/login?e=${elicitationId}"`);
    expect(hasSession(raw.cookies)).toBe(false);
    world.identityProvider.clearFaults();
    await raw.signIn(elicitationId, user);
    expect((await raw.get(`/e/${elicitationId}`)).body).toContain('csrf_token');
  });

  it('a refusal at the identity provider creates no session and leaves the elicitation unchanged', async () => {
    const user = world.subject();
    const { elicitationId } = await world.ask(objectIdOf(user));
    const raw = world.raw();
    const { location = '' } = await raw.get(`/login?e=${elicitationId}`);
    const refusal = await driveAuthorization(location, user, { jar: createCookieJar(), decision: 'deny' });
    expect(refusal.searchParams.get('error')).toBe('access_denied');
    expect((await raw.get(refusal)).status).toBe(400);
    expect(hasSession(raw.cookies)).toBe(false);
    expect((await world.api.read(elicitationId)).body.status).toBe('pending');
  });

  it('N12: a signed-in user can continue while the identity provider is down', async () => {
    const user = world.subject();
    const { elicitationId } = await world.ask(objectIdOf(user));
    const raw = world.raw();
    await raw.signIn(elicitationId, user);
    for (const endpoint of ['metadata', 'authorization', 'token', 'jwks'] as const)
      world.identityProvider.fault({ endpoint, status: 503 });
    await raw.get(await raw.decideAtProvider(await raw.accept(elicitationId), 'alice'));
    expect((await world.api.read(elicitationId)).body.status).toBe('completed');
  });
});

describe('S05, A10: the configured immutable claim identifies the user', () => {
  it('if `sub` differs per relying party, only the object id is compared', async () => {
    const [user, other] = [world.subject(), world.subject()];
    const { identityProvider } = world;
    const raw = world.raw();
    const byObjectId = await world.ask(objectIdOf(user));
    await raw.signIn(byObjectId.elicitationId, user);
    expect((await raw.get(`/e/${byObjectId.elicitationId}`)).status).toBe(200);

    const names = [
      user,
      identityProvider.subjectOf(user, 'postern'),
      `${user}@example.com`,
      objectIdOf(user).toUpperCase(),
      objectIdOf(other),
    ];
    for (const name of names) {
      const { elicitationId } = await world.ask(name);
      expect([name, (await raw.get(`/e/${elicitationId}`)).status]).toEqual([name, 403]);
    }
  });
});
