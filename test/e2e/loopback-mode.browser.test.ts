import type { CallerBody } from '@postern/api';
import { ConfigError, parseConfig } from '@postern/gateway';
import { sharedBrowser } from '@postern/testkit/chromium';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { issueFor } from '../support/asks.ts';
import { connect, newPerson } from '../support/browser.ts';
import { connected } from '../support/connections.ts';
import { isShortRun } from '../support/run-size.ts';
import { expireAccessToken } from '../support/token-expiry.ts';
import { askFor, hashOf, keyOf, startWorld, type World } from '../support/world.ts';

let browser: Browser;
let world: World;

beforeAll(async () => {
  [browser, world] = await Promise.all([
    sharedBrowser(),
    startWorld({ mcpServer: { identity: { mode: 'loopback' } }, otherMcpServers: [{ id: 'plain' }] }),
  ]);
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

const statusOf = async (elicitationId: string) => (await world.api.read(elicitationId)).body.status;

describe('identity mode loopback: a single-user machine', () => {
  it('connects without sign-in', async () => {
    const user = world.subject();
    await using person = await newPerson(browser, user);
    const issued = await world.ask(user);
    await person.page.goto(issued.url);
    await connect(person.page, 'alice');
    await person.page.waitForURL(issued.url);
    expect(await statusOf(issued.elicitationId)).toBe('completed');
    expect(world.identityProvider.requests('authorization')).toHaveLength(0);
  });

  it('still binds the form and the OAuth callback to the browser that started', async () => {
    const { elicitationId } = await world.ask(world.subject());
    const [one, other] = [world.raw(), world.raw()];
    const token = await one.csrfToken(elicitationId);
    await other.get(`/e/${elicitationId}`);
    expect((await other.post(`/e/${elicitationId}/accept`, { form: { csrf_token: token } })).status).toBe(403);

    const callback = await one.decideAtProvider(await one.accept(elicitationId), 'alice');
    world.provider.clearRequests();
    expect((await other.get(callback)).status).toBe(400);
    expect(await one.get(callback)).toMatchObject({ status: 303, location: `/e/${elicitationId}` });
    expect(world.provider.requests('token')).toHaveLength(0);
    expect(await statusOf(elicitationId)).toBe('active');
  });

  it('rejects a POST from another origin under every host name', async () => {
    const { elicitationId } = await world.ask(world.subject());
    const raw = world.raw();
    const form = { csrf_token: await raw.csrfToken(elicitationId) };
    // DNS rebinding: the attacker's name resolves to this machine, so its page has the same origin as the request.
    const rebound = { host: 'attacker.example:8080', origin: 'http://attacker.example:8080' };
    for (const headers of [
      rebound,
      { ...rebound, 'sec-fetch-site': undefined },
      { origin: undefined, 'sec-fetch-site': 'cross-site' },
    ])
      expect((await raw.post(`/e/${elicitationId}/accept`, { form, headers })).status).toBe(403);
    expect(await statusOf(elicitationId)).toBe('pending');
  });

  it('gives no access to elicitations that require sign-in', async () => {
    const plain = world.apiOf({ apiKey: keyOf('plain') });
    const { elicitationId } = (await plain.issue(askFor(world, world.subject()))).body;
    const own = await world.ask(world.subject());
    const raw = world.raw();
    const form = { csrf_token: await raw.csrfToken(own.elicitationId) };
    expect((await raw.get(`/e/${elicitationId}`)).body).not.toContain('csrf_token');
    expect((await raw.post(`/e/${elicitationId}/accept`, { form })).status).toBe(401);
    expect((await plain.read(elicitationId)).body.status).toBe('pending');
  });

  it('S216: has no /me of its own beside MCP servers that require sign-in', async () => {
    expect((await world.raw().get('/me')).body).not.toContain('/me/decline-open');
  });

  it.each(['https://gate.example', 'https://192.0.2.1', 'https://localhost.example'])(
    'S62: the public URL %s stops the start with the path of the member',
    publicUrl => {
      const faults = faultsOf(() =>
        parseConfig({
          publicUrl,
          vault: {
            keys: [{ kid: 'k', key: Buffer.from(Array.from({ length: 32 }, (_, n) => n * 7)).toString('base64') }],
          },
          mcpServers: [
            {
              id: 'tracker',
              name: 'Issue Tracker',
              url: 'https://tracker.example/mcp',
              apiKeys: [{ hash: hashOf('k') }],
              issuers: ['https://id.example'],
              identity: { mode: 'loopback' },
            },
          ],
        }),
      );
      expect(faults).toContain('mcpServers[0].identity');
    },
  );
});

describe.each(isShortRun ? (['file'] as const) : (['file', 'redis'] as const))(
  'a gateway for one person on %s',
  store => {
    let alone: World;
    beforeAll(async () => {
      alone = await startWorld({
        store,
        mcpServer: { identity: { mode: 'loopback' } },
        config: { identityProviders: [], limits: {} },
      });
    });
    afterAll(() => alone?.[Symbol.asyncDispose]());

    const confirmation = (title: string) => ({ kind: 'confirmation', confirmation: { title } }) as const;
    const statusesOf = (ids: readonly string[]) =>
      Promise.all(ids.map(async id => (await alone.api.read(id)).body.status));

    it('S215, S216: never makes its developer wait, and /me declines what is open for every user', async () => {
      const users = [alone.subject(), alone.subject()];
      const issued = await Promise.all(
        Array.from({ length: 62 }, (_, nth) => issueFor(alone, users[nth % 2] ?? '', confirmation(`Step ${nth}`))),
      );
      const ids = issued.map(({ elicitationId }) => elicitationId);
      const raw = alone.raw();
      const page = await raw.get('/me');
      expect(page.body).toContain('62');
      for (const secret of [...ids, 'Step ', ...users]) expect(page.body).not.toContain(secret);
      const form = { csrf_token: /name="csrf_token" value="([^"]+)"/.exec(page.body)?.[1] ?? '' };

      const foreign = alone.raw();
      await foreign.get('/me');
      for (const refused of [
        await foreign.post('/me/decline-open', { form }),
        await raw.post('/me/decline-open', { form: { csrf_token: 'x' } }),
        await raw.post('/me/decline-open', { form, headers: { origin: undefined, 'sec-fetch-site': 'cross-site' } }),
        await raw.get('/me', { headers: { host: 'attacker.example:8080' } }),
      ])
        expect(refused.status).toBe(403);
      expect(await raw.post('/me/decline-open', { form: {} })).toMatchObject({ status: 400 });
      expect(new Set(await statusesOf(ids))).toEqual(new Set(['pending']));

      expect(await raw.post('/me/decline-open', { form })).toMatchObject({ status: 303, location: '/me' });
      expect(new Set(await statusesOf(ids))).toEqual(new Set(['declined']));
      expect((await raw.get('/me')).body).not.toContain('csrf_token');
      expect(await raw.get('/me/decline-open')).toMatchObject({ status: 303, location: '/me' });
    });

    it('S216: has no such page beside users whom an application identifies', async () => {
      await using mixed = await startWorld({
        store: 'redis',
        mcpServer: { identity: { mode: 'loopback' } },
        otherMcpServers: [{ id: 'app', identity: { mode: 'external', verifyUrl: 'https://app.example/verify' } }],
        config: { identityProviders: [] },
      });
      expect((await mixed.raw().get('/me')).status).toBe(404);
    });

    it('connects, refreshes and revokes', async () => {
      const { connectionId, raw } = await connected(alone, { user: alone.subject() });
      const first = (await alone.api.accessToken(connectionId)).body.accessToken;
      await expireAccessToken(alone, connectionId);
      const second = (await alone.api.accessToken(connectionId)).body.accessToken;
      expect([first === second, alone.provider.tokens.statusOf(second)]).toEqual([false, 'current']);
      expect(await alone.api.remove(connectionId)).toMatchObject({ status: 200, body: { revocation: 'revoked' } });
      expect(alone.provider.tokens.statusOf(second)).not.toBe('current');
      expect((await raw.get('/me')).status).toBe(200);
      const { gateway } = (await alone.api.call<CallerBody>('GET', '/v1/me')).body;
      expect(gateway.notOffered?.includes('webhooks') ?? false).toBe(store === 'file');
    });

    it('S215: does not make a page of its developer wait', async () => {
      const raw = alone.raw();
      for (let nth = 0; nth < 301; nth += 1) expect((await raw.get(`/e/el_00${'c'.repeat(43)}`)).status).not.toBe(429);
    });
  },
);

function faultsOf(act: () => unknown): string[] {
  try {
    act();
  } catch (error) {
    if (error instanceof ConfigError) return error.faults.map(({ path }) => path);
    throw error;
  }
  return [];
}
