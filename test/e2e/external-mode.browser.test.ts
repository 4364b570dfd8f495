import { sharedBrowser } from '@postern/testkit/chromium';
import { inFull } from '@postern/testkit/in-full';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { acceptAndStay, atProvider, newPerson } from '../support/browser.ts';
import { type ExternalApplication, startExternalApplication } from '../support/external-application.ts';
import { csrfTokenIn, type RawBrowser } from '../support/raw-browser.ts';
import { ageSignIn } from '../support/sign-in-age.ts';
import { askFor, keyOf, startWorld, type World } from '../support/world.ts';

let browser: Browser;
let application: ExternalApplication;
let world: World;

beforeAll(async () => {
  application = await startExternalApplication();
  [browser, world] = await Promise.all([
    sharedBrowser(),
    startWorld({
      mcpServer: { identity: { mode: 'external', verifyUrl: application.verifyUrl } },
      otherMcpServers: [
        { id: 'wiki', identity: { mode: 'external', verifyUrl: application.verifyUrl } },
        { id: 'plain' },
      ],
    }),
  ]);
  application.connect(world, 'tracker');
});
afterEach(() => {
  world.clock.backToNow();
  world.provider.clearRequests();
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await application?.[Symbol.asyncDispose]();
});

const statusOf = async (elicitationId: string) => (await world.api.read(elicitationId)).body.status;
const tokenRequests = () => world.provider.requests('token').length;
const signInAtApplication = (page: Page, user: string) => page.goto(`${application.origin}/sign-in?as=${user}`);
const toApplication = (page: Page) => page.getByRole('link', { name: 'Continue to sign-in' }).click();

/** The parameters with which the gateway sends `raw` to the application for verification. */
async function openingIn(
  raw: RawBrowser,
  elicitationId: string,
): Promise<{ elicitationId: string; verificationId: string }> {
  const { location } = await raw.get(`/login?e=${elicitationId}`);
  return questionIn(location);
}

function questionIn(location: string | undefined) {
  const query = new URL(location ?? '').searchParams;
  return { elicitationId: query.get('elicitationId') ?? '', verificationId: query.get('verificationId') ?? '' };
}

/** Signs `raw` in through a verification by the application. */
async function vouchFor(raw: RawBrowser, elicitationId: string, subject: string): Promise<void> {
  const { body } = await application.verify({ ...(await openingIn(raw, elicitationId)), subject });
  const back = await raw.get(new URL(body.continueUrl ?? ''));
  if (back.status !== 303) throw new Error(`the ticket was refused: ${back.status}`);
}

/** Goes through the provider up to the second verification. */
async function heldAnswer(raw: RawBrowser, elicitationId: string) {
  const callback = await raw.decideAtProvider(await raw.accept(elicitationId), 'alice');
  world.provider.clearRequests();
  const { location } = await raw.get(callback);
  return { callback, question: questionIn(location) };
}

describe('identity mode external: an application with its own sign-in', () => {
  it('verifies the user when the link opens and again before the token request', async () => {
    const user = world.subject();
    await using person = await newPerson(browser, user);
    const { page } = person;
    const issued = await world.ask(user);
    await signInAtApplication(page, user);
    await page.goto(issued.url);
    await toApplication(page);
    await page.locator('form[action$="/accept"] button').click();
    await atProvider(page, 'alice');
    await page.waitForURL(issued.url);
    expect(await statusOf(issued.elicitationId)).toBe('completed');

    const asked = application.verifications.filter(({ elicitationId }) => elicitationId === issued.elicitationId);
    expect(asked.map(({ status }) => status)).toEqual([200, 200]);
    expect(asked[0]?.verificationId).not.toBe(asked[1]?.verificationId);
    expect(world.identityProvider.requests('authorization')).toHaveLength(0);
    expect(page.url()).not.toMatch(/ticket|verificationId/);
  });

  it('a wrong user at the first verification sees nothing and leaves the elicitation unchanged', async () => {
    const [aliceName, bobName] = [world.subject(), world.subject()];
    await using bob = await newPerson(browser, bobName);
    const issued = await world.ask(aliceName, { message: 'for-alice-only' });
    await signInAtApplication(bob.page, bobName);
    await bob.page.goto(issued.url);
    const answered = bob.page.waitForResponse(response => response.url().startsWith(application.verifyUrl));
    await toApplication(bob.page);
    expect((await answered).status()).toBe(403);
    expect(application.verifications.at(-1)).toMatchObject({ status: 403, body: { code: 'wrong_person' } });
    await bob.page.goto(issued.url);
    expect(await bob.page.content()).not.toContain('for-alice-only');
    expect(await statusOf(issued.elicitationId)).toBe('pending');
  });

  inFull.it('a wrong user at the second verification fails the elicitation without a token request', async () => {
    const [aliceName, bobName] = [world.subject(), world.subject()];
    await using person = await newPerson(browser, aliceName);
    const { page } = person;
    const issued = await world.ask(aliceName);
    await signInAtApplication(page, aliceName);
    await page.goto(issued.url);
    await toApplication(page);
    await acceptAndStay(page);
    // Meanwhile another user signs in at the application in this browser.
    const tab = await person.context.newPage();
    await signInAtApplication(tab, bobName);
    const refused = page.waitForResponse(response => response.url().startsWith(application.verifyUrl));
    await page.locator('a.button.accent').click();
    await atProvider(page, 'alice');
    expect((await refused).status()).toBe(403);
    expect(tokenRequests()).toBe(0);
    expect((await world.api.read(issued.elicitationId)).body).toMatchObject({
      status: 'failed',
      failure: { code: 'wrong_person' },
    });
  });

  it('a verification that Alice started is refused if Bob confirms it', async () => {
    const [aliceName, bobName] = [world.subject(), world.subject()];
    const issued = await world.ask(aliceName);
    const alice = world.raw();
    const opening = await openingIn(alice, issued.elicitationId);
    expect(await application.verify({ ...opening, subject: bobName })).toMatchObject({
      status: 403,
      body: { code: 'wrong_person' },
    });
    expect(await statusOf(issued.elicitationId)).toBe('pending');
  });

  it('a verification that Mallory started and the right user confirmed gives Mallory no session', async () => {
    const user = world.subject();
    const issued = await world.ask(user);
    const [mallory, victim] = [world.raw(), world.raw()];
    const opening = await openingIn(mallory, issued.elicitationId);
    // Mallory lures the victim to the application's page with her verification id; the application reports the victim
    // truthfully.
    const { body } = await application.verify({ ...opening, subject: user });
    const ticket = new URL(body.continueUrl ?? '');
    expect((await victim.get(ticket)).status).toBe(400);
    // After its use in another browser it is consumed, even for the browser that it belongs to.
    expect((await mallory.get(ticket)).status).toBe(400);
    expect((await mallory.get(`/e/${issued.elicitationId}`)).body).not.toContain('csrf_token');
  });

  it('a ticket signs in once and only within one minute', async () => {
    const user = world.subject();
    const issued = await world.ask(user);
    const raw = world.raw();
    const first = await application.verify({ ...(await openingIn(raw, issued.elicitationId)), subject: user });
    const ticket = new URL(first.body.continueUrl ?? '');
    expect(await raw.get(ticket)).toMatchObject({ status: 303, location: `/e/${issued.elicitationId}` });
    expect((await raw.get(ticket)).status).toBe(400);

    const second = await application.verify({ ...(await openingIn(raw, issued.elicitationId)), subject: user });
    world.clock.ahead = 61_000;
    expect((await raw.get(new URL(second.body.continueUrl ?? ''))).status).toBe(400);
  });

  it('a verification confirmed twice yields two tickets, of which one is valid', async () => {
    const user = world.subject();
    const issued = await world.ask(user);
    const raw = world.raw();
    const opening = await openingIn(raw, issued.elicitationId);
    const tickets = await Promise.all([1, 2].map(() => application.verify({ ...opening, subject: user })));
    const answers: number[] = [];
    for (const { body } of tickets) answers.push((await raw.get(new URL(body.continueUrl ?? ''))).status);
    expect(answers).toEqual([303, 400]);
  });

  it('A3: a callback in a foreign browser is consumed before the application is called', async () => {
    const [aliceName, bobName] = [world.subject(), world.subject()];
    const [forAlice, forBob] = [await world.ask(aliceName), await world.ask(bobName)];
    const [alice, bob] = [world.raw(), world.raw()];
    await vouchFor(alice, forAlice.elicitationId, aliceName);
    await vouchFor(bob, forBob.elicitationId, bobName);
    const callback = await bob.decideAtProvider(await alice.accept(forAlice.elicitationId), 'bob');
    world.provider.clearRequests();
    expect((await bob.get(callback)).status).toBe(400);
    expect(await alice.get(callback)).toMatchObject({ status: 303, location: `/e/${forAlice.elicitationId}` });
    expect(tokenRequests()).toBe(0);
    expect(await statusOf(forAlice.elicitationId)).toBe('active');
  });

  it('the second verification is accepted once, and a repeated callback shows the current status', async () => {
    const user = world.subject();
    const { elicitationId } = await world.ask(user);
    const raw = world.raw();
    await vouchFor(raw, elicitationId, user);
    const { callback, question } = await heldAnswer(raw, elicitationId);
    expect(await statusOf(elicitationId)).toBe('verifying');
    expect(tokenRequests()).toBe(0);
    expect(await raw.get(callback)).toMatchObject({ status: 303, location: `/e/${elicitationId}` });
    expect((await raw.get(`/e/${elicitationId}`)).status).toBe(200);

    // During verification a cancel or another decision is refused.
    expect((await world.api.cancel(elicitationId)).body.code).toBe('illegal_transition');
    expect(await application.verify({ ...question, subject: user })).toMatchObject({
      status: 200,
      body: { status: 'completed', continueUrl: `${world.publicUrl}/e/${elicitationId}` },
    });
    expect(tokenRequests()).toBe(1);
    expect(await application.verify({ ...question, subject: user })).toMatchObject({
      status: 409,
      body: { code: 'already_ended' },
    });
    expect(tokenRequests()).toBe(1);
  });

  it('a verification request is rejected for another elicitation, another deployment or after tampering', async () => {
    const users = [world.subject(), world.subject()] as const;
    const first = (await world.ask(users[0])).elicitationId;
    const second = (await world.ask(users[1])).elicitationId;
    const [raw, other] = [world.raw(), world.raw()];
    const opening = await openingIn(raw, first);
    await vouchFor(raw, first, users[0]);
    await vouchFor(other, second, users[1]);
    const { question } = await heldAnswer(raw, first);
    const [letter = ''] = question.verificationId.slice(-2);
    const changed = `${question.verificationId.slice(0, -2)}${letter === 'A' ? 'B' : 'A'}${question.verificationId.slice(-1)}`;
    for (const [elicitationId, verificationId, subject] of [
      [second, question.verificationId, users[1]],
      [second, opening.verificationId, users[1]],
      [first, changed, users[0]],
      [first, `${opening.verificationId.slice(0, -4)}AAAA`, users[0]],
    ] as const)
      expect(await application.verify({ elicitationId, verificationId, subject })).toMatchObject({
        status: 409,
        body: { code: 'verification_unknown' },
      });
    expect(tokenRequests()).toBe(0);
    expect(await statusOf(first)).toBe('verifying');
  });

  it('S16: an application can verify users only for elicitations of its own MCP server', async () => {
    const user = world.subject();
    const { elicitationId } = await world.ask(user);
    const wiki = world.apiOf({ apiKey: keyOf('wiki') });
    const forWiki = (await wiki.issue(askFor(world, user))).body.elicitationId;
    const raw = world.raw();
    const opening = await openingIn(raw, elicitationId);
    const body = {
      verificationId: opening.verificationId,
      subject: { issuer: world.identityProvider.issuer, subject: user },
    };
    expect(await wiki.call('POST', `/v1/elicitations/${elicitationId}/verify`, body)).toMatchObject({ status: 404 });
    expect(await wiki.call('POST', `/v1/elicitations/${forWiki}/verify`, body)).toMatchObject({ status: 409 });

    // The verification by `tracker` counts neither for `wiki` nor where users sign in with Postern.
    await vouchFor(raw, elicitationId, user);
    const plain = world.apiOf({ apiKey: keyOf('plain') });
    const forPlain = (await plain.issue(askFor(world, user))).body.elicitationId;
    for (const foreign of [forWiki, forPlain]) {
      const own = csrfTokenIn(await raw.get(`/e/${elicitationId}`));
      const page = await raw.get(`/e/${foreign}`);
      expect(page.body).not.toContain('/accept');
      const accepted = await raw.post(`/e/${foreign}/accept`, { form: { csrf_token: own } });
      expect([401, 403]).toContain(accepted.status);
      expect(accepted.location).toBeUndefined();
    }
    expect((await wiki.read(forWiki)).body.status).toBe('pending');
    expect((await plain.read(forPlain)).body.status).toBe('pending');
  });

  it('an MCP server whose users sign in with Postern cannot verify them itself', async () => {
    const user = world.subject();
    const plain = world.apiOf({ apiKey: keyOf('plain') });
    const { elicitationId } = (await plain.issue(askFor(world, user))).body;
    expect(
      await plain.call('POST', `/v1/elicitations/${elicitationId}/verify`, {
        verificationId: 'x',
        subject: { issuer: world.identityProvider.issuer, subject: user },
      }),
    ).toMatchObject({ status: 422, body: { code: 'identity_mode_mismatch' } });
  });

  it('the elicitation fails after the timeout if the application never answers', async () => {
    const user = world.subject();
    const { elicitationId } = await world.ask(user, { ttlSeconds: 60 });
    const raw = world.raw();
    await vouchFor(raw, elicitationId, user);
    const { question } = await heldAnswer(raw, elicitationId);
    world.clock.ahead = 61_000;
    const late = await application.verify({ ...question, subject: user });
    expect(late.status).toBe(409);
    // The late response or the sweeper ended it, whichever came first.
    expect((await world.api.read(elicitationId, 50)).body).toMatchObject({
      status: 'failed',
      failure: { code: 'verification_expired' },
    });
    expect(
      (
        await world.api.call(
          'GET',
          `/v1/connections?${new URLSearchParams({ issuer: world.identityProvider.issuer, subject: user })}`,
        )
      ).body,
    ).toEqual({ connections: [] });
  });

  const exported = async (raw: RawBrowser) => {
    const form = { csrf_token: csrfTokenIn(await raw.get('/me')) };
    return raw.post('/me/data/export', { form });
  };

  it('S112: a vouched user signs in again at the application to take or delete data, with an ended elicitation too', async () => {
    const user = world.subject();
    const { elicitationId } = await world.ask(user);
    const raw = world.raw();
    await vouchFor(raw, elicitationId, user);
    await raw.post(`/e/${elicitationId}/decline`, { form: { csrf_token: await raw.csrfToken(elicitationId) } });
    expect((await exported(raw)).status).toBe(200);
    for (const act of ['export', 'erase', 'disconnect']) {
      await ageSignIn(world, raw, 301);
      const form = { csrf_token: csrfTokenIn(await raw.get('/me')) };
      const refused = await raw.post(`/me/data/${act}`, { form });
      expect(refused).toMatchObject({ status: 303, location: expect.stringContaining('/login?to=data&fresh=1') });
      const { location } = await raw.get(refused.location ?? '');
      expect(location).toMatch(application.verifyUrl);
      expect(new URL(location ?? '').searchParams.get('max_age')).toBe('300');
      const stale = Math.floor(Date.now() / 1000) - 400;
      const old = await application.verify({ ...questionIn(location), subject: user, authTime: stale });
      expect((await raw.get(new URL(old.body.continueUrl ?? ''))).status).toBe(400);
      const again = await raw.get('/login?to=data&fresh=1');
      const stranger = await application.verify({ ...questionIn(again.location), subject: world.subject() });
      expect(stranger.status).toBe(403);
      const { body } = await application.verify({ ...questionIn(again.location), subject: user });
      expect(await raw.get(new URL(body.continueUrl ?? ''))).toMatchObject({ status: 303, location: '/me/data' });
      expect((await exported(raw)).status).toBe(200);
    }
    // The identity provider of this gateway does not know this user.
    expect(world.identityProvider.requests('authorization')).toHaveLength(0);
  });

  it('S112: a verification for the account opens no elicitation as a fresh sign-in, and an ended one signs nobody in', async () => {
    const user = world.subject();
    const { elicitationId } = await world.ask(user);
    const raw = world.raw();
    await vouchFor(raw, elicitationId, user);
    const open = await openingIn(raw, elicitationId);
    await world.api.cancel(elicitationId);
    expect(await application.verify({ ...open, subject: user })).toMatchObject({ status: 409 });
    // Nothing tells the application whose account it is.
    const page = await raw.get('/login?to=data&fresh=1');
    expect([page.status, page.location]).toEqual([200, undefined]);
    expect(page.body).toContain('href="/me"');
  });

  it('S103: a deletion fails what an application verifies, and a later verification connects nothing', async () => {
    const user = world.subject();
    const { elicitationId } = await world.ask(user);
    const raw = world.raw();
    await vouchFor(raw, elicitationId, user);
    const { question } = await heldAnswer(raw, elicitationId);
    expect(await statusOf(elicitationId)).toBe('verifying');
    const form = { csrf_token: csrfTokenIn(await raw.get('/me')) };
    expect((await raw.post('/me/data/erase', { form })).status).toBe(200);
    expect(await statusOf(elicitationId)).toBe('failed');
    expect((await application.verify({ ...question, subject: user })).status).toBe(409);
    expect(tokenRequests()).toBe(0);
  });

  it('the elicitation fails with a reason if the provider rejects the code after verification', async () => {
    const user = world.subject();
    const { elicitationId } = await world.ask(user);
    const raw = world.raw();
    await vouchFor(raw, elicitationId, user);
    const { question } = await heldAnswer(raw, elicitationId);
    world.provider.fault({ endpoint: 'token', status: 400, body: '{"error":"invalid_grant"}' });
    expect(await application.verify({ ...question, subject: user })).toMatchObject({
      status: 200,
      body: { status: 'failed', failure: { code: 'provider_refused' } },
    });
    world.provider.clearFaults();
  });
});
