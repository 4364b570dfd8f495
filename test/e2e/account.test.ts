import { createCookieJar, driveAuthorization } from '@postern/testkit/providers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { acceptWith, apiKeyRequest, deletion, issueFor } from '../support/asks.ts';
import { connected, disconnectPathsIn, signInForMe, textOf } from '../support/connections.ts';
import { createRawBrowser, csrfTokenIn, ownLinksIn, type RawAnswer, type RawBrowser } from '../support/raw-browser.ts';
import { ageSignIn } from '../support/sign-in-age.ts';
import { startWorld, type World } from '../support/world.ts';

const SECRET = 'ak_donotexportme';
const FRESH = '/login?to=data&fresh=1';

let world: World;
beforeAll(async () => {
  world = await startWorld({
    replicas: 2,
    mcpServer: { confirmation: {} },
    config: { retention: { endedHours: 72 } },
  });
});
afterAll(() => world?.[Symbol.asyncDispose]());

/** A user with a connection, a lasting credential, an open elicitation, and a sign-in of this minute. */
async function settled(): Promise<{ user: string; raw: RawBrowser; connectionId: string; openId: string }> {
  const user = world.subject();
  const { raw, connectionId } = await connected(world, { user });
  const lasting = { kind: 'credential', credential: { ...apiKeyRequest, retention: 'lasting' } } as const;
  const typed = await issueFor(world, user, lasting);
  await acceptWith(raw, typed.elicitationId, { api_key: SECRET });
  const open = await issueFor(world, user, { kind: 'confirmation', confirmation: deletion });
  await signInForMe(raw, user, FRESH);
  return { user, raw, connectionId, openId: open.elicitationId };
}

const formOf = async (raw: RawBrowser) => ({ csrf_token: csrfTokenIn(await raw.get('/me')) });
const isSignedIn = async (raw: RawBrowser) => (await raw.get('/me')).body.includes('/logout');
const auditsOf = (event: string) => world.log().split(`"event":"${event}"`).length - 1;
const subjectOf = (user: string) => ({ issuer: world.identityProvider.issuer, subject: user });

function withCookiesOf(raw: RawBrowser, replica = 0): RawBrowser {
  const copy = createRawBrowser({ address: world.gateways[replica]?.address ?? '', publicUrl: world.publicUrl });
  for (const [name, value] of raw.cookies) copy.cookies.set(name, value);
  return copy;
}

describe('S101: browsers', () => {
  it('are listed with product and time, and one press signs all of them out, on every replica', async () => {
    const user = world.subject();
    const [first, second, other] = [world.raw(), world.raw(), world.raw()];
    const headers = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0 <b>x</b>' };
    const { location = '' } = await first.get('/login?to=me');
    await first.get(await driveAuthorization(location, user, { jar: createCookieJar() }), { headers });
    await signInForMe(second, user);
    await signInForMe(other, world.subject());
    const page = textOf(await first.get('/me/browsers'));
    expect(page).toContain('Firefox, Linux');
    expect(page).toContain('This browser');
    expect(page.match(/Signed in /g)).toHaveLength(2);
    expect(page).not.toContain('140');

    const copies = [withCookiesOf(second, 0), withCookiesOf(second, 1), withCookiesOf(first, 1)];
    for (const copy of copies) expect(await isSignedIn(copy)).toBe(true);
    const ended = await first.post('/me/browsers/end', { form: await formOf(first) });
    expect(ended.status).toBe(200);
    for (const raw of [first, second, ...copies]) expect(await isSignedIn(raw)).toBe(false);
    expect(await isSignedIn(other)).toBe(true);
    await signInForMe(second, user);
    expect(await isSignedIn(second)).toBe(true);
  });

  it('end only for a press on our own page', async () => {
    const raw = world.raw();
    await signInForMe(raw, world.subject());
    const form = await formOf(raw);
    const stranger = world.raw();
    await signInForMe(stranger, world.subject());
    for (const request of [{ form, headers: { 'sec-fetch-site': 'cross-site' } }, { form: await formOf(stranger) }])
      expect((await raw.post('/me/browsers/end', request)).status).toBe(403);
    expect((await world.raw().post('/me/browsers/end', { form })).status).toBe(401);
    expect(await isSignedIn(raw)).toBe(true);
  });
});

describe('S102: history and download', () => {
  it('the history shows what a person answered, to that person only', async () => {
    const { raw, connectionId, openId } = await settled();
    const csrf_token = await raw.csrfToken(openId);
    await raw.post(`/e/${openId}/decline`, { form: { csrf_token } });
    const page = await raw.get('/me/history');
    const entries = ownLinksIn(page).filter(href => href.startsWith('/e/'));
    expect(entries).toHaveLength(3);
    expect(entries[0]).toContain(openId);
    expect(textOf(page)).toMatch(/Declined.*Sent.*Connected/);
    expect(textOf(page)).toContain('72 hours');
    for (const href of entries) expect((await raw.get(href)).status).toBe(200);
    const stranger = world.raw();
    await signInForMe(stranger, world.subject());
    const theirs = await stranger.get('/me/history');
    expect(ownLinksIn(theirs).filter(href => href.startsWith('/e/'))).toEqual([]);
    expect(theirs.body).not.toContain(connectionId);
  });

  it('the download holds what is stored, and no secret', async () => {
    const { user, raw, connectionId, openId } = await settled();
    const answer = await raw.post('/me/data/export', { form: await formOf(raw) });
    expect(answer.status).toBe(200);
    expect(answer.headers['content-disposition']).toMatch(/^attachment; filename="[\w-]+\.json"$/);
    const data = JSON.parse(answer.body);
    expect(data).toMatchObject({
      person: subjectOf(user),
      connections: [{ connectionId, provider: 'forge', usableBy: ['Issue Tracker'] }],
      credentials: [{ fields: ['api_key'], fingerprint: expect.stringMatching(/^[0-9A-F]{4} [0-9A-F]{4}$/) }],
      openRequests: [{ elicitationId: openId, request: { kind: 'confirmation' }, status: 'pending' }],
      answers: [{ request: { kind: 'credential' } }, { request: { kind: 'authorization' } }],
    });
    expect(data.browsers.length).toBeGreaterThan(0);
    const { accessToken } = (await world.api.accessToken(connectionId)).body;
    const secrets = [SECRET, accessToken, 'eyJ', ...raw.cookies.values()];
    for (const secret of secrets) expect(answer.body).not.toContain(secret);

    const other = await settled();
    const theirs = await other.raw.post('/me/data/export', { form: await formOf(other.raw) });
    for (const foreign of [user, connectionId, openId]) expect(theirs.body).not.toContain(foreign);
  });

  it('the download needs a press on our own page', async () => {
    const { raw } = await settled();
    const form = await formOf(raw);
    expect((await raw.post('/me/data/export', { form, headers: { 'sec-fetch-site': 'cross-site' } })).status).toBe(403);
    expect((await raw.post('/me/data/export', { form: { csrf_token: 'x' } })).status).toBe(403);
    expect((await world.raw().post('/me/data/export', { form })).status).toBe(401);
    expect((await raw.get('/me/data/export')).body).not.toContain('openRequests');
  });
});

describe('disconnecting all accounts', () => {
  it('ends every connection of one person, and the grants at the provider', async () => {
    const { user, raw, connectionId } = await settled();
    const other = await settled();
    const page = await raw.get('/me/data/disconnect');
    expect(textOf(page)).toMatch(/Connected accounts 1/);
    world.provider.clearRequests();
    const done = await raw.post('/me/data/disconnect', { form: await formOf(raw) });
    expect(done.status).toBe(200);
    expect(textOf(done)).toContain('Code Forge');
    expect(disconnectPathsIn(await raw.get('/me'))).toEqual([]);
    expect((await world.api.accessToken(connectionId)).status).toBe(404);
    expect(world.provider.requests('revocation')).not.toEqual([]);
    expect((await world.api.accessToken(other.connectionId)).status).toBe(200);
    expect((await world.api.credentials(subjectOf(user))).body.credentials).toHaveLength(1);
  });
});

describe('S103: deletion', () => {
  const erase = async (raw: RawBrowser): Promise<RawAnswer> => raw.post('/me/data/erase', { form: await formOf(raw) });

  it.each(['erase', 'disconnect', 'export'])('an old sign-in cannot %s, and is sent to a new one', async act => {
    const user = world.subject();
    const { raw, connectionId } = await connected(world, { user });
    await ageSignIn(world, raw, 301);
    if (act !== 'export')
      expect(await raw.get(`/me/data/${act}`)).toMatchObject({ status: 303, location: expect.stringContaining(FRESH) });
    const refused = await raw.post(`/me/data/${act}`, { form: await formOf(raw) });
    expect(refused).toMatchObject({ status: 303, location: expect.stringContaining(FRESH) });
    expect((await world.api.accessToken(connectionId)).status).toBe(200);
    expect(await signInForMe(raw, user, FRESH)).toMatchObject({ status: 303, location: '/me/data' });
    if (act === 'export') expect((await raw.post('/me/data/export', { form: await formOf(raw) })).status).toBe(200);
    else expect((await raw.get(`/me/data/${act}`)).status).toBe(200);
  });

  it('removes connections, credentials, open elicitations and sign-ins of one person, and nothing of another', async () => {
    const { user, raw, connectionId, openId } = await settled();
    const other = await settled();
    const second = world.raw();
    await signInForMe(second, user);
    expect((await raw.get('/me/data/erase')).status).toBe(200);
    const done = await erase(raw);
    expect(done.status).toBe(200);
    expect((await world.api.accessToken(connectionId)).status).toBe(404);
    expect((await world.api.credentials(subjectOf(user))).body.credentials).toEqual([]);
    expect((await world.api.read(openId)).body.status).toBe('declined');
    for (const browser of [raw, second]) expect(await isSignedIn(browser)).toBe(false);

    expect(await isSignedIn(other.raw)).toBe(true);
    expect((await world.api.accessToken(other.connectionId)).status).toBe(200);
    expect((await world.api.read(other.openId)).body.status).toBe('pending');

    await signInForMe(raw, user, FRESH);
    expect((await erase(raw)).status).toBe(200);
  });

  it('many concurrent deletions succeed together', async () => {
    const { raw, connectionId, openId } = await settled();
    const form = await formOf(raw);
    const answers = await Promise.all(Array.from({ length: 8 }, () => raw.post('/me/data/erase', { form })));
    for (const { status } of answers) expect([200, 401]).toContain(status);
    expect(answers.map(({ status }) => status)).toContain(200);
    expect((await world.api.accessToken(connectionId)).status).toBe(404);
    expect((await world.api.read(openId)).body.status).toBe('declined');
    expect(await isSignedIn(raw)).toBe(false);
  });

  it('leaves audit events', async () => {
    const { raw } = await settled();
    const events = ['account.erased', 'connection.disconnected', 'credential.deleted', 'elicitation.declined'];
    const before = events.map(auditsOf);
    await erase(raw);
    expect(events.map(auditsOf)).toEqual(before.map(count => count + 1));
  });
});
