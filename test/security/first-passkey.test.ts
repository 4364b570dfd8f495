import { FIRST_DELAY_MS } from '@postern/elicitation';
import { SoftwareAuthenticator } from '@postern/payment/software-authenticator';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { issueFor, paymentOf, paymentPolicy, visitorFor } from '../support/asks.ts';
import { answerCeremony, ceremonyOf, firstPasskeySignInOf } from '../support/passkey-ceremony.ts';
import { createPasskeyPeople } from '../support/passkey-person.ts';
import { ownLinksIn } from '../support/raw-browser.ts';
import { signInAhead } from '../support/sign-in-age.ts';
import { startWorld, type World } from '../support/world.ts';

let world: World;
beforeAll(async () => {
  const payment = paymentPolicy({ passkeyAbove: { EUR: 2000 }, firstPasskeyUpTo: { EUR: 10_000 } });
  world = await startWorld({ mcpServer: { payment } });
});
afterEach(() => {
  world.clock.backToNow();
});
afterAll(() => world?.[Symbol.asyncDispose]());

const { enrolled, passkeysOf } = createPasskeyPeople(() => world);

const dear = () => {
  const amount = { currency: 'EUR', minorUnits: 90_000 };
  return paymentOf({ processor: 'none', amount, items: [{ label: 'Everything', unitMinorUnits: 90_000 }] });
};

it('S67: a stolen session cookie of a user without a passkey neither adds one nor approves €900', async () => {
  const user = world.subject();
  const { elicitationId } = await issueFor(world, user, dear());
  const victim = await visitorFor(world, user, elicitationId);
  const thief = world.raw();
  for (const [name, value] of victim.cookies) thief.cookies.set(name, value);

  const page = `/e/${elicitationId}`;
  const login = firstPasskeySignInOf(elicitationId);
  const form = await thief.acceptForm(elicitationId);
  expect(await thief.post(`${page}/accept`, { form })).toMatchObject({ location: `${page}/passkey` });
  expect(ownLinksIn(await thief.get(`${page}/passkey`))).toContain(login);
  const atProvider = new URL((await thief.get(login)).location ?? '');
  expect(atProvider.searchParams.get('max_age')).toBe('0');
  const options = { challenge: 'AAAA', rp: { id: 'localhost' }, user: { id: 'AAAA' } };
  const device = new SoftwareAuthenticator(world.publicUrl);
  for (const action of [`${page}/passkey/new`, `${page}/passkey`])
    await answerCeremony(thief, { action, form: { ...form, ceremony: 'x' } }, device.create(options));

  expect(await passkeysOf(user)).toEqual([]);
  expect((await world.api.read(elicitationId)).body.status).toBe('pending');
});

it('S67: a sign-in for one payment adds no passkey at another', async () => {
  const user = world.subject();
  const [one, other] = [await issueFor(world, user, paymentOf()), await issueFor(world, user, dear())];
  const raw = await visitorFor(world, user, one.elicitationId);
  expect((await ceremonyOf(raw, one.elicitationId)).mode).toBe('register');
  const page = await raw.get(`/e/${other.elicitationId}/passkey`);
  expect(ownLinksIn(page)).toContain(firstPasskeySignInOf(other.elicitationId));
});

it('S67: a first passkey approves up to the limit immediately, and more after 24 hours', async () => {
  const { raw, user, authenticator, elicitationId } = await enrolled();
  const approve = async (id: string) => {
    const page = await ceremonyOf(raw, id);
    await answerCeremony(raw, page, authenticator.get(page.options));
    return (await world.api.read(id)).body.status;
  };
  expect(await approve(elicitationId)).toBe('completed');

  const early = await issueFor(world, user, dear());
  const { status, body } = await raw.get(`/e/${early.elicitationId}/passkey`);
  expect(status).toBe(200);
  expect(body).not.toContain('data-passkey');
  expect(body).toMatch(/<h1>.*?<time [^>]*datetime="/s);

  await signInAhead(world, raw, FIRST_DELAY_MS + 60_000);
  const late = await issueFor(world, user, dear());
  expect(await approve(late.elicitationId)).toBe('completed');
});
