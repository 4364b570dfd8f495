import { startOpenIdProvider, type TestProvider } from '@postern/testkit/providers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connected, disconnectPathOf, disconnectPathsIn, signInForMe, textOf } from '../support/connections.ts';
import { ownLinksIn } from '../support/raw-browser.ts';
import { freePort, keyOf, startWorld, type World, worldUsers } from '../support/world.ts';

describe('/me without an identity provider', () => {
  it('shows no connection in identity mode loopback', async () => {
    await using lone = await startWorld({
      mcpServer: { identity: { mode: 'loopback' } },
      config: { identityProviders: [] },
    });
    const raw = lone.raw();
    const { elicitationId } = await lone.ask(lone.subject());
    await raw.get(await raw.decideAtProvider(await raw.accept(elicitationId), 'alice'));
    const { outcome } = (await lone.api.read(elicitationId)).body;
    const path = disconnectPathOf(outcome?.connectionId ?? '');
    expect(ownLinksIn(await raw.get(`/e/${elicitationId}`))).not.toContain('/me');
    // It can only clear what is open.
    expect((await raw.get('/me')).body).not.toContain(path);
    expect((await raw.get(path)).status).toBe(404);
    expect((await raw.get('/login?to=me')).status).toBe(404);
    expect((await raw.post(path, { form: { csrf_token: 'x' } })).status).toBe(404);
    expect((await lone.api.accessToken(outcome?.connectionId ?? '')).status).toBe(200);
  });
});

describe('/me with several identity providers', () => {
  let second: TestProvider;
  let both: World;

  beforeAll(async () => {
    const publicUrl = `http://localhost:${await freePort()}`;
    second = await startOpenIdProvider({
      name: 'Other ID',
      consent: 'skip',
      users: worldUsers,
      clients: [
        { clientId: 'postern', clientSecret: 'other-secret', redirectUris: [`${publicUrl}/login/callback/other-id`] },
      ],
    });
    both = await startWorld({
      publicUrl,
      mcpServer: { issuers: [second.issuer] },
      otherMcpServers: [{ id: 'wiki', name: 'Team Wiki' }],
      config: ({ base }) => ({
        identityProviders: [
          ...(base.identityProviders ?? []),
          { name: 'other-id', issuer: second.issuer, clientId: 'postern', clientSecret: 'other-secret' },
        ],
      }),
    });
  });
  afterAll(async () => {
    await both?.[Symbol.asyncDispose]();
    await second?.close();
  });

  it('offers a choice, and each account sees only its own connections', async () => {
    const user = both.subject();
    const wiki = both.apiOf({ apiKey: keyOf('wiki') });
    const mine = await connected(both, { user, api: wiki });

    const raw = both.raw();
    const page = await raw.get('/me');
    const choices = ownLinksIn(page).filter(href => href.startsWith('/login'));
    expect(choices).toEqual(['/login?to=me&idp=example-id', '/login?to=me&idp=other-id']);
    expect(textOf(page)).toContain('Sign in with Example ID');
    expect(textOf(page)).toContain(`Sign in with ${new URL(second.issuer).host}`);

    const before = second.requests('authorization').length;
    expect(await signInForMe(raw, user, choices[1])).toMatchObject({ location: '/me' });
    expect(second.requests('authorization').length).toBeGreaterThan(before);
    // The same name at another issuer is another subject.
    expect(disconnectPathsIn(await raw.get('/me'))).toEqual([]);
    expect((await raw.get(disconnectPathOf(mine.connectionId))).status).toBe(404);

    const again = both.raw();
    await signInForMe(again, user, choices[0]);
    expect(disconnectPathsIn(await again.get('/me'))).toEqual([disconnectPathOf(mine.connectionId)]);
  });

  it('a sign-in link without a provider leads to the choice, and one with an unknown provider gets 404', async () => {
    const raw = both.raw();
    expect(await raw.get('/login?to=me')).toMatchObject({ status: 303, location: '/me' });
    expect((await raw.get('/login?to=me&idp=unknown')).status).toBe(404);
    expect(raw.cookies.size).toBe(0);
  });

  it('the user can choose again after a failed sign-in', async () => {
    const raw = both.raw();
    const { location } = await raw.get('/login?to=me&idp=other-id');
    const state = new URL(location ?? '').searchParams.get('state') ?? '';
    const refused = await raw.get(
      `/login/callback/other-id?${new URLSearchParams({ error: 'access_denied', state, iss: second.issuer })}`,
    );
    expect(refused.status).toBe(400);
    expect(ownLinksIn(refused)).toContain('/me');
  });
});
