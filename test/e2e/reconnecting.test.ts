import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Connected, connected, connectionIdOf, textOf } from '../support/connections.ts';
import { startGatedEndpoint } from '../support/gated-endpoint.ts';
import { modernCall, urlRequestOf } from '../support/modern-call.ts';
import { connectAccount, elicitationIdOf } from '../support/person-at-gateway.ts';
import { acceptFormIn, type RawAnswer, type RawBrowser } from '../support/raw-browser.ts';
import { type Api, askFor, keyOf, startWorld, type World } from '../support/world.ts';

const scopeSpelling = { prefixes: ['https://api.forge.example/'], ignoreCase: true };

let world: World;

beforeAll(async () => {
  world = await startWorld({
    // The same provider under two names: as it is, and configured as one that adds new scopes to earlier grants.
    otherMcpServers: [{ id: 'adding', name: 'Adding Server', providers: ['forge'] }],
    config: ({ base }) => ({
      providers: (base.providers ?? []).map(provider => Object.assign({}, provider, { scopeSpelling })),
    }),
  });
});
afterEach(() => {
  world.clock.backToNow();
  Object.assign(world.provider.switches, {
    refreshTokens: 'rotate-strict',
    accessTokenTtlSeconds: 3600,
    rewriteTokenAnswer: undefined,
  });
});
afterAll(() => world?.[Symbol.asyncDispose]());

const asking = (...scopes: string[]) => ({ authorization: { provider: 'forge', scopes } });
const statusOf = async (elicitationId: string) => (await world.api.read(elicitationId)).body.status;
const scopesIn = (url: URL): string[] => (url.searchParams.get('scope') ?? '').split(' ').sort();
/** The entries of the list of scopes under this heading. */
function listIn(page: RawAnswer, part: 'fresh' | 'known'): string {
  const [, fresh = '', known = ''] =
    /<section class="fresh"(.*?)<section class="known"(.*?)<\/section>/s.exec(page.body) ?? [];
  return textOf({ ...page, body: part === 'fresh' ? fresh : known });
}

/** Makes a connection unusable for this reason. */
async function lostFor(reason: 'refused' | 'rejected' | 'expired', user: string): Promise<Connected> {
  const { provider } = world;
  if (reason !== 'refused') provider.switches.refreshTokens = 'no-refresh';
  if (reason !== 'rejected') provider.switches.accessTokenTtlSeconds = 120;
  const made = await connected(world, { user });
  const { accessToken, generation } = (await world.api.accessToken(made.connectionId)).body;
  world.clock.ahead = 3 * 60_000;
  if (reason === 'refused') await provider.endGrant(provider.tokens.grantOf(accessToken)?.grantId ?? '');
  const request = reason === 'rejected' ? { rejectedGeneration: generation } : {};
  const { body } = await world.api.accessToken(made.connectionId, request);
  if (body.code !== 'reauthorization_required') throw new Error('the connection is still usable');
  Object.assign(provider.switches, { refreshTokens: 'rotate-strict', accessTokenTtlSeconds: 3600 });
  return made;
}

describe('the page of a reconnect', () => {
  const words = {
    refused: 'Code Forge no longer accepts the connection you made on',
    rejected: 'Code Forge rejected a request by Issue Tracker, although you connected your account on',
    expired: 'was for a limited time',
    more_scopes: 'now needs more than you agreed to then',
  };
  const onlySays = (page: RawAnswer, reason: keyof typeof words | undefined) => {
    const text = textOf(page);
    for (const [name, part] of Object.entries(words))
      expect([name, text.includes(part)]).toEqual([name, name === reason]);
  };

  it('does not mention an earlier connection if there was none', async () => {
    const user = world.subject();
    const raw = world.raw();
    const { elicitationId } = await world.ask(user);
    await raw.signIn(elicitationId, user);
    onlySays(await raw.get(`/e/${elicitationId}`), undefined);
  });

  it.each(['refused', 'rejected', 'expired'] as const)(
    'gives the reason (%s), and afterwards the connection works',
    async reason => {
      const user = world.subject();
      const { raw, connectionId } = await lostFor(reason, user);
      const issued = await world.api.issue(askFor(world, user));
      expect(issued.status).toBe(201);
      const { elicitationId } = issued.body;
      onlySays(await raw.get(`/e/${elicitationId}`), reason);
      await raw.get(await raw.decideAtProvider(await raw.accept(elicitationId), 'alice'));
      expect(await connectionIdOf(world.api, elicitationId)).toBe(connectionId);
      const { status, body } = await world.api.accessToken(connectionId);
      expect([status, world.provider.tokens.statusOf(body.accessToken)]).toEqual([200, 'current']);
    },
  );

  it('gives more scopes as the reason and marks the new ones', async () => {
    const user = world.subject();
    const { raw } = await connected(world, { user });
    const { elicitationId } = await world.ask(user, asking('repo', 'issues'));
    const page = await raw.get(`/e/${elicitationId}`);
    onlySays(page, 'more_scopes');
    expect(listIn(page, 'fresh')).toContain('create issues in your name');
    expect(listIn(page, 'fresh')).not.toContain('read the list of your repositories');
    expect(listIn(page, 'known')).toContain('read the list of your repositories');
  });
});

describe('S19: consent covers only the scopes that were shown', () => {
  it('a second ask that widens an open page requires another consent', async () => {
    const user = world.subject();
    const raw = world.raw();
    const { elicitationId } = await world.ask(user, asking('repo'));
    await raw.signIn(elicitationId, user);
    const form = await raw.acceptForm(elicitationId);

    const second = await world.api.issue(askFor(world, user, asking('issues')));
    expect(second).toMatchObject({ status: 200, body: { elicitationId, status: 'pending' } });
    const refused = await raw.post(`/e/${elicitationId}/accept`, { form });
    expect(refused.status).toBe(409);
    expect(textOf(refused)).toContain('changed while this page was open');
    expect(textOf(refused)).toContain('create issues in your name');
    expect(await statusOf(elicitationId)).toBe('pending');

    const accepted = await raw.post(`/e/${elicitationId}/accept`, { form: acceptFormIn(refused) });
    expect(accepted.location).toBe(`/e/${elicitationId}/leaving`);
    const destination = await raw.accept(elicitationId);
    expect(scopesIn(destination)).toEqual(['issues', 'openid', 'profile', 'repo']);
    await raw.get(await raw.decideAtProvider(destination, 'alice'));
    expect((await world.api.read(elicitationId)).body.outcome?.scopes).toEqual(
      expect.arrayContaining(['issues', 'repo']),
    );
  });

  it.each<Record<string, string>>([{ shown: 'x' }, { shown: '' }, {}])(
    'a form that names another plan, or none, does not count: %o',
    async overrides => {
      const user = world.subject();
      const raw = world.raw();
      const { elicitationId } = await world.ask(user);
      await raw.signIn(elicitationId, user);
      const { csrf_token = '' } = await raw.acceptForm(elicitationId);
      expect((await raw.post(`/e/${elicitationId}/accept`, { form: { csrf_token, ...overrides } })).status).toBe(409);
      expect(await statusOf(elicitationId)).toBe('pending');
    },
  );

  it('a grant made meanwhile requires another consent', async () => {
    const user = world.subject();
    const { raw } = await connected(world, { user, scopes: ['issues'] });
    const { elicitationId } = await world.ask(user, asking('repo'));
    const form = await raw.acceptForm(elicitationId);
    const { connectionId } = (await world.api.connections({ issuer: world.identityProvider.issuer, subject: user }))
      .body.connections[0] ?? { connectionId: '' };
    await world.api.remove(connectionId);
    // The previous grant has ended, so the request would cover fewer scopes than the page showed.
    const refused = await raw.post(`/e/${elicitationId}/accept`, { form });
    expect(refused.status).toBe(409);
    expect(textOf(refused)).not.toContain('create issues in your name');
  });
});

describe('concurrent asks share one elicitation', () => {
  it('through the API, for the same or other scopes', async () => {
    const user = world.subject();
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        world.api.issue(askFor(world, user, asking(n % 2 === 0 ? 'repo' : 'issues'))),
      ),
    );
    const ids = new Set(answers.map(({ body }) => body.elicitationId));
    expect(ids.size).toBe(1);
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(11);
    const [elicitationId = ''] = ids;
    const raw = world.raw();
    await raw.signIn(elicitationId, user);
    const destination = await raw.accept(elicitationId);
    expect(scopesIn(destination)).toEqual(['issues', 'openid', 'profile', 'repo']);
  });

  it('from two tools with @postern/mcp: one link, one decision, two results', async () => {
    const user = world.subject();
    await using endpoint = await startGatedEndpoint(world);
    const calls = ['connect', 'connect_too'].map(tool => ({ tool, subject: user }));
    const first = await Promise.all(calls.map(call => modernCall(endpoint.url, call)));
    const asked = first.map(urlRequestOf);
    expect(new Set(asked.map(({ url }) => url)).size).toBe(1);
    const elicitationId = elicitationIdOf(asked[0]?.url ?? '');
    const retries = Promise.all(
      calls.map((call, at) =>
        modernCall(endpoint.url, {
          ...call,
          inputResponses: { [asked[at]?.key ?? '']: { action: 'accept' } },
          requestState: asked[at]?.requestState,
        }),
      ),
    );
    // Both calls share one waiting read.
    await endpoint.untilHolding(elicitationId);
    await connectAccount(world.raw(), elicitationId, user);
    expect((await retries).map(({ text }) => text)).toEqual(['accept alice', 'accept alice']);
  });

  it('but not for two users or two MCP servers', async () => {
    const [user, other] = [world.subject(), world.subject()];
    const second = world.apiOf({ apiKey: keyOf('adding') });
    const ids = await Promise.all(
      (
        [
          [world.api, user],
          [world.api, other],
          [second, user],
        ] as [Api, string][]
      ).map(async ([api, of]) => (await api.issue(askFor(world, of))).body.elicitationId),
    );
    expect(new Set(ids).size).toBe(3);
  });
});

describe('S19: the scopes requested at the provider', () => {
  it('are the union if the provider grants exactly the requested scopes', async () => {
    const user = world.subject();
    const { raw } = await connected(world, { user, scopes: ['repo'] });
    const { elicitationId } = await world.ask(user, asking('issues'));
    expect(scopesIn(await raw.accept(elicitationId))).toEqual(['issues', 'openid', 'profile', 'repo']);
  });

  describe('are only the missing ones if the provider adds to earlier grants', () => {
    let incremental: World;
    beforeAll(async () => {
      incremental = await startWorld({
        config: ({ base }) => ({
          providers: (base.providers ?? []).map(provider => Object.assign({}, provider, { incrementalScopes: true })),
        }),
      });
    });
    afterAll(() => incremental?.[Symbol.asyncDispose]());

    it('and the connection has both afterwards', async () => {
      const user = incremental.subject();
      const { raw, connectionId } = await connected(incremental, { user, scopes: ['repo'] });
      const { elicitationId } = await incremental.ask(user, asking('issues', 'repo'));
      const page = await raw.get(`/e/${elicitationId}`);
      // The page shows all scopes of the new grant, and which of them are new.
      expect(listIn(page, 'fresh')).toContain('create issues in your name');
      expect(listIn(page, 'known')).toContain('read the list of your repositories');
      const destination = await raw.accept(elicitationId);
      expect(scopesIn(destination)).not.toContain('repo');
      expect(scopesIn(destination)).toContain('issues');
      // Like Google with include_granted_scopes, the response lists all scopes that were ever granted.
      incremental.provider.switches.rewriteTokenAnswer = answer => ({
        ...answer,
        scope: [...new Set(`${String(answer['scope'])} repo`.split(' '))].join(' '),
      });
      await raw.get(await raw.decideAtProvider(destination, 'alice'));
      incremental.provider.switches.rewriteTokenAnswer = undefined;
      expect(await connectionIdOf(incremental.api, elicitationId)).toBe(connectionId);
      const { body } = await incremental.api.accessToken(connectionId);
      expect(body.scopes).toEqual(expect.arrayContaining(['issues', 'repo']));
    });
  });
});

describe('S19: a grant with fewer scopes than the tool needs', () => {
  async function grantLess(raw: RawBrowser, elicitationId: string): Promise<void> {
    const destination = await raw.accept(elicitationId);
    await raw.get(await raw.decideAtProvider(destination, 'alice', { grantScopes: ['openid', 'profile', 'repo'] }));
  }

  it('returns to the page with a notice and stores nothing; a full grant works', async () => {
    const user = world.subject();
    const raw = world.raw();
    const { elicitationId } = await world.ask(user, asking('repo', 'issues'));
    await raw.signIn(elicitationId, user);
    await grantLess(raw, elicitationId);
    expect(await statusOf(elicitationId)).toBe('pending');
    const page = await raw.get(`/e/${elicitationId}`);
    expect(textOf(page)).toContain('gave fewer permissions than Issue Tracker needs');
    const missing = /<section class="missing".*?<\/section>/s.exec(page.body)?.[0];
    expect(missing).toContain('create issues in your name');
    expect(missing).not.toContain('read the list of your repositories');
    const { issuer } = world.identityProvider;
    expect((await world.api.connections({ issuer, subject: user })).body.connections).toEqual([]);

    await raw.get(await raw.decideAtProvider(await raw.accept(elicitationId), 'alice'));
    expect(await statusOf(elicitationId)).toBe('completed');
  });

  it('leaves the existing connection unchanged', async () => {
    const user = world.subject();
    const { connectionId } = await connected(world, { user, scopes: ['repo'] });
    const before = (await world.api.accessToken(connectionId)).body;
    const raw = world.raw();
    const { elicitationId } = await world.ask(user, asking('repo', 'issues'));
    await raw.signIn(elicitationId, user);
    await grantLess(raw, elicitationId);
    expect(await statusOf(elicitationId)).toBe('pending');
    expect((await world.api.accessToken(connectionId)).body).toMatchObject({
      accessToken: before.accessToken,
      generation: before.generation,
    });
    expect(world.provider.tokens.statusOf(before.accessToken)).toBe('current');
  });
});

describe('S192: a scope in another spelling', () => {
  const respell = (scope: unknown) =>
    String(scope)
      .split(' ')
      .map(part => `https://API.forge.example/${part.toUpperCase()}`)
      .join(' ');

  it('is granted, serves every spelling without asking again, and survives refreshes', async () => {
    world.provider.switches.rewriteTokenAnswer = answer => ({ ...answer, scope: respell(answer['scope']) });
    const user = world.subject();
    const scopes = ['https://api.forge.example/Repo', 'issues'];
    const made = connected(world, { user, scopes });
    await expect(made).resolves.toHaveProperty('connectionId');
    const { connectionId } = await made;
    const read = async () => (await world.api.accessToken(connectionId)).body;
    const { scopes: granted, generation } = await read();
    expect(granted).toEqual(expect.arrayContaining(['issues', 'repo']));

    for (const spelling of ['repo', 'REPO', 'https://api.forge.example/repo'])
      expect(await world.api.issue(askFor(world, user, asking(spelling)))).toMatchObject({
        status: 200,
        body: { status: 'completed', outcome: { connectionId } },
      });
    expect((await world.api.issue(askFor(world, user, asking('https://other.example/repo')))).status).not.toBe(200);

    world.clock.ahead = 2 * 3_600_000;
    const refreshed = await read();
    expect(refreshed.generation).toBeGreaterThan(generation);
    expect(refreshed.scopes).toEqual(granted);
  });
});

describe('S191: an untidy token response', () => {
  it.each([
    { refresh_token: null, scope: null, expires_in: '3600', token_type: null },
    { refresh_token: '', scope: null, expires_in: 0, token_type: undefined },
  ])('to a refresh keeps the refresh token, the scopes and the connection: %o', async changes => {
    world.provider.switches.refreshTokens = 'static';
    const user = world.subject();
    const { connectionId } = await connected(world, { user });
    const before = (await world.api.accessToken(connectionId)).body;
    world.provider.switches.rewriteTokenAnswer = answer => ({ ...answer, ...changes });
    world.clock.ahead = 2 * 3_600_000;
    const first = (await world.api.accessToken(connectionId)).body;
    expect(first).toMatchObject({ generation: before.generation + 1, scopes: before.scopes });
    // The refresh token from before still works, when the API has rejected the access token.
    world.clock.ahead = 4 * 3_600_000;
    const second = (await world.api.accessToken(connectionId, { rejectedGeneration: first.generation })).body;
    expect(second).toMatchObject({ generation: first.generation + 1, scopes: before.scopes });
    expect(world.provider.tokens.statusOf(second.accessToken)).toBe('current');
  });
});
