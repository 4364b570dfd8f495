import {
  createCookieJar,
  driveAuthorization,
  type EvilProvider,
  startEvilProvider,
  startOpenIdProvider,
  type TestProvider,
} from '@postern/testkit/providers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RawBrowser } from '../support/raw-browser.ts';
import { freePort, startWorld, type World, worldUsers } from '../support/world.ts';

/**
 * RFC 9700 section 4.4: the attacker's identity provider redirects a victim to the honest one, so that the gateway
 * mistakes the honest provider's response for one of the attacker's provider. Neither provider advertises or sends
 * `iss`, because the attacker would avoid it.
 */
describe('S65: sign-in with an honest identity provider and one of the attacker', () => {
  let honest: TestProvider;
  let evil: EvilProvider;
  let world: World;

  beforeAll(async () => {
    const publicUrl = `http://localhost:${await freePort()}`;
    const callback = (name: string) => `${publicUrl}/login/callback/${name}`;
    evil = await startEvilProvider({ clientId: 'postern' });
    evil.metadata = { ...evil.metadata, authorization_response_iss_parameter_supported: false };
    honest = await startOpenIdProvider({
      consent: 'skip',
      users: worldUsers,
      issParameter: false,
      clients: [{ clientId: 'postern', clientSecret: 'honest-secret', redirectUris: [callback('honest-id')] }],
    });
    world = await startWorld({
      publicUrl,
      config: {
        identityProviders: [
          { name: 'honest-id', issuer: honest.issuer, clientId: 'postern', clientSecret: 'honest-secret' },
          { name: 'evil-id', issuer: evil.issuer, clientId: 'postern', clientSecret: 'evil-secret' },
        ],
      },
      mcpServer: { issuers: [honest.issuer, evil.issuer] },
    });
  });
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
    await honest?.close();
    await evil?.close();
  });

  let attacker: RawBrowser;
  let victim: RawBrowser;
  const exchanges = () => [honest, evil].map(provider => provider.requests('token').length);
  let before: readonly number[];
  beforeEach(() => {
    attacker = world.raw();
    victim = world.raw();
    before = exchanges();
  });

  const startAt = async (raw: RawBrowser, name: string) =>
    new URL((await raw.get(`/login?to=me&idp=${name}`)).location ?? '');
  const isSignedIn = (raw: RawBrowser) => raw.cookies.has('postern_session');
  /** The victim's browser at the honest provider, after a redirect by the evil one. */
  const signInOf = (url: URL) => driveAuthorization(url, world.subject(), { jar: createCookieJar() });

  it('has a distinct redirect URI for each identity provider', async () => {
    const redirectUris = await Promise.all(
      ['honest-id', 'evil-id'].map(async name => (await startAt(world.raw(), name)).searchParams.get('redirect_uri')),
    );
    expect(redirectUris).toEqual(['honest-id', 'evil-id'].map(name => `${world.publicUrl}/login/callback/${name}`));
  });

  it('never posts the code of the honest provider to the evil one, and consumes the transaction', async () => {
    const begunByAttacker = await startAt(attacker, 'honest-id');
    const state = (await startAt(victim, 'evil-id')).searchParams.get('state') ?? '';
    // The attacker's challenge and nonce, the victim's state.
    const lure = new URL(begunByAttacker);
    lure.searchParams.set('state', state);
    const callback = await signInOf(lure);
    expect(callback.searchParams.get('code')).toEqual(expect.any(String));
    expect(callback.searchParams.has('iss')).toBe(false);

    expect((await victim.get(callback)).status).toBe(400);
    expect(isSignedIn(victim)).toBe(false);
    const again = new URLSearchParams({ code: 'evil-code', state });
    expect((await victim.get(`/login/callback/evil-id?${again}`)).status).toBe(400);
    expect(exchanges()).toEqual(before);
  });

  it('cannot be sent to the redirect URI of the evil provider by the honest one', async () => {
    const lure = await startAt(victim, 'honest-id');
    lure.searchParams.set('redirect_uri', `${world.publicUrl}/login/callback/evil-id`);
    await expect(signInOf(lure)).rejects.toThrow();
    expect(exchanges()).toEqual(before);
  });

  it.each(['evil-id', 'unknown-id', 'honest-id/', 'HONEST-ID', 'honest-id%2F..%2Fevil-id'])(
    'refuses a response at /login/callback/%s for a sign-in at the honest provider',
    async name => {
      const url = await startAt(victim, 'honest-id');
      const callback = await signInOf(url);
      const answer = await victim.get(`/login/callback/${name}${callback.search}`);
      expect([400, 404]).toContain(answer.status);
      expect(isSignedIn(victim)).toBe(false);
      expect(exchanges()).toEqual(before);
    },
  );

  it('signs in at each identity provider that returns its own response', async () => {
    const callback = await signInOf(await startAt(victim, 'honest-id'));
    expect(await victim.get(callback)).toMatchObject({ status: 303, location: '/me' });
    expect(isSignedIn(victim)).toBe(true);
    expect(exchanges()).toEqual([(before[0] ?? 0) + 1, before[1]]);
  });

  it('knows no redirect URI without the name of an identity provider', async () => {
    const callback = await signInOf(await startAt(victim, 'honest-id'));
    expect(await victim.get(`/login/callback${callback.search}`)).toMatchObject({ status: 404, setCookies: [] });
    expect(exchanges()).toEqual(before);
    // No transaction was consumed.
    expect(await victim.get(callback)).toMatchObject({ status: 303, location: '/me' });
  });
});
