import { type OddProvider, startOddProvider } from '@postern/testkit/providers';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { connected, connectionIdOf, disconnectPathOf, disconnectPathsIn, textOf } from '../support/connections.ts';
import { csrfTokenIn, type RawBrowser } from '../support/raw-browser.ts';
import { keptRevocations, sendDueRevocations, untilNothingIsPending, untilSwept } from '../support/revocations.ts';
import { dumpStore } from '../support/store-dump.ts';
import { askFor, freePort, keyOf, startWorld, type World } from '../support/world.ts';

const HOUR_MS = 3_600_000;

let world: World;
/** Revokes all grants of a user to the client, whichever token the request contains. */
let hub: OddProvider;

beforeAll(async () => {
  const publicUrl = `http://localhost:${await freePort()}`;
  hub = await startOddProvider({
    style: 'github',
    clientId: 'postern-at-hub',
    clientSecret: 'hub-client-secret',
    redirectUris: ['tracker', 'wiki'].flatMap(id => ['hub', 'mute'].map(name => `${publicUrl}/callback/${id}/${name}`)),
  });
  const odd = {
    authorizationEndpoint: hub.endpoints.authorization,
    tokenEndpoint: hub.endpoints.token,
    userinfoEndpoint: hub.endpoints.account,
    clientId: 'postern-at-hub',
    clientSecret: 'hub-client-secret',
    clientAuthentication: 'client_secret_post',
    account: { from: 'userinfo', idClaim: 'id', nameClaim: 'login' },
  } as const;
  world = await startWorld({
    publicUrl,
    sweepPauseMs: 20,
    mcpServer: { providers: ['forge', 'hub', 'mute'] },
    otherMcpServers: [{ id: 'wiki', name: 'Team Wiki', providers: ['forge', 'hub', 'mute'] }],
    config: ({ base }) => ({
      providers: [
        ...(base.providers ?? []),
        {
          ...odd,
          name: 'hub',
          displayName: 'Code Hub',
          revocation: {
            endpoint: `${hub.origin}/applications/{clientId}/grant`,
            style: 'custom',
            method: 'DELETE',
            body: 'json',
            parameter: 'access_token',
            token: 'access_token',
            authentication: 'basic',
            reach: 'grant',
            unknownTokenStatuses: [422],
          },
        },
        { ...odd, name: 'mute', displayName: 'Mute Hub' },
      ],
    }),
  });
});
afterEach(() => {
  world.clock.backToNow();
  world.provider.clearFaults();
  world.provider.clearRequests();
  world.provider.onRefresh(undefined);
  world.provider.onExchange(undefined);
  world.provider.switches.accessTokenTtlSeconds = 3600;
  hub.clearFaults();
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await hub?.close();
});

const wikiApi = () => world.apiOf({ apiKey: keyOf('wiki') });

async function apiStatus(accessToken: string, origin = world.provider.origin): Promise<number> {
  const answer = await fetch(`${origin}/api/me`, { headers: { authorization: `Bearer ${accessToken}` } });
  return answer.status;
}

const tokenOf = async (connectionId: string, api = world.api) => (await api.accessToken(connectionId)).body.accessToken;

const secretOf = (connectionId: string) => connectionId.slice(5);

async function disconnectOnPage(raw: RawBrowser, connectionId: string) {
  const path = disconnectPathOf(connectionId);
  const form = { csrf_token: csrfTokenIn(await raw.get(path)) };
  return raw.post(path, { form });
}

describe('S24: disconnecting', () => {
  it('by the user removes the connection and revokes it at the provider', async () => {
    const { raw, connectionId } = await connected(world, { user: world.subject() });
    const accessToken = await tokenOf(connectionId);
    expect(await apiStatus(accessToken)).toBe(200);

    const question = textOf(await raw.get(disconnectPathOf(connectionId)));
    expect(question).toContain('We ask Code Forge to end the access');
    const answer = await disconnectOnPage(raw, connectionId);
    expect(answer.status).toBe(200);
    expect(textOf(answer)).toContain('Code Forge confirmed that the access has ended there too');

    expect(world.provider.revocations()).toMatchObject([
      { kind: 'refresh_token', status: 200 },
      { kind: 'access_token', status: 200 },
    ]);
    expect(await apiStatus(accessToken)).toBe(401);
    expect((await world.api.accessToken(connectionId)).status).toBe(404);
    expect(disconnectPathsIn(await raw.get('/me'))).toEqual([]);
    expect(Object.keys(await dumpStore(world)).join()).not.toContain(secretOf(connectionId));
    expect(await keptRevocations(world)).toEqual([]);
    expect(world.log()).toContain('"event":"revocation.ended"');
  });

  it('by the MCP server does the same, and the next ask needs the user again', async () => {
    const user = world.subject();
    const { connectionId } = await connected(world, { user });
    const accessToken = await tokenOf(connectionId);
    expect(await world.api.remove(connectionId)).toMatchObject({
      status: 200,
      body: { connectionId, revocation: 'revoked' },
    });
    expect(await apiStatus(accessToken)).toBe(401);
    expect((await world.api.remove(connectionId)).status).toBe(404);
    const { issuer } = world.identityProvider;
    expect((await world.api.connections({ issuer, subject: user })).body.connections).toEqual([]);
    expect((await world.api.issue(askFor(world, user))).status).toBe(201);
  });

  it('is refused for others: unknown, foreign and malformed ids get the same response and nothing ends', async () => {
    const { connectionId } = await connected(world, { user: world.subject() });
    const unknown = `cn_${connectionId.slice(3, 5)}${'A'.repeat(43)}`;
    const answers = await Promise.all([connectionId, unknown, 'nonsense'].map(id => wikiApi().remove(id)));
    for (const { status, body } of answers) {
      expect(status).toBe(404);
      expect({ ...body, requestId: '' }).toEqual({ ...answers[0]?.body, requestId: '' });
    }
    expect((await world.api.accessToken(connectionId)).status).toBe(200);
    expect(world.provider.revocations()).toEqual([]);
  });

  it('takes effect immediately while the provider is down, and the gateway revokes later', async () => {
    const { provider } = world;
    const user = world.subject();
    const { raw, connectionId } = await connected(world, { user });
    const accessToken = await tokenOf(connectionId);
    provider.fault({ endpoint: 'revocation', status: 503 });
    const answer = await disconnectOnPage(raw, connectionId);
    expect(answer.status).toBe(200);
    expect(textOf(answer)).toContain('Code Forge has not confirmed yet');
    expect((await world.api.accessToken(connectionId)).status).toBe(404);
    expect(disconnectPathsIn(await raw.get('/me'))).toEqual([]);
    expect(await apiStatus(accessToken)).toBe(200);
    expect(await keptRevocations(world)).not.toEqual([]);

    provider.clearFaults();
    world.clock.ahead = HOUR_MS;
    await untilSwept(world);
    expect(await apiStatus(accessToken)).toBe(401);
  });

  it('retries a revocation whose response is lost, without side effects', async () => {
    const { provider } = world;
    const { connectionId } = await connected(world, { user: world.subject() });
    const accessToken = await tokenOf(connectionId);
    provider.fault({ endpoint: 'revocation', drop: 'after', times: 1 });
    expect((await world.api.remove(connectionId)).body.revocation).toBe('pending');
    world.clock.ahead = HOUR_MS;
    await untilNothingIsPending(world);
    expect(provider.revocations()).toHaveLength(3);
    expect(await apiStatus(accessToken)).toBe(401);
  });

  it('S52: gives up a revocation after three days without a response and deletes the sealed tokens', async () => {
    const { connectionId } = await connected(world, { user: world.subject() });
    world.provider.fault({ endpoint: 'revocation', status: 500 });
    expect((await world.api.remove(connectionId)).body.revocation).toBe('pending');
    const sealed = JSON.stringify(await dumpStore(world)).match(/eyJ[\w-]+\.[\w.-]+/g)?.length ?? 0;
    expect(sealed).toBeGreaterThan(0);

    world.clock.ahead = 71 * HOUR_MS;
    await sendDueRevocations(world);
    await vi.waitFor(() => expect(world.provider.requests('revocation')).toHaveLength(2), { timeout: 100_000 });
    expect(await keptRevocations(world)).not.toEqual([]);
    world.clock.ahead = 73 * HOUR_MS;
    await untilNothingIsPending(world);
    expect(world.log()).toMatch(/"event":"revocation\.ended".*"outcome":"abandoned"/);
    expect(Object.keys(await dumpStore(world)).join()).not.toContain(secretOf(connectionId));
  });

  it('warns the user if the provider has no revocation endpoint', async () => {
    const { raw, connectionId } = await connected(world, { user: world.subject(), provider: 'mute' });
    const accessToken = await tokenOf(connectionId);
    expect(textOf(await raw.get(disconnectPathOf(connectionId)))).toContain(
      'Mute Hub offers no way to end the access from here',
    );
    expect(textOf(await disconnectOnPage(raw, connectionId))).toContain('remove Postern in your Mute Hub settings');
    expect(await keptRevocations(world)).toEqual([]);
    expect((await world.api.accessToken(connectionId)).status).toBe(404);
    expect(await apiStatus(accessToken, hub.origin)).toBe(200);
  });

  it('a second click finds no connection, and the provider gets one revocation', async () => {
    const { raw, connectionId } = await connected(world, { user: world.subject() });
    const path = disconnectPathOf(connectionId);
    const form = { csrf_token: csrfTokenIn(await raw.get(path)) };
    const answers = await Promise.all(Array.from({ length: 10 }, () => raw.post(path, { form })));
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([200, ...Array<number>(9).fill(303)]);
    expect(world.provider.revocations()).toHaveLength(2);
  });
});

describe('S24: a grant that several connections share', () => {
  let account = 1000;
  /** Two MCP servers of one user at a provider with one grant per user and app. */
  async function two() {
    account += 1;
    hub.account = { id: account, login: `octo-${account}`, name: 'Octo Example' };
    const user = world.subject();
    const tracker = await connected(world, { user, provider: 'hub' });
    const wiki = await connected(world, { user, provider: 'hub', api: wikiApi(), raw: tracker.raw });
    const tokens = [await tokenOf(tracker.connectionId), await tokenOf(wiki.connectionId, wikiApi())] as const;
    return { user, raw: tracker.raw, tracker: tracker.connectionId, wiki: wiki.connectionId, tokens };
  }
  const statusesOf = (tokens: readonly string[]) => Promise.all(tokens.map(token => apiStatus(token, hub.origin)));

  it('is revoked with its last connection, and both pages say so', async () => {
    const { raw, tracker, wiki, tokens } = await two();
    expect(textOf(await raw.get(disconnectPathOf(tracker)))).toContain(
      'Other connections of yours use the same access',
    );
    expect(textOf(await disconnectOnPage(raw, tracker))).toContain('it was removed only here');
    expect(await statusesOf(tokens)).toEqual([200, 200]);
    expect((await wikiApi().accessToken(wiki)).status).toBe(200);
    expect(await keptRevocations(world)).toEqual([]);

    expect((await wikiApi().remove(wiki)).body.revocation).toBe('revoked');
    expect(await statusesOf(tokens)).toEqual([401, 401]);
  });

  it('is revoked once both connections end at the same time', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { tracker, wiki, tokens } = await two();
      const answers = await Promise.all([world.api.remove(tracker), wikiApi().remove(wiki)]);
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
      await untilNothingIsPending(world);
      expect(await statusesOf(tokens)).toEqual([401, 401]);
    }
  });

  it('is revoked although the user has another account at the provider', async () => {
    const { raw, user, tracker, tokens } = await two();
    hub.account = { id: 5000 + account, login: 'other', name: 'Other' };
    const asked = await wikiApi().issue(
      askFor(world, user, {
        authorization: { provider: 'hub', scopes: ['issues'], expectedAccount: `${5000 + account}` },
      }),
    );
    await raw.get(await raw.decideAtProvider(await raw.accept(asked.body.elicitationId), 'unused'));
    const other = await tokenOf(await connectionIdOf(wikiApi(), asked.body.elicitationId), wikiApi());
    expect((await world.api.remove(tracker)).body.revocation).toBe('revoked');
    expect(await statusesOf([tokens[0], other])).toEqual([401, 200]);
  });

  it('survives if it was made while the revocation of the previous grant was pending', async () => {
    account += 1;
    hub.account = { id: account, login: `octo-${account}`, name: 'Octo Example' };
    const user = world.subject();
    const { raw, connectionId } = await connected(world, { user, provider: 'hub' });
    hub.fault({ endpoint: 'revocation', status: 503 });
    expect((await world.api.remove(connectionId)).body.revocation).toBe('pending');
    hub.clearFaults();
    await connected(world, { user, provider: 'hub', raw });
    world.clock.ahead = HOUR_MS;
    await untilNothingIsPending(world);
    expect(await statusesOf([await tokenOf(connectionId)])).toEqual([200]);
  });
});

describe('S24: disconnecting during another operation', () => {
  it('discards and revokes the tokens of a concurrent refresh', async () => {
    const { provider } = world;
    provider.switches.accessTokenTtlSeconds = 120;
    const { connectionId } = await connected(world, { user: world.subject() });
    const { accessToken } = (await world.api.accessToken(connectionId)).body;
    const grantId = provider.tokens.grantOf(accessToken)?.grantId ?? '';
    world.clock.ahead = 5 * 60_000;
    const arrived = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    provider.onRefresh(async () => {
      arrived.resolve();
      await release.promise;
    });
    const asked = world.api.accessToken(connectionId);
    await arrived.promise;
    // The provider has just rotated the old refresh token; the gateway revokes it nevertheless.
    expect((await world.api.remove(connectionId)).status).toBe(200);
    release.resolve();
    expect((await asked).status).toBe(404);
    await untilNothingIsPending(world);
    expect(provider.tokens.grant(grantId)?.status).toBe('revoked');
  });

  it('leaves a concurrent reconnect either usable or removed', async () => {
    for (let round = 0; round < 5; round += 1) {
      const user = world.subject();
      const { connectionId } = await connected(world, { user });
      const raw = world.raw();
      const { elicitationId } = await world.ask(user, {
        authorization: { provider: 'forge', scopes: ['repo', 'issues'] },
      });
      await raw.signIn(elicitationId, user);
      const callback = await raw.decideAtProvider(await raw.accept(elicitationId), 'alice');
      const [removed, answered] = await Promise.all([world.api.remove(connectionId), raw.get(callback)]);
      expect(removed.status).toBe(200);
      expect(answered).toMatchObject({ status: 303, location: `/e/${elicitationId}` });
      expect((await world.api.read(elicitationId)).body.status).toBe('completed');
      const taken = await world.api.accessToken(connectionId);
      expect([200, 404]).toContain(taken.status);
      if (taken.status === 200) expect(await apiStatus(taken.body.accessToken)).toBe(200);
      await untilNothingIsPending(world);
    }
  });
});

describe('S24: a grant that the gateway does not store', () => {
  const statusAtProvider = (grantId: string) => world.provider.tokens.grant(grantId)?.status;
  const newestGrant = () => world.provider.tokens.grants().at(-1)?.grantId ?? '';

  it('is revoked if it is for another account than expected', async () => {
    const user = world.subject();
    const raw = world.raw();
    const { elicitationId } = await world.ask(user, {
      authorization: { provider: 'forge', scopes: ['repo'], expectedAccount: 'alice' },
    });
    await raw.signIn(elicitationId, user);
    await raw.get(await raw.decideAtProvider(await raw.accept(elicitationId), 'bob'));
    expect((await world.api.read(elicitationId)).body.status).toBe('pending');
    const grantId = newestGrant();
    await untilNothingIsPending(world);
    expect(statusAtProvider(grantId)).toBe('revoked');
  });

  it('is revoked if it lacks scopes that the tool needs', async () => {
    const user = world.subject();
    const raw = world.raw();
    const { elicitationId } = await world.ask(user, {
      authorization: { provider: 'forge', scopes: ['repo', 'issues'] },
    });
    await raw.signIn(elicitationId, user);
    const destination = await raw.accept(elicitationId);
    await raw.get(await raw.decideAtProvider(destination, 'alice', { grantScopes: ['openid', 'profile', 'repo'] }));
    expect((await world.api.read(elicitationId)).body.status).toBe('pending');
    const grantId = newestGrant();
    await untilNothingIsPending(world);
    expect(statusAtProvider(grantId)).toBe('revoked');
  });

  it('is revoked if the elicitation was cancelled during the token exchange', async () => {
    const user = world.subject();
    const raw = world.raw();
    const { elicitationId } = await world.ask(user);
    await raw.signIn(elicitationId, user);
    const callback = await raw.decideAtProvider(await raw.accept(elicitationId), 'alice');
    world.provider.onExchange(async () => {
      await world.api.cancel(elicitationId);
    });
    expect((await raw.get(callback)).location).toBe(`/e/${elicitationId}`);
    expect((await world.api.read(elicitationId)).body.status).toBe('cancelled');
    const grantId = newestGrant();
    await untilNothingIsPending(world);
    expect(statusAtProvider(grantId)).toBe('revoked');
  });

  it('is not revoked if that might end an existing connection of the user', async () => {
    const user = world.subject();
    const kept = await connected(world, { user });
    const asked = await wikiApi().issue(
      askFor(world, user, { authorization: { provider: 'forge', scopes: ['repo'], expectedAccount: 'bob' } }),
    );
    const { raw } = kept;
    await raw.get(await raw.decideAtProvider(await raw.accept(asked.body.elicitationId), 'alice'));
    expect((await wikiApi().read(asked.body.elicitationId)).body.status).toBe('pending');
    expect(await keptRevocations(world)).toEqual([]);
    expect(world.provider.revocations()).toEqual([]);
    expect(await apiStatus(await tokenOf(kept.connectionId))).toBe(200);
  });
});
