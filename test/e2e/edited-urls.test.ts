import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { type EvilProvider, startEvilProvider } from '@postern/testkit/providers';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { RawBrowser } from '../support/raw-browser.ts';
import { dumpStore } from '../support/store-dump.ts';
import { askFor, keyOf, startWorld, type World } from '../support/world.ts';

let world: World;
let evil: EvilProvider;

beforeAll(async () => {
  evil = await startEvilProvider({ clientId: 'postern-at-evil' });
  world = await startWorld({
    mcpServer: { providers: ['forge', 'evil'], returnUrls: ['https://tracker.example/back'] },
    otherMcpServers: [{ id: 'wiki' }],
    config: ({ base }) => ({
      providers: [
        ...(base.providers ?? []),
        {
          name: 'evil',
          displayName: 'Evil Forge',
          issuer: evil.issuer,
          clientId: 'postern-at-evil',
          clientSecret: 'evil-client-secret',
          baseScopes: ['openid'],
        },
      ],
    }),
  });
});
afterEach(() => world.provider.clearRequests());
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await evil?.close();
});

const statusOf = async (elicitationId: string) => (await world.api.read(elicitationId)).body.status;
const tokenRequests = () => world.provider.requests('token').length + evil.requests('token').length;

async function signedIn(provider = 'forge'): Promise<{ raw: RawBrowser; elicitationId: string; user: string }> {
  const user = world.subject();
  const { elicitationId } = await world.ask(user, { authorization: { provider, scopes: ['repo'] } });
  const raw = world.raw();
  await raw.signIn(elicitationId, user);
  return { raw, elicitationId, user };
}

it('S213: a response without state changes nothing, and leads back to the request of the signed-in person', async () => {
  const { raw, elicitationId, user } = await signedIn();
  const destination = await raw.accept(elicitationId);
  const cancelled = '/callback/tracker/forge?error=access_denied&error_description=cancelled';
  const linksOf = async (browser: RawBrowser, path = cancelled) => {
    const { status, body } = await browser.get(path);
    return [status, ...[...body.matchAll(/href="(\/(?:e\/[\w-]+|me))"/g)].map(([, href]) => href)];
  };
  expect(await linksOf(raw)).toEqual([400, `/e/${elicitationId}`]);
  expect(await linksOf(raw, '/callback/tracker/evil?error=access_denied')).toEqual([400, '/me']);
  expect(await linksOf(world.raw())).toEqual([400]);
  const { elicitationId: second } = await world.ask(user, {
    authorization: { provider: 'forge', scopes: ['issues'] },
  });
  await raw.accept(second);
  expect(await linksOf(raw)).toEqual([400, '/me']);
  expect([await statusOf(elicitationId), await statusOf(second)]).toEqual(['active', 'active']);
  const callback = await raw.decideAtProvider(destination, 'alice');
  expect(await raw.get(callback)).toMatchObject({ status: 303, location: `/e/${elicitationId}` });
  expect(await statusOf(elicitationId)).toBe('completed');
});

it('S214: no page is compressed, whatever the browser accepts', async () => {
  const { raw, elicitationId } = await signedIn();
  for (const path of [`/e/${elicitationId}`, '/me', '/me/history?page=0', `/callback/tracker/forge?code=x`]) {
    const { headers } = await raw.get(path, { headers: { 'accept-encoding': 'gzip, br' } });
    expect([path, headers['content-encoding']]).toEqual([path, undefined]);
  }
});

it('S212: behind a proxy that adds Referrer-Policy: no-referrer, forms work, with their token only', async () => {
  const { raw, elicitationId } = await signedIn();
  const [, csrf_token = ''] =
    /name="csrf_token" value="([^"]+)"/.exec((await raw.get(`/e/${elicitationId}`)).body) ?? [];
  const decline = (token: string, headers: Record<string, string | undefined>) =>
    raw.post(`/e/${elicitationId}/decline`, { form: { csrf_token: token }, headers: { origin: 'null', ...headers } });
  expect((await decline(csrf_token, { 'sec-fetch-site': undefined })).status).toBe(403);
  expect((await decline(csrf_token, { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
  expect((await decline(`${csrf_token}x`, {})).status).toBe(403);
  expect((await decline(csrf_token, {})).status).toBe(303);
  expect(await statusOf(elicitationId)).toBe('declined');
});

describe('edited URLs', () => {
  it('a truncated, changed, doubled, padded or wrapped id gets the response for an unknown id', async () => {
    const { raw, elicitationId } = await signedIn();
    const { elicitationId: foreign } = await world.ask(world.subject(), { message: 'for-somebody-else' });
    const secret = elicitationId.slice(5);
    const swap = (text: string) => (text.startsWith('A') ? `B${text.slice(1)}` : `A${text.slice(1)}`);
    const shard = elicitationId.slice(3, 5) === '00' ? '01' : '00';
    const edited = [
      elicitationId.slice(0, -1),
      `${elicitationId}A`,
      elicitationId.slice(0, 8),
      'el_',
      `el_${elicitationId.slice(3, 5)}${swap(secret)}`,
      `el_${shard}${secret}`,
      elicitationId.toUpperCase(),
      `cn_${elicitationId.slice(3)}`,
      `${elicitationId}${elicitationId}`,
      `${elicitationId}%00`,
      `${elicitationId}%20`,
      `${elicitationId}%0d%0aSet-Cookie:x=y`,
      `${elicitationId};jsessionid=1`,
      `%2e%2e%2f${elicitationId}`,
      `${elicitationId}%2faccept`,
      encodeURIComponent('<script>alert(1)</script>'),
      encodeURIComponent('{el}:*'),
      '%E2%80%AE',
      'A'.repeat(5000),
    ];
    const before = await dumpStore(world);
    for (const id of edited) {
      const answer = await raw.get(`/e/${id}`);
      expect([id, answer.status]).toEqual([id, 404]);
      expect(answer.body).not.toMatch(/<script(?! src="\/assets\/postern-)/);
      expect(answer.headers['set-cookie']).toBeUndefined();
      expect([400, 403, 404]).toContain((await raw.post(`/e/${id}/accept`, { form: { csrf_token: 'x' } })).status);
    }
    for (const path of [`/e/${elicitationId}/`, `/e//${elicitationId}`, `//e/${elicitationId}`, `/E/${elicitationId}`])
      expect((await raw.get(path)).status).toBe(404);
    for (const path of ['/e/%', '/e/%zz', '/e/%ff', '/login/%', '/callback/%/%'])
      expect([400, 404]).toContain((await raw.get(path)).status);
    // A request target in absolute form chooses no host of the redirect.
    const { hostname, port } = new URL(world.gateways[0]?.address ?? '');
    const absolute = request({ hostname, port, path: `http://evil.example/e/${elicitationId}/accept` }).end();
    const [answer]: IncomingMessage[] = await once(absolute, 'response');
    answer?.resume();
    expect(answer?.headers.location ?? '').not.toContain('evil.example');
    // Another user's elicitation is refused, not shown.
    const refused = await raw.get(`/e/${foreign}`);
    expect(refused.status).toBe(403);
    expect(refused.body).not.toContain('for-somebody-else');
    expect(await dumpStore(world)).toEqual(before);
    expect(await statusOf(elicitationId)).toBe('pending');
  });

  it('a percent-encoded id is the same elicitation with the same checks', async () => {
    const { raw, elicitationId } = await signedIn();
    const encoded = [...elicitationId].map(letter => `%${letter.charCodeAt(0).toString(16)}`).join('');
    expect((await raw.get(`/e/${encoded}`)).status).toBe(200);
    const stranger = await signedIn();
    expect((await stranger.raw.get(`/e/${encoded}`)).status).toBe(403);
    expect((await world.raw().get(`/e/${encoded}`)).body).not.toContain('csrf_token');
  });

  it('a form for one elicitation decides nothing when posted to another user’s', async () => {
    const [mine, theirs] = [await signedIn(), await signedIn()];
    const csrf_token = await mine.raw.csrfToken(mine.elicitationId);
    for (const verb of ['accept', 'decline'])
      expect((await mine.raw.post(`/e/${theirs.elicitationId}/${verb}`, { form: { csrf_token } })).status).toBe(403);
    expect(await statusOf(theirs.elicitationId)).toBe('pending');
  });

  it('S32: no parameter, Host or forwarding header changes a redirect target', async () => {
    const { raw, elicitationId } = await signedIn();
    const forged = {
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
      'x-forwarded-for': '192.0.2.1',
      forwarded: 'host=evil.example;proto=https',
      'x-original-url': '/evil',
      'x-rewrite-url': '/evil',
    };
    const targets = [
      '/login?e=//evil.example',
      '/login?e=https://evil.example',
      '/login?next=https://evil.example&returnUrl=https://evil.example&redirect_uri=https://evil.example',
      `/login?e=${elicitationId}&redirect_uri=https://evil.example`,
      `/e/${elicitationId}/leaving`,
      '/login/callback/example-id?code=x&state=x&redirect_uri=https://evil.example',
      '/callback/tracker/forge?code=x&state=x&returnUrl=https://evil.example',
      '/login/continue?ticket=x&continueUrl=https://evil.example',
    ];
    for (const target of targets) {
      for (const headers of [{}, forged, { host: 'evil.example' }, { ...forged, host: 'evil.example' }]) {
        const answer = await raw.get(target, { headers });
        expect(answer.body).not.toContain('evil.example');
        if (answer.location === undefined) continue;
        expect(answer.status).toBe(303);
        const location = new URL(answer.location, world.publicUrl);
        expect([world.publicUrl, world.identityProvider.issuer]).toContain(location.origin);
        expect(location.href).not.toContain('evil.example');
      }
    }
    const csrf_token = await raw.csrfToken(elicitationId);
    for (const target of ['//evil.example', 'https://evil.example', '/\\evil.example', `${elicitationId}/../../evil`])
      expect(
        (await raw.post(`/logout?e=${encodeURIComponent(target)}`, { form: { csrf_token }, headers: forged })).location,
      ).toBeUndefined();
  });

  it.each([
    'https://tracker.example/back/',
    'https://tracker.example/back?x=1',
    'https://tracker.example/back#x',
    'https://tracker.example/BACK',
    'https://tracker.example.evil.example/back',
    'https://tracker.example@evil.example/back',
    'http://tracker.example/back',
    'https://TRACKER.example/../evil',
    'javascript:alert(1)',
    '//tracker.example/back',
  ])('S32: the return URL %s does not match the registered one', async returnUrl => {
    const answer = await world.api.issue(askFor(world, 'alice', { returnUrl }));
    expect([400, 403]).toContain(answer.status);
    expect(answer.body.elicitationId).toBeUndefined();
  });
});

describe('S16: an OAuth callback is accepted only on the path of its MCP server and provider', () => {
  it.each(['/callback/wiki/forge', '/callback/tracker/evil', '/callback/unknown/forge', '/callback/tracker/nothing'])(
    'A6: a callback at %s consumes the state and sends no token request',
    async path => {
      const { raw, elicitationId } = await signedIn();
      const callback = await raw.decideAtProvider(await raw.accept(elicitationId), 'alice');
      world.provider.clearRequests();
      const before = tokenRequests();
      const moved = new URL(`${path}${callback.search}`, callback);
      expect((await raw.get(moved)).status).toBe(400);
      // The state is consumed: the right path only shows the current status.
      expect(await raw.get(callback)).toMatchObject({ status: 303, location: `/e/${elicitationId}` });
      expect(tokenRequests()).toBe(before);
      expect(await statusOf(elicitationId)).toBe('active');
    },
  );

  it('A6, COAT: the honest provider’s code under the hostile provider’s state is sent to neither', async () => {
    const { raw, elicitationId, user } = await signedIn('evil');
    const { elicitationId: honest } = await world.ask(user);
    const evilDestination = await raw.accept(elicitationId);
    const honestDestination = await raw.accept(honest);
    // The hostile provider redirects to the honest one, with its own fresh state.
    const crossed = new URL(honestDestination);
    crossed.searchParams.set('state', evilDestination.searchParams.get('state') ?? '');
    const callback = await raw.decideAtProvider(crossed, 'alice');
    expect(callback.pathname).toBe('/callback/tracker/forge');
    world.provider.clearRequests();
    const before = evil.requests('token').length;
    expect((await raw.get(callback)).status).toBe(400);
    expect(evil.requests('token')).toHaveLength(before);
    expect(world.provider.requests('token')).toHaveLength(0);
    expect(await statusOf(elicitationId)).toBe('active');
    expect(await statusOf(honest)).toBe('active');
  });

  it('S15, mix-up: a callback with the issuer of another provider sends no token request', async () => {
    const { raw, elicitationId } = await signedIn();
    const callback = await raw.decideAtProvider(await raw.accept(elicitationId), 'alice');
    world.provider.clearRequests();
    const before = tokenRequests();
    const mixed = new URL(callback);
    mixed.searchParams.set('iss', evil.issuer);
    expect(await raw.get(mixed)).toMatchObject({ status: 303, location: `/e/${elicitationId}` });
    expect(tokenRequests()).toBe(before);
    expect(await statusOf(elicitationId)).toBe('pending');
  });

  it('every MCP server has its own redirect URI', async () => {
    const user = world.subject();
    const wiki = world.apiOf({ apiKey: keyOf('wiki') });
    const forWiki = (await wiki.issue(askFor(world, user))).body.elicitationId;
    const forTracker = (await world.ask(user)).elicitationId;
    const raw = world.raw();
    await raw.signIn(forTracker, user);
    const uris = [await raw.accept(forTracker), await raw.accept(forWiki)].map(url =>
      url.searchParams.get('redirect_uri'),
    );
    expect(uris).toEqual(['tracker', 'wiki'].map(id => `${world.publicUrl}/callback/${id}/forge`));
  });
});
