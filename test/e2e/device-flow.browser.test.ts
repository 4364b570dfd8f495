import type { GatewayConfigInput } from '@postern/gateway';
import { sharedBrowser } from '@postern/testkit/chromium';
import { inFull } from '@postern/testkit/in-full';
import { driveDevice, tokenDigest } from '@postern/testkit/providers';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { newPerson, signIn } from '../support/browser.ts';
import { connectionIdOf, signInForMe, textOf } from '../support/connections.ts';
import { askForCode, codeIn, endPollInterval } from '../support/device-page.ts';
import { csrfTokenIn, type RawBrowser } from '../support/raw-browser.ts';
import { watchWrites } from '../support/redis-writes.ts';
import { untilNothingIsPending } from '../support/revocations.ts';
import { dumpStore } from '../support/store-dump.ts';
import { startWorld, type World } from '../support/world.ts';
import type { ConfigParts } from '../support/world-parts.ts';

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

let browser: Browser;
let world: World;

const byDevice = ({ base }: ConfigParts): Partial<GatewayConfigInput> => ({
  providers: (base.providers ?? []).map(provider => Object.assign({}, provider, { flow: 'device' })),
});

beforeAll(async () => {
  [browser, world] = await Promise.all([
    sharedBrowser(),
    startWorld({ provider: { deviceFlow: true }, config: byDevice }),
  ]);
});
afterEach(() => {
  world.clock.backToNow();
  world.provider.clearFaults();
  world.provider.clearRequests();
  world.provider.onExchange(undefined);
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

const statusOf = async (elicitationId: string) => (await world.api.read(elicitationId)).body.status;
const polls = () => world.provider.requests('token').filter(({ form }) => form['grant_type'] === DEVICE_GRANT).length;

/** An elicitation whose user is signed in. */
async function asked(overrides: Parameters<World['ask']>[1] = {}) {
  const user = world.subject();
  const raw = world.raw();
  const { elicitationId } = await world.ask(user, overrides);
  await raw.signIn(elicitationId, user);
  return { user, raw, elicitationId };
}

/** Reports that the code was entered. */
async function check(raw: RawBrowser, elicitationId: string) {
  const form = { csrf_token: csrfTokenIn(await raw.get(`/e/${elicitationId}/device`)) };
  return raw.post(`/e/${elicitationId}/device`, { form });
}

describe('the device flow (RFC 8628), for a provider that has no redirect', () => {
  it('shows a code and connects after the user entered it; the connection is an ordinary one', async () => {
    const { raw, elicitationId } = await asked();
    const shown = await askForCode(raw, elicitationId);
    expect(new URL(shown.verificationUri).origin).toBe(world.provider.origin);
    expect(await driveDevice(shown, 'alice')).toBe('approved');
    expect(await check(raw, elicitationId)).toMatchObject({ status: 303, location: `/e/${elicitationId}` });

    const connectionId = await connectionIdOf(world.api, elicitationId);
    const { accessToken } = (await world.api.accessToken(connectionId)).body;
    expect(world.provider.tokens.statusOf(accessToken)).toBe('current');
    expect(textOf(await raw.get(`/e/${elicitationId}`))).toContain('read the list of your repositories');
    world.clock.ahead = 3600_000;
    const renewed = (await world.api.accessToken(connectionId)).body.accessToken;
    expect(renewed).not.toBe(accessToken);
    expect((await world.api.remove(connectionId)).body.revocation).toBe('revoked');
    expect(world.provider.tokens.statusOf(renewed)).toBe('revoked');
    expect(world.log()).not.toContain(shown.userCode);
  });

  it('works with a browser, whose page goes on by itself, and a phone', async () => {
    const user = world.subject();
    await using desk = await newPerson(browser, user, { hasLivePages: true });
    await using phone = await newPerson(browser, user, { viewport: { width: 390, height: 844 } });
    const issued = await world.ask(user);
    await desk.page.goto(issued.url);
    await signIn(desk.page, user);
    await desk.page.locator('form[action$="/accept"] button').click();
    await desk.page.waitForURL(/\/device$/);
    const code = (await desk.page.locator('.user-code').textContent()) ?? '';
    await phone.page.goto((await desk.page.locator('a.outside').getAttribute('href')) ?? '');
    await phone.page.locator('input[name=user_code]').fill(code);
    await phone.page.locator('#continue').click();
    await phone.page.locator('#allow').click();
    await phone.page.locator('button[name=user][value=alice]').click();
    await phone.page.locator('button#allow').click();
    await phone.page.locator('#connected').waitFor();
    await desk.page.waitForURL(issued.url);
    expect(await statusOf(issued.elicitationId)).toBe('completed');
    expect(await desk.page.locator('h1').textContent()).toContain('is connected');
  });

  it('reports a pending code, and an immediate retry does not reach the provider', async () => {
    const { raw, elicitationId } = await asked();
    const shown = await askForCode(raw, elicitationId);
    const first = await check(raw, elicitationId);
    expect(first.status).toBe(200);
    expect(textOf(first)).toContain('still waiting for you to enter the code');
    expect(codeIn(first)).toEqual(shown);
    const second = await check(raw, elicitationId);
    expect(textOf(second)).toContain('needs a moment');
    expect(polls()).toBe(1);
    // The user has entered the code, but the provider's minimum interval has not passed.
    await driveDevice(shown, 'alice');
    expect(textOf(await check(raw, elicitationId))).toContain('needs a moment');
    expect(polls()).toBe(1);
    await endPollInterval(world);
    expect((await check(raw, elicitationId)).status).toBe(303);
    expect(polls()).toBe(2);
    expect(await statusOf(elicitationId)).toBe('completed');
  });

  it.each([
    ['slow_down', { status: 400, body: '{"error":"slow_down"}', headers: { 'content-type': 'application/json' } }],
    ['503', { status: 503 }],
    ['no response: the connection breaks', { drop: 'before' }],
  ] as const)('the code stays valid when the provider answers %s', async (_, fault) => {
    const { raw, elicitationId } = await asked();
    const shown = await askForCode(raw, elicitationId);
    world.provider.fault({ endpoint: 'token', grantType: DEVICE_GRANT, times: 1, ...fault });
    const page = await check(raw, elicitationId);
    expect(textOf(page)).toContain('needs a moment');
    expect(codeIn(page)).toEqual(shown);
    await driveDevice(shown, 'alice');
    await endPollInterval(world);
    expect((await check(raw, elicitationId)).status).toBe(303);
    expect(await statusOf(elicitationId)).toBe('completed');
  });

  it('returns to the start with a notice after a refusal at the provider, and a new code works', async () => {
    const { raw, elicitationId } = await asked();
    const shown = await askForCode(raw, elicitationId);
    expect(await driveDevice(shown, 'alice', { decision: 'deny' })).toBe('denied');
    expect((await check(raw, elicitationId)).location).toBe(`/e/${elicitationId}`);
    expect(await statusOf(elicitationId)).toBe('pending');
    expect(textOf(await raw.get(`/e/${elicitationId}`))).toContain('reports that you did not agree');
    expect((await raw.get(`/e/${elicitationId}/device`)).location).toBe(`/e/${elicitationId}`);

    const again = await askForCode(raw, elicitationId);
    expect(again.userCode).not.toBe(shown.userCode);
    await driveDevice(again, 'alice');
    await endPollInterval(world);
    await check(raw, elicitationId);
    expect(await statusOf(elicitationId)).toBe('completed');
  });

  it('does not poll for an expired code and starts again', async () => {
    const { raw, elicitationId } = await asked({ ttlSeconds: 3600 });
    await askForCode(raw, elicitationId);
    const form = { csrf_token: csrfTokenIn(await raw.get(`/e/${elicitationId}/device`)) };
    world.clock.ahead = 11 * 60_000;
    expect((await raw.post(`/e/${elicitationId}/device`, { form })).location).toBe(`/e/${elicitationId}`);
    expect(polls()).toBe(0);
    expect(await statusOf(elicitationId)).toBe('pending');
    expect(textOf(await raw.get(`/e/${elicitationId}`))).toContain('start again from here');
  });

  it.each([
    ['another account than the expected one', { scopes: ['repo'], expectedAccount: 'alice' }, 'bob', {}],
    [
      'fewer scopes than needed',
      { scopes: ['repo', 'issues'] },
      'alice',
      { grantScopes: ['openid', 'profile', 'repo'] },
    ],
  ])('%s: nothing is kept', async (_, authorization, account, options) => {
    const { raw, elicitationId } = await asked({ authorization: { provider: 'forge', ...authorization } });
    await driveDevice(await askForCode(raw, elicitationId), account, options);
    expect((await check(raw, elicitationId)).location).toBe(`/e/${elicitationId}`);
    expect(await statusOf(elicitationId)).toBe('pending');
    expect((await raw.get(`/e/${elicitationId}`)).body).toContain('class="notice"');
  });

  inFull.it('S25: a GET of the code page changes nothing', async () => {
    const { raw, elicitationId } = await asked();
    await askForCode(raw, elicitationId);
    const before = await dumpStore(world);
    using writes = await watchWrites(world.redis.url);
    for (let round = 0; round < 50; round += 1)
      for (const method of ['GET', 'HEAD']) await raw.request(method, `/e/${elicitationId}/device`);
    // Keys may expire meanwhile, but none is new or changed.
    expect(before).toMatchObject(await dumpStore(world));
    expect((await writes.take()).filter(({ name }) => name !== 'zremrangebyscore')).toEqual([]);
    expect(polls()).toBe(0);
  });
});

describe('device code phishing (RFC 8628 section 5.4)', () => {
  it('only the user sees the code and can poll for its result', async () => {
    const { user, raw, elicitationId } = await asked();
    const shown = await askForCode(raw, elicitationId);
    await driveDevice(shown, 'alice');

    const stranger = world.raw();
    await signInForMe(stranger, world.subject());
    // The attempt belongs to one browser, so another browser of the same user cannot continue it.
    const elsewhere = world.raw();
    await signInForMe(elsewhere, user);
    const anonymous = world.raw();
    for (const [visitor, statuses] of [
      [stranger, [403]],
      [elsewhere, [303]],
      [anonymous, [200]],
    ] as const) {
      const page = await visitor.get(`/e/${elicitationId}/device`);
      expect(statuses).toContain(page.status);
      expect(codeIn(page)).toBeUndefined();
      expect(page.body).not.toContain(shown.userCode);
    }
    const tokenOf = async (visitor: RawBrowser) => ({ csrf_token: csrfTokenIn(await visitor.get('/me')) });
    const path = `/e/${elicitationId}/device`;
    expect((await stranger.post(path, { form: await tokenOf(stranger) })).status).toBe(403);
    expect((await elsewhere.post(path, { form: await tokenOf(elsewhere) })).location).toBe(`/e/${elicitationId}`);
    expect((await anonymous.post(path, { form: { csrf_token: 'x' } })).status).toBe(401);
    expect(polls()).toBe(0);
    expect(await statusOf(elicitationId)).toBe('active');
    expect((await check(raw, elicitationId)).status).toBe(303);
    expect(await statusOf(elicitationId)).toBe('completed');
  });

  it('S26: a form from another page or browser does not poll', async () => {
    const { raw, elicitationId } = await asked();
    await askForCode(raw, elicitationId);
    const path = `/e/${elicitationId}/device`;
    const form = { csrf_token: csrfTokenIn(await raw.get(path)) };
    expect((await raw.post(path, { form, headers: { 'sec-fetch-site': 'cross-site' } })).status).toBe(403);
    expect((await raw.post(path, { form: { csrf_token: 'x' } })).status).toBe(403);
    expect((await raw.post(path, { form: {} })).status).toBe(400);
    expect(polls()).toBe(0);
  });
});

describe('two tabs', () => {
  it('that submit at the same time get one grant and one connection', async () => {
    for (let round = 0; round < 3; round += 1) {
      world.provider.clearRequests();
      const { raw, elicitationId } = await asked();
      await driveDevice(await askForCode(raw, elicitationId), 'alice');
      const form = { csrf_token: csrfTokenIn(await raw.get(`/e/${elicitationId}/device`)) };
      const answers = await Promise.all(
        Array.from({ length: 12 }, () => raw.post(`/e/${elicitationId}/device`, { form })),
      );
      // The other tabs must wait, or they see the completed page.
      for (const { status } of answers) expect([200, 303]).toContain(status);
      expect(polls()).toBe(1);
      expect(await statusOf(elicitationId)).toBe('completed');
      const { accessToken } = (await world.api.accessToken(await connectionIdOf(world.api, elicitationId))).body;
      const exchanges = world.provider.tokens.grantOf(accessToken)?.exchanges ?? [];
      expect(exchanges.map(exchange => exchange.accessToken)).toEqual([tokenDigest(accessToken)]);
    }
  });

  it('that each requested a code complete only with the newer code', async () => {
    const { raw, elicitationId } = await asked();
    const [older, newer] = [await askForCode(raw, elicitationId), await askForCode(raw, elicitationId)];
    await driveDevice(older, 'bob');
    expect(codeIn(await check(raw, elicitationId))).toEqual(newer);
    await driveDevice(newer, 'alice');
    await endPollInterval(world);
    await check(raw, elicitationId);
    const connectionId = await connectionIdOf(world.api, elicitationId);
    const { accessToken } = (await world.api.accessToken(connectionId)).body;
    expect(world.provider.tokens.accessToken(accessToken)?.accountId).toBe('alice');
  });

  it('of which one declines while the other polls have one outcome and leave no grant behind', async () => {
    const { raw, elicitationId } = await asked();
    await driveDevice(await askForCode(raw, elicitationId), 'alice');
    const page = `/e/${elicitationId}`;
    const form = { csrf_token: csrfTokenIn(await raw.get(`${page}/device`)) };
    world.provider.onExchange(async () => {
      expect((await raw.post(`${page}/decline`, { form })).location).toBe(page);
    });
    expect((await raw.post(`${page}/device`, { form })).location).toBe(page);
    expect(await statusOf(elicitationId)).toBe('declined');
    await untilNothingIsPending(world);
    const [revoked] = world.provider.revocations();
    expect(world.provider.tokens.grant(revoked?.grantId ?? '')?.status).toBe('revoked');
  });
});

describe('configuration', () => {
  it('identity mode external without a redirect stops the start', async () => {
    const identity = { mode: 'external', verifyUrl: 'https://application.example/verify' } as const;
    await expect(startWorld({ mcpServer: { identity }, config: byDevice })).rejects.toMatchObject({
      faults: [{ path: 'mcpServers[0].providers', message: expect.stringContaining('"forge"') }],
    });
  });
});
