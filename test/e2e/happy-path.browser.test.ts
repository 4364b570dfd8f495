import { sharedBrowser } from '@postern/testkit/chromium';
import { inFull } from '@postern/testkit/in-full';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { atProvider, connect, newPerson, signIn } from '../support/browser.ts';
import { startWorld, type World } from '../support/world.ts';

let browser: Browser;
let world: World;

beforeAll(async () => {
  [browser, world] = await Promise.all([sharedBrowser(), startWorld()]);
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

describe('the happy path', () => {
  inFull.it('gives two concurrent users their own connections', async () => {
    const users = [world.subject(), world.subject()] as const;
    const outcomes = await Promise.all(
      users.map(async (user, at) => {
        await using person = await newPerson(browser, user);
        const issued = await world.ask(user);
        await person.page.goto(issued.url);
        await signIn(person.page, user);
        await connect(person.page, at === 0 ? 'alice' : 'bob');
        await person.page.waitForURL(issued.url);
        return world.api.read(issued.elicitationId);
      }),
    );
    const tokens = await Promise.all(
      outcomes.map(({ body }) => world.api.accessToken(body.outcome?.connectionId ?? '')),
    );
    const accounts = await Promise.all(
      tokens.map(async ({ body }) => {
        const answer = await fetch(`${world.provider.issuer}/me`, {
          headers: { authorization: `Bearer ${body.accessToken}` },
        });
        return ((await answer.json()) as { sub: string }).sub;
      }),
    );
    expect(accounts).toEqual(['alice', 'bob']);
    expect(outcomes[0]?.body.outcome?.connectionId).not.toBe(outcomes[1]?.body.outcome?.connectionId);
  });

  it('skips the user for granted scopes and asks for further ones', async () => {
    const user = world.subject();
    await using person = await newPerson(browser, user);
    const first = await world.ask(user);
    await person.page.goto(first.url);
    await signIn(person.page, user);
    await connect(person.page, 'alice');
    await person.page.waitForURL(first.url);

    const { issuer } = world.identityProvider;
    const request = (scopes: string[]) => ({
      kind: 'authorization' as const,
      subject: { issuer, subject: user },
      authorization: { provider: 'forge', scopes },
    });
    const names = { provider: 'forge', providerName: 'Code Forge' };
    expect(first).toMatchObject({ authorization: names });
    expect(await world.api.issue(request(['repo']))).toMatchObject({
      status: 200,
      body: { status: 'completed', authorization: names },
    });
    const more = await world.api.issue(request(['repo', 'issues']));
    expect(more).toMatchObject({ status: 201, body: { status: 'pending' } });

    // The user is already signed in at the gateway and at the provider.
    await person.page.goto(more.body.url);
    await person.page.getByRole('button', { name: 'Continue' }).click();
    await atProvider(person.page, 'alice');
    await person.page.waitForURL(more.body.url);
    expect((await world.api.read(more.body.elicitationId)).body.outcome?.scopes).toEqual(
      expect.arrayContaining(['repo', 'issues']),
    );
  });

  inFull.it('S01: the link and our own redirects contain only an opaque 256-bit id', async () => {
    const user = world.subject();
    const canaries = ['canary-message', 'canary-tool', 'canary-client'];
    const issued = await world.ask(user, {
      message: 'canary-message',
      requestedBy: { tool: 'canary-tool', mcpClient: 'canary-client' },
    });
    expect(issued.url).toBe(`${world.publicUrl}/e/${issued.elicitationId}`);
    expect(issued.elicitationId).toMatch(/^el_[0-9a-f]{2}[A-Za-z0-9_-]{43}$/);

    await using person = await newPerson(browser, user);
    const visited: string[] = [];
    person.context.on('request', request => visited.push(request.url()));
    await person.page.goto(issued.url);
    await signIn(person.page, user);
    await connect(person.page, 'alice');
    await person.page.waitForURL(issued.url);
    const own = visited.filter(url => url.startsWith(world.publicUrl));
    for (const secret of [user, ...canaries]) expect(own.filter(url => url.includes(secret))).toEqual([]);
    expect(visited.filter(url => canaries.some(canary => url.includes(canary)))).toEqual([]);
  });

  it('S20: shows the MCP server, the purpose and the destination before the redirect to the provider', async () => {
    const user = world.subject();
    await using person = await newPerson(browser, user);
    const issued = await world.ask(user, { authorization: { provider: 'forge', scopes: ['repo', 'issues'] } });
    world.provider.clearRequests();
    await person.page.goto(issued.url);
    await signIn(person.page, user);

    const text = await person.page.locator('main').textContent();
    const providerHost = new URL(world.provider.issuer).host;
    for (const part of [
      'Issue Tracker',
      'localhost:7001',
      'Code Forge',
      'read the list of your repositories',
      'create issues in your name',
      providerHost,
      issued.matchCode,
    ])
      expect(text).toContain(part);
    expect(world.provider.requests('authorization')).toHaveLength(0);
    // Both buttons are offered, and the safe one comes first.
    const actions = await person.page
      .locator('.decision form')
      .evaluateAll(forms => forms.map(form => (form as unknown as { action: string }).action));
    expect(actions.map(action => action.split('/').at(-1))).toEqual(['decline', 'accept']);
  });

  it('S19: requests only the configured scopes, and stores and shows the granted ones', async () => {
    const user = world.subject();
    const raw = world.raw();
    const issued = await world.ask(user, { authorization: { provider: 'forge', scopes: ['repo', 'issues'] } });
    await raw.signIn(issued.elicitationId, user);
    const destination = await raw.accept(issued.elicitationId);
    expect(destination.searchParams.get('scope')?.split(' ').sort()).toEqual(['issues', 'openid', 'profile', 'repo']);
    // S14: PKCE with S256, and the parameters that bind the response to this transaction.
    expect(Object.fromEntries(destination.searchParams)).toMatchObject({
      response_type: 'code',
      code_challenge_method: 'S256',
      code_challenge: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      state: expect.stringMatching(/^st_/),
      nonce: expect.any(String),
      redirect_uri: `${world.publicUrl}/callback/tracker/forge`,
    });

    world.provider.clearRequests();
    const callback = await raw.decideAtProvider(destination, 'alice', { grantScopes: ['repo', 'profile', 'openid'] });
    expect(await raw.get(callback)).toMatchObject({ status: 303, location: `/e/${issued.elicitationId}` });
    const { body } = await world.api.read(issued.elicitationId);
    // Otherwise a tool with fewer scopes than requested would fail in the middle of its work.
    expect(body.status).toBe('pending');
    expect(body.outcome).toBeUndefined();
    const { issuer } = world.identityProvider;
    expect((await world.api.connections({ issuer, subject: user })).body.connections).toEqual([]);
    const again = await raw.get(`/e/${issued.elicitationId}`);
    expect(again.body).toContain('<div class="notice">');
    expect(again.body).toContain('create issues in your name');
    // Revoke it before the user returns to the provider, so that the revocation cannot end the next grant.
    expect(world.provider.requests('revocation').map(({ status }) => status)).toContain(200);

    await raw.get(await raw.decideAtProvider(await raw.accept(issued.elicitationId), 'alice'));
    const completed = await world.api.read(issued.elicitationId);
    expect(completed.body.outcome?.scopes).toEqual(['issues', 'openid', 'profile', 'repo']);
    const { accessToken } = (await world.api.accessToken(completed.body.outcome?.connectionId ?? '')).body;
    expect(world.provider.tokens.statusOf(accessToken)).toBe('current');
    const page = await raw.get(`/e/${issued.elicitationId}`);
    for (const words of ['read the list of your repositories', 'create issues in your name'])
      expect(page.body).toContain(words);
  });

  it('S19: neither stores nor shows scopes that were not requested and granted', async () => {
    const user = world.subject();
    const raw = world.raw();
    const { elicitationId } = await world.ask(user, { authorization: { provider: 'forge', scopes: ['repo'] } });
    await raw.signIn(elicitationId, user);
    await raw.get(await raw.decideAtProvider(await raw.accept(elicitationId), 'alice'));
    const { body } = await world.api.read(elicitationId);
    expect(body.outcome?.scopes).toEqual(['openid', 'profile', 'repo']);
    const page = await raw.get(`/e/${elicitationId}`);
    expect(page.body).toContain('read the list of your repositories');
    expect(page.body).not.toContain('create issues in your name');
  });
});
