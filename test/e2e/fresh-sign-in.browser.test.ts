import { sharedBrowser } from '@postern/testkit/chromium';
import { inFull } from '@postern/testkit/in-full';
import { type EvilProvider, startEvilProvider } from '@postern/testkit/providers';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { acceptWith, deletion, issueFor, paymentOf, paymentPolicy, visitorFor } from '../support/asks.ts';
import { newPerson, signIn } from '../support/browser.ts';
import { acceptFormIn, type RawBrowser } from '../support/raw-browser.ts';
import { agedCookie, ageSignIn } from '../support/sign-in-age.ts';
import { storedElicitation } from '../support/stored-elicitation.ts';
import { askFor, type ElicitationAnswer, keyOf, startWorld, type World } from '../support/world.ts';

let browser: Browser;
let world: World;
beforeAll(async () => {
  const payment = paymentPolicy();
  [browser, world] = await Promise.all([
    sharedBrowser(),
    startWorld({
      mcpServer: { payment, confirmation: { freshSignInSeconds: 60 } },
      otherMcpServers: [
        { id: 'patient', payment: { ...payment, freshSignInSeconds: 86_400 } },
        { id: 'impatient', payment: { ...payment, freshSignInSeconds: 30 } },
      ],
    }),
  ]);
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

const readOf = async (elicitationId: string) => (await world.api.read(elicitationId)).body;
const signInAgain = (elicitationId: string) => `href="/login?e=${elicitationId}"`;

const guarded = [
  ['a payment', 300, () => paymentOf({ processor: 'none' })],
  ['a destructive confirmation', 60, () => ({ kind: 'confirmation', confirmation: deletion }) as const],
] as const;

describe('T34: an old sign-in cannot approve', () => {
  it.each(guarded)('%s: the page offers a new sign-in and no approval', async (_, seconds, ask) => {
    const user = world.subject();
    const { elicitationId } = await issueFor(world, user, ask());
    const raw = await visitorFor(world, user, elicitationId);
    await ageSignIn(world, raw, seconds + 5);
    const page = await raw.get(`/e/${elicitationId}`);
    expect(page.status).toBe(200);
    expect(page.body).toContain(signInAgain(elicitationId));
    expect(() => acceptFormIn(page)).toThrow();
  });

  it.each(guarded)(
    '%s: a forced accept writes nothing, and a decline needs no new sign-in',
    async (_, seconds, ask) => {
      const user = world.subject();
      const { elicitationId } = await issueFor(world, user, ask());
      const raw = await visitorFor(world, user, elicitationId);
      const { shown = '' } = await raw.acceptForm(elicitationId);
      await ageSignIn(world, raw, seconds + 5);
      const form = { csrf_token: await raw.csrfToken(elicitationId) };
      const before = await storedElicitation(world, elicitationId);
      const refused = await raw.post(`/e/${elicitationId}/accept`, { form: { ...form, shown } });
      expect(refused.status).toBe(403);
      expect(refused.body).toContain(signInAgain(elicitationId));
      expect(await storedElicitation(world, elicitationId)).toEqual(before);
      expect(await raw.post(`/e/${elicitationId}/decline`, { form })).toMatchObject({ status: 303 });
      expect((await readOf(elicitationId)).status).toBe('declined');
    },
  );

  it.each(guarded)('%s: a sign-in of unknown age counts as old', async (_, _seconds, ask) => {
    const user = world.subject();
    const { elicitationId } = await issueFor(world, user, ask());
    const raw = await visitorFor(world, user, elicitationId);
    const { shown = '' } = await raw.acceptForm(elicitationId);
    await ageSignIn(world, raw);
    const form = { csrf_token: await raw.csrfToken(elicitationId), shown };
    expect((await raw.post(`/e/${elicitationId}/accept`, { form })).status).toBe(403);
    expect((await readOf(elicitationId)).status).toBe('pending');
  });

  it.each(guarded)(
    '%s: the same link works after a new sign-in, and the outcome contains its time',
    async (_, seconds, ask) => {
      const user = world.subject();
      const { elicitationId } = await issueFor(world, user, ask());
      const raw = await visitorFor(world, user, elicitationId);
      await ageSignIn(world, raw, seconds + 5);
      world.identityProvider.clearRequests();
      const before = Math.floor(Date.now() / 1000) * 1000;
      await raw.signIn(elicitationId, user);
      const [asked] = world.identityProvider.requests('authorization');
      expect(asked?.url.searchParams.get('max_age')).toBe(String(seconds));
      expect(await acceptWith(raw, elicitationId)).toMatchObject({ status: 303 });
      const { status, outcome } = await readOf(elicitationId);
      expect(status).toBe('completed');
      expect(Date.parse(outcome?.approval?.authTime ?? '')).toBeGreaterThanOrEqual(before);
    },
  );

  it('another user who signs in at that point approves nothing', async () => {
    const user = world.subject();
    const { elicitationId } = await issueFor(world, user, paymentOf({ processor: 'none' }));
    const raw = await visitorFor(world, user, elicitationId);
    const { shown = '' } = await raw.acceptForm(elicitationId);
    await ageSignIn(world, raw, 305);
    await raw.signIn(elicitationId, world.subject());
    const page = await raw.get(`/e/${elicitationId}`);
    expect(page.status).toBe(403);
    const [, csrf_token = ''] = /name="csrf_token" value="([^"]+)"/.exec(page.body) ?? [];
    expect((await raw.post(`/e/${elicitationId}/accept`, { form: { csrf_token, shown } })).status).toBe(403);
    expect((await readOf(elicitationId)).status).toBe('pending');
  });

  it.each(['normal', 'caution'] as const)('a confirmation that is %s needs no fresh sign-in', async danger => {
    const user = world.subject();
    const confirmation = { ...deletion, danger };
    const { elicitationId } = await issueFor(world, user, { kind: 'confirmation', confirmation });
    const raw = await visitorFor(world, user, elicitationId);
    await ageSignIn(world, raw, 86_000);
    expect(await acceptWith(raw, elicitationId)).toMatchObject({ status: 303 });
    expect((await readOf(elicitationId)).status).toBe('completed');
  });

  it('each MCP server has its own limit', async () => {
    const user = world.subject();
    const subject = { issuer: world.identityProvider.issuer, subject: user };
    const issued = async (id: string): Promise<ElicitationAnswer> => {
      const ask = { ...paymentOf({ processor: 'none' }), subject };
      if (ask.kind !== 'payment') throw new Error('another kind');
      return (await world.apiOf({ apiKey: keyOf(id) }).issue(ask)).body;
    };
    const [patient, impatient] = [await issued('patient'), await issued('impatient')];
    const raw = await visitorFor(world, user, patient.elicitationId);
    await ageSignIn(world, raw, 3600);
    expect((await raw.get(`/e/${impatient.elicitationId}`)).body).toContain(signInAgain(impatient.elicitationId));
    expect((await acceptWith(raw, patient.elicitationId)).status).toBe(303);
    await ageSignIn(world, raw, 20);
    expect((await acceptWith(raw, impatient.elicitationId)).status).toBe(303);
  });

  it('a decision is shown again without a new sign-in', async () => {
    const user = world.subject();
    const { elicitationId } = await issueFor(world, user, paymentOf({ processor: 'none' }));
    const raw = await visitorFor(world, user, elicitationId);
    const { shown = '' } = await raw.acceptForm(elicitationId);
    await acceptWith(raw, elicitationId);
    const completed = await storedElicitation(world, elicitationId);
    const onMe = async () => /name="csrf_token" value="([^"]+)"/.exec((await raw.get('/me')).body)?.[1] ?? '';
    await ageSignIn(world, raw, 3600);
    const page = await raw.get(`/e/${elicitationId}`);
    expect(page.status).toBe(200);
    expect(page.body).not.toContain(signInAgain(elicitationId));
    const form = { csrf_token: await onMe(), shown };
    expect((await raw.post(`/e/${elicitationId}/accept`, { form })).status).toBe(303);
    expect(await storedElicitation(world, elicitationId)).toEqual(completed);
  });

  inFull.it('one link and one sign-in lead to the buttons in a real browser', async () => {
    const user = world.subject();
    await using person = await newPerson(browser, user, { javaScriptEnabled: false });
    const { page, context } = person;
    const { url, elicitationId } = await issueFor(world, user, paymentOf({ processor: 'none' }));
    await page.goto(url);
    await signIn(page, user);
    await page.locator('form[action$="/accept"]').waitFor();
    const [cookie] = (await context.cookies()).filter(({ name }) => name === 'postern_session');
    if (cookie === undefined) throw new Error('no browser session');
    await context.addCookies([{ ...cookie, value: await agedCookie(world, cookie.value, 305) }]);
    await page.reload();
    expect(await page.locator('form[action$="/accept"]').count()).toBe(0);
    await page.getByRole('link', { name: 'Sign in again to approve' }).click();
    await page.locator('form[action$="/accept"] button').click();
    await page.waitForURL(url);
    expect((await readOf(elicitationId)).status).toBe('completed');
  });
});

describe('T34: an identity provider that ignores max_age', () => {
  let evil: EvilProvider;
  let misled: World;
  beforeAll(async () => {
    evil = await startEvilProvider({ clientId: 'postern' });
    misled = await startWorld({
      mcpServer: { payment: paymentPolicy(), issuers: [evil.issuer] },
      config: ({ base }) => ({
        identityProviders: [
          { name: 'evil-id', displayName: 'Evil ID', issuer: evil.issuer, clientId: 'postern', clientSecret: 'secret' },
        ],
        mcpServers: base.mcpServers,
      }),
    });
  });
  afterAll(async () => {
    await misled?.[Symbol.asyncDispose]();
    await evil?.[Symbol.asyncDispose]();
  });

  /** Signs in, and again if the gateway requires the time of the sign-in. @returns the status of the last sign-in */
  async function signedInAt(elicitationId: string, raw: RawBrowser): Promise<number> {
    const signInAt = async (maxAge: string | null) => {
      const { location = '' } = await raw.get(`/login?e=${elicitationId}`);
      expect(new URL(location).searchParams.get('max_age')).toBe(maxAge);
      const answer = await fetch(location, { redirect: 'manual' });
      return raw.get(new URL(answer.headers.get('location') ?? ''));
    };
    const first = await signInAt(null);
    return first.location === `/login?e=${elicitationId}` ? (await signInAt('300')).status : first.status;
  }

  it.each<[string, () => number | undefined, number]>([
    ['an hour ago', () => Math.floor(Date.now() / 1000) - 3600, 400],
    ['no time at all', () => undefined, 400],
    ['0', () => 0, 400],
    ['just now', () => Math.floor(Date.now() / 1000), 303],
  ])('auth_time %s', async (_, authTime, expected) => {
    const honest = evil.idTokenClaims;
    const { sub = '' } = honest(undefined);
    const subject = { issuer: evil.issuer, subject: sub };
    const { body } = await misled.api.issue({
      kind: 'payment',
      subject,
      payment: { payee: { name: 'Shop' }, amount: { currency: 'EUR', minorUnits: 1 }, reference: crypto.randomUUID() },
    });
    const raw = misled.raw();
    evil.idTokenClaims = nonce => {
      const { auth_time: _given, ...claims } = honest(nonce);
      const auth_time = authTime();
      return auth_time === undefined ? claims : { ...claims, auth_time };
    };
    expect(await signedInAt(body.elicitationId, raw)).toBe(expected);
    evil.idTokenClaims = honest;
    expect((await raw.get(`/e/${body.elicitationId}`)).body.includes('/accept"')).toBe(expected === 303);
    expect((await misled.api.read(body.elicitationId)).body.status).toBe('pending');
  });

  it.each([0, undefined])(
    'S82: auth_time %s is accepted if the elicitation needs no fresh sign-in',
    async auth_time => {
      const honest = evil.idTokenClaims;
      const { sub = '' } = honest(undefined);
      const { body } = await misled.api.issue(askFor(misled, '', { subject: { issuer: evil.issuer, subject: sub } }));
      const raw = misled.raw();
      evil.idTokenClaims = nonce => {
        const { auth_time: _given, ...claims } = honest(nonce);
        return auth_time === undefined ? claims : { ...claims, auth_time };
      };
      expect(await signedInAt(body.elicitationId, raw)).toBe(303);
      evil.idTokenClaims = honest;
      expect((await raw.get(`/e/${body.elicitationId}`)).body).toContain('/accept"');
    },
  );
});
