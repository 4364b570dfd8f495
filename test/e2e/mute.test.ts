import { StoreUnavailableError } from '@postern/elicitation';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectProblem } from '../support/contract.ts';
import { csrfTokenIn, ownLinksIn, type RawBrowser } from '../support/raw-browser.ts';
import { askFor, keyOf, startWorld, type World } from '../support/world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld({
    mcpServer: { limits: { openElicitationsPerSubject: 20 } },
    otherMcpServers: [
      { id: 'wiki', name: 'Team Wiki' },
      { id: 'embedded', identity: { mode: 'external', verifyUrl: 'https://application.example/verify' } },
    ],
  });
});
afterAll(() => world?.[Symbol.asyncDispose]());

const PAGE = '/me/mcp-servers/tracker';

async function signedIn(): Promise<{ raw: RawBrowser; user: string; elicitationId: string }> {
  const user = world.subject();
  const { elicitationId } = await world.ask(user);
  const raw = world.raw();
  await raw.signIn(elicitationId, user);
  return { raw, user, elicitationId };
}
const statusOf = async (elicitationId: string) => (await world.api.read(elicitationId)).body.status;
const another = (user: string, nth: number) =>
  askFor(world, user, {
    ttlSeconds: 86_400,
    authorization: { provider: 'forge', scopes: ['repo'], expectedAccount: `account-${nth}` },
  });
async function press(raw: RawBrowser, verb: string, fields: Record<string, string> = {}) {
  const csrf_token = csrfTokenIn(await raw.get(PAGE));
  return raw.post(`${PAGE}/${verb}`, { form: { csrf_token, ...fields } });
}

describe('S104: 120 hostile requests', () => {
  it('do not hide the request of another MCP server', async () => {
    const { raw, user } = await signedIn();
    const honest = (await world.apiOf({ apiKey: keyOf('wiki') }).issue(askFor(world, user, { ttlSeconds: 60 }))).body;
    for (let nth = 0; nth < 120; nth += 30)
      await Promise.all(Array.from({ length: 30 }, (_, at) => world.api.issue(another(user, nth + at))));
    const links = ownLinksIn(await raw.get('/me')).filter(link => link.startsWith('/e/'));
    expect(links).toContain(`/e/${honest.elicitationId}`);
    expect(links.length).toBeLessThanOrEqual(21);
  });
});

describe('S105: a user mutes an MCP server', () => {
  it('from the page of a request: open ones are declined, further ones refused, until the user undoes it', async () => {
    const { raw, user, elicitationId } = await signedIn();
    expect(ownLinksIn(await raw.get(`/e/${elicitationId}`))).toContain(PAGE);
    const second = (await world.api.issue(another(user, 1))).body.elicitationId;
    expect(await press(raw, 'mute')).toMatchObject({ status: 303, location: PAGE });
    expect([await statusOf(elicitationId), await statusOf(second)]).toEqual(['declined', 'declined']);
    expectProblem(await world.api.issue(askFor(world, user)), 'muted');
    expect((await world.apiOf({ apiKey: keyOf('wiki') }).issue(askFor(world, user))).status).toBe(201);
    expect((await world.api.issue(askFor(world, world.subject()))).status).toBe(201);
    expect(ownLinksIn(await raw.get('/me'))).toContain(PAGE);
    // Pressed twice, and undone twice.
    expect((await press(raw, 'mute')).status).toBe(303);
    expect(await press(raw, 'unmute')).toMatchObject({ status: 303, location: '/me' });
    expect((await press(raw, 'unmute')).status).toBe(303);
    expect((await world.api.issue(askFor(world, user))).status).toBe(201);
  });

  it('that has another identity mode now, and can still undo it', async () => {
    const { raw, user } = await signedIn();
    const page = '/me/mcp-servers/embedded';
    expect((await raw.get(page)).status).toBe(404);
    const subject = { issuer: world.identityProvider.issuer, subject: user };
    await world.gateways[0]?.deps.stores.mutes.mute(subject, 'embedded');
    const shown = await raw.get(page);
    expect([shown.status, ownLinksIn(await raw.get('/me'))]).toEqual([200, expect.arrayContaining([page])]);
    const form = { csrf_token: csrfTokenIn(shown) };
    expect((await raw.post(`${page}/unmute`, { form })).status).toBe(303);
    for (const verb of ['unmute', 'mute']) expect((await raw.post(`${page}/${verb}`, { form })).status).toBe(404);
    expect((await raw.get(page)).status).toBe(404);
  });

  it('from the page of a request that has expired, swept or not', async () => {
    const { raw, elicitationId } = await signedIn();
    const { expiresAt } = (await world.api.read(elicitationId)).body;
    try {
      world.clock.ahead = Date.parse(expiresAt) - Date.now() + 1_000;
      expect(ownLinksIn(await raw.get(`/e/${elicitationId}`))).toContain(PAGE);
    } finally {
      world.clock.backToNow();
    }
  });

  it.each([
    ['mute', 'muted'],
    ['unmute', 'unmuted'],
  ] as const)('S112: %s without an answer of Redis is in the audit log as unknown', async (verb, event) => {
    const { raw, user } = await signedIn();
    const { mutes } = world.gateways[0]?.deps.stores ?? {};
    if (mutes === undefined) throw new Error('there is no gateway');
    const subject = { issuer: world.identityProvider.issuer, subject: user };
    if (verb === 'unmute') await press(raw, 'mute');
    const change = mutes[verb].bind(mutes);
    mutes[verb] = async (...values) => {
      await change(...values);
      throw new StoreUnavailableError();
    };
    const before = world.log().length;
    try {
      expect((await press(raw, verb)).status).toBe(503);
    } finally {
      mutes[verb] = change;
    }
    expect(await mutes.list(subject)).toHaveLength(verb === 'mute' ? 1 : 0);
    const lines = world.log().slice(before).split('\n');
    const line = lines.find(text => text.includes(`"event":"mcp_server.${event}"`));
    expect(JSON.parse(line ?? '{}')).toMatchObject({ outcome: 'unknown', mcpServerId: 'tracker' });
  });

  it('leaves a request of the other MCP servers open', async () => {
    const { raw, user } = await signedIn();
    const wiki = world.apiOf({ apiKey: keyOf('wiki') });
    const { elicitationId } = (await wiki.issue(askFor(world, user))).body;
    await press(raw, 'mute');
    expect((await wiki.read(elicitationId)).body.status).toBe('pending');
  });

  it.each(['mute', 'unmute', 'report'])('%s needs a sign-in, the own origin and the CSRF token', async verb => {
    const { raw, user, elicitationId } = await signedIn();
    const csrf_token = csrfTokenIn(await raw.get(PAGE));
    const fields: Record<string, string> = verb === 'report' ? { reason: 'too_often' } : {};
    const post = (browser: RawBrowser, form: Record<string, string>, headers = {}) =>
      browser.post(`${PAGE}/${verb}`, { form: { ...form, ...fields }, headers });
    expect((await post(world.raw(), { csrf_token })).status).toBe(401);
    expect((await post(raw, { csrf_token: 'x' })).status).toBe(403);
    expect(
      (await post(raw, { csrf_token }, { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' })).status,
    ).toBe(403);
    const stranger = await signedIn();
    expect((await post(stranger.raw, { csrf_token })).status).toBe(403);
    expect(await statusOf(elicitationId)).toBe('pending');
    expect((await world.api.issue(another(user, 2))).status).toBe(201);
  });

  it.each(['nothing', 'embedded', '__proto__', 'constructor', '%2e%2e'])('there is no page for %s', async id => {
    const { raw } = await signedIn();
    expect((await raw.get(`/me/mcp-servers/${id}`)).status).toBe(404);
    const csrf_token = csrfTokenIn(await raw.get(PAGE));
    expect((await raw.post(`/me/mcp-servers/${id}/mute`, { form: { csrf_token } })).status).toBe(404);
  });
});

describe('a user reports an MCP server', () => {
  it('with a reason from the list, which the audit log names without the user', async () => {
    const { raw, user } = await signedIn();
    const before = world.log().length;
    expect(await press(raw, 'report', { reason: 'pretends' })).toMatchObject({
      status: 303,
      location: `${PAGE}?reported`,
    });
    expect((await raw.get(`${PAGE}?reported`)).status).toBe(200);
    for (const reason of ['other', '', '<script>']) expect((await press(raw, 'report', { reason })).status).toBe(400);
    const reports = world
      .log()
      .slice(before)
      .split('\n')
      .filter(line => line.includes('"event":"mcp_server.reported"'))
      .map(line => JSON.parse(line) as unknown);
    expect(reports).toMatchObject([{ mcpServerId: 'tracker', reason: 'pretends', audit: true }]);
    expect(JSON.stringify(reports)).not.toContain(user);
    expect((await world.api.issue(askFor(world, user))).status).toBe(200);
  });
});
