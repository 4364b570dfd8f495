import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Connected, connected, connectionIdOf, textOf } from '../support/connections.ts';
import { startGatedEndpoint } from '../support/gated-endpoint.ts';
import { modernCall, urlRequestOf } from '../support/modern-call.ts';
import { connectAccount, elicitationIdOf } from '../support/person-at-gateway.ts';
import { acceptFormIn, type RawAnswer, type RawBrowser } from '../support/raw-browser.ts';
import { type Api, askFor, keyOf, startWorld, type World } from '../support/world.ts';

let world: World;

beforeAll(async () => {
  world = await startWorld({
    // The same provider under two names: as it is, and as one that adds new scopes to those it granted before.
    otherMcpServers: [{ id: 'adding', name: 'Adding Server', providers: ['forge'] }],
  });
});
afterEach(() => {
  world.clock.backToNow();
  Object.assign(world.provider.switches, { refreshTokens: 'rotate-strict', accessTokenTtlSeconds: 3600 });
});
afterAll(() => world?.[Symbol.asyncDispose]());

const asking = (...scopes: string[]) => ({ authorization: { provider: 'forge', scopes } });
const statusOf = async (elicitationId: string) => (await world.api.read(elicitationId)).body.status;
const scopesIn = (url: URL): string[] => (url.searchParams.get('scope') ?? '').split(' ').sort();
/** The entries of a list of scopes on the page, by the heading above it. */
function listIn(page: RawAnswer, heading: string): string {
  const [, list = ''] = new RegExp(`${heading}.*?<ul[^>]*>(.*?)</ul>`, 's').exec(page.body) ?? [];
  return textOf({ ...page, body: list });
}

/** A connection that no longer serves, for this reason. */
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
  if (body.code !== 'reauthorization_required') throw new Error('the connection still serves');
  Object.assign(provider.switches, { refreshTokens: 'rotate-strict', accessTokenTtlSeconds: 3600 });
  return made;
}

describe('the page that asks again', () => {
  const words = {
    refused: 'Code Forge no longer accepts the connection you made on',
    rejected: 'Code Forge turned Issue Tracker away, although you connected your account on',
    expired: 'was for a limited time',
    more_scopes: 'now needs more than you agreed to then',
  };
  const onlySays = (page: RawAnswer, reason: keyof typeof words | undefined) => {
    const text = textOf(page);
    for (const [name, part] of Object.entries(words))
      expect([name, text.includes(part)]).toEqual([name, name === reason]);
  };

  it('does not speak of an earlier connection where there was none', async () => {
    const user = world.subject();
    const raw = world.raw();
    const { elicitationId } = await world.ask(user);
    await raw.signIn(elicitationId, user);
    onlySays(await raw.get(`/e/${elicitationId}`), undefined);
  });

  it.each(['refused', 'rejected', 'expired'] as const)(
    'says why: %s; and afterwards the connection serves',
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

  it('says why: more scopes, and which of them are new', async () => {
    const user = world.subject();
    const { raw } = await connected(world, { user });
    const { elicitationId } = await world.ask(user, asking('repo', 'issues'));
    const page = await raw.get(`/e/${elicitationId}`);
    onlySays(page, 'more_scopes');
    expect(listIn(page, 'New: it would also be able to')).toContain('create issues in your name');
    expect(listIn(page, 'New: it would also be able to')).not.toContain('read the list of your repositories');
    expect(listIn(page, 'You agreed before that it may')).toContain('read the list of your repositories');
  });
});

describe('S19: consent counts for what was shown', () => {
  it('a second ask widens the first while its page is open: shown again, agreed to again', async () => {
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

  it.each([{ shown: 'x' }, { shown: '' }, {}])(
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

  it('another answer in between changes what is granted already: shown again', async () => {
    const user = world.subject();
    const { raw } = await connected(world, { user, scopes: ['issues'] });
    const { elicitationId } = await world.ask(user, asking('repo'));
    const form = await raw.acceptForm(elicitationId);
    const { connectionId } = (await world.api.connections({ issuer: world.identityProvider.issuer, subject: user }))
      .body.connections[0] ?? { connectionId: '' };
    await world.api.remove(connectionId);
    // What was held is gone, so less would be asked for than the page said.
    const refused = await raw.post(`/e/${elicitationId}/accept`, { form });
    expect(refused.status).toBe(409);
    expect(textOf(refused)).not.toContain('create issues in your name');
  });
});

describe('parallel asks share one elicitation', () => {
  it('through the API: the same scopes or others, at once', async () => {
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

  it('of two tools of an MCP server with @postern/mcp: one link, one question, two results', async () => {
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
    await endpoint.untilHolding(elicitationId, 2);
    await connectAccount(world.raw(), elicitationId, user);
    expect((await retries).map(({ text }) => text)).toEqual(['accept alice', 'accept alice']);
  });

  it('of two people, or of two MCP servers, they stay apart', async () => {
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

describe('S19: what the provider is asked for', () => {
  it('the union, where it grants what it is asked and nothing else', async () => {
    const user = world.subject();
    const { raw } = await connected(world, { user, scopes: ['repo'] });
    const { elicitationId } = await world.ask(user, asking('issues'));
    expect(scopesIn(await raw.accept(elicitationId))).toEqual(['issues', 'openid', 'profile', 'repo']);
  });

  describe('only what is missing, where it adds to what it granted before', () => {
    let incremental: World;
    beforeAll(async () => {
      incremental = await startWorld({
        config: ({ base }) => ({
          providers: (base.providers ?? []).map(provider => Object.assign({}, provider, { incrementalScopes: true })),
        }),
      });
    });
    afterAll(() => incremental?.[Symbol.asyncDispose]());

    it('and the connection holds both afterwards', async () => {
      const user = incremental.subject();
      const { raw, connectionId } = await connected(incremental, { user, scopes: ['repo'] });
      const { elicitationId } = await incremental.ask(user, asking('issues', 'repo'));
      const page = await raw.get(`/e/${elicitationId}`);
      // The page says all that will be granted, and what of it is new.
      expect(listIn(page, 'New: it would also be able to')).toContain('create issues in your name');
      expect(listIn(page, 'You agreed before that it may')).toContain('read the list of your repositories');
      const destination = await raw.accept(elicitationId);
      expect(scopesIn(destination)).not.toContain('repo');
      expect(scopesIn(destination)).toContain('issues');
      // As Google does with include_granted_scopes: the answer names everything that was ever granted.
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

describe('S19: fewer scopes than the tool needs', () => {
  async function grantLess(raw: RawBrowser, elicitationId: string): Promise<void> {
    const destination = await raw.accept(elicitationId);
    await raw.get(await raw.decideAtProvider(destination, 'alice', { grantScopes: ['openid', 'profile', 'repo'] }));
  }

  it('back to the question with a notice, nothing is stored; all of them work', async () => {
    const user = world.subject();
    const raw = world.raw();
    const { elicitationId } = await world.ask(user, asking('repo', 'issues'));
    await raw.signIn(elicitationId, user);
    await grantLess(raw, elicitationId);
    expect(await statusOf(elicitationId)).toBe('pending');
    const page = await raw.get(`/e/${elicitationId}`);
    expect(textOf(page)).toContain('gave fewer permissions than Issue Tracker needs');
    const missing = /<p class="missing">.*?<\/ul>/s.exec(page.body)?.[0];
    expect(missing).toContain('create issues in your name');
    expect(missing).not.toContain('read the list of your repositories');
    const { issuer } = world.identityProvider;
    expect((await world.api.connections({ issuer, subject: user })).body.connections).toEqual([]);

    await raw.get(await raw.decideAtProvider(await raw.accept(elicitationId), 'alice'));
    expect(await statusOf(elicitationId)).toBe('completed');
  });

  it('the connection that is there already stays as it is', async () => {
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
