import { FIRST_DELAY_MS } from '@postern/elicitation';
import { SoftwareAuthenticator } from '@postern/payment/software-authenticator';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { issueFor, paymentOf, paymentPolicy } from '../support/asks.ts';
import { answerCeremony, type CeremonyPage, ceremonyIn, ceremonyOf } from '../support/passkey-ceremony.ts';
import { createPasskeyPeople } from '../support/passkey-person.ts';
import type { RawBrowser } from '../support/raw-browser.ts';
import { startWorld, type World } from '../support/world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld({ mcpServer: { payment: paymentPolicy({ passkeyAbove: { EUR: 2000 } }) } });
});
afterEach(() => {
  world.clock.backToNow();
});
afterAll(() => world?.[Symbol.asyncDispose]());

const { enrolled, passkeysOf } = createPasskeyPeople(() => world);
const newDevice = () => new SoftwareAuthenticator(world.publicUrl);

/** A browser with the stolen cookies of another browser. */
function withCookiesOf(victim: RawBrowser): RawBrowser {
  const thief = world.raw();
  for (const [name, value] of victim.cookies) thief.cookies.set(name, value);
  return thief;
}

async function removalOf(raw: RawBrowser): Promise<string> {
  const [path] = /\/me\/passkeys\/[^/"]+\/remove/.exec((await raw.get('/me')).body) ?? [];
  if (path === undefined) throw new Error('no passkey to remove');
  return path;
}

const ADD = '/me/passkeys/add';
const pageAt = async (raw: RawBrowser, path: string): Promise<CeremonyPage> => ceremonyIn(await raw.get(path));
const tokenIn = (body: string): string => /name="csrf_token" value="([^"]+)"/.exec(body)?.[1] ?? '';

const dear = () => {
  const amount = { currency: 'EUR', minorUnits: 90_000 };
  return paymentOf({ processor: 'none', amount, items: [{ label: 'Everything', unitMinorUnits: 90_000 }] });
};

describe('S67: a stolen cookie of a fresh browser session', () => {
  it('neither replaces the user’s passkey nor approves €900 with another one', async () => {
    const victim = await enrolled();
    const { elicitationId } = await issueFor(world, victim.user, dear());
    const thief = withCookiesOf(victim.raw);
    const device = newDevice();

    const removal = await removalOf(thief);
    await thief.post(removal, { form: { csrf_token: tokenIn((await thief.get(removal)).body) } });
    const asked = await ceremonyOf(thief, elicitationId);
    if (asked.mode === 'register') {
      await answerCeremony(thief, asked, device.create(asked.options));
      const approving = await ceremonyOf(thief, elicitationId);
      await answerCeremony(thief, approving, device.get(approving.options));
    }

    expect(await passkeysOf(victim.user)).toEqual([victim.authenticator.credentialId]);
    expect((await world.api.read(elicitationId)).body.status).toBe('pending');
  });

  it('neither removes nor adds a passkey with an assertion of another device', async () => {
    const victim = await enrolled();
    const thief = withCookiesOf(victim.raw);
    const device = newDevice();
    for (const path of [await removalOf(thief), ADD]) {
      const page = await pageAt(thief, path);
      expect(page).toMatchObject({ mode: 'assert', action: path });
      expect(await answerCeremony(thief, page, device.get(page.options))).toMatchObject({ status: 422 });
    }
    // Registration without the preceding assertion.
    const { form } = await pageAt(thief, ADD);
    const options = { challenge: 'AAAA', rp: { id: 'localhost' }, user: { id: 'AAAA' } };
    expect(await answerCeremony(thief, { action: '/me/passkeys/new', form }, device.create(options))).toMatchObject({
      status: 422,
    });
    expect(await passkeysOf(victim.user)).toEqual([victim.authenticator.credentialId]);
  });

  it('does not change passkeys with an assertion that the user made for a payment', async () => {
    const victim = await enrolled();
    const payment = await ceremonyOf(victim.raw, victim.elicitationId);
    const signed = victim.authenticator.get(payment.options);
    const thief = withCookiesOf(victim.raw);
    for (const path of [await removalOf(thief), ADD]) {
      const { form } = await pageAt(thief, path);
      // Once with the ceremony of the change, and once with that of the payment.
      for (const ceremony of [form['ceremony'] ?? '', payment.form['ceremony'] ?? ''])
        expect(await answerCeremony(thief, { action: path, form: { ...form, ceremony } }, signed)).toMatchObject({
          status: 422,
        });
    }
    expect(await passkeysOf(victim.user)).toEqual([victim.authenticator.credentialId]);
  });
});

it('S67: every page reports that the passkeys have changed, even after the new one is used', async () => {
  const { raw, authenticator, elicitationId } = await enrolled();
  const isTold = async (path: string) => (await raw.get(path)).body.includes('class="passkeys-changed');
  for (const path of ['/me', `/e/${elicitationId}`, ADD]) expect(await isTold(path)).toBe(true);
  const page = await ceremonyOf(raw, elicitationId);
  expect(await answerCeremony(raw, page, authenticator.get(page.options))).toMatchObject({ status: 303 });
  for (const path of ['/me', `/e/${elicitationId}`]) expect(await isTold(path)).toBe(true);
});

describe('S67: a user changes their passkeys', () => {
  it('with an assertion of a registered one: adds a second one, approves with it and removes it', async () => {
    const { raw, user, authenticator, elicitationId } = await enrolled();
    const permitting = await pageAt(raw, ADD);
    const adding = ceremonyIn(await answerCeremony(raw, permitting, authenticator.get(permitting.options)));
    expect(adding.mode).toBe('register');
    const second = newDevice();
    expect(await answerCeremony(raw, adding, second.create(adding.options))).toMatchObject({
      status: 303,
      location: '/me',
    });
    expect((await passkeysOf(user)).toSorted()).toEqual([authenticator.credentialId, second.credentialId].toSorted());

    const approving = await ceremonyOf(raw, elicitationId);
    await answerCeremony(raw, approving, second.get(approving.options));
    expect((await world.api.read(elicitationId)).body.outcome).toMatchObject({
      approval: { method: 'passkey', passkeyAddedAt: expect.any(String) },
    });

    const removal = await removalOf(raw);
    const removing = await pageAt(raw, removal);
    expect((await answerCeremony(raw, removing, second.get(removing.options))).status).toBe(200);
    expect(await passkeysOf(user)).toHaveLength(1);
    // A second press finds the passkey removed.
    expect(await answerCeremony(raw, removing, second.get(removing.options))).toMatchObject({ location: '/me' });
  });

  it('only after a new sign-in if the sign-in is old', async () => {
    const { raw, user, authenticator } = await enrolled();
    const removal = await removalOf(raw);
    const [removing, permitting] = [await pageAt(raw, removal), await pageAt(raw, ADD)];
    const started = await pageAt(raw, ADD);
    const adding = ceremonyIn(await answerCeremony(raw, started, authenticator.get(started.options)));
    const created = newDevice().create(adding.options);
    world.clock.ahead = 301_000;
    const signIn = { status: 303, location: expect.stringContaining('/login?to=me&fresh=1') };
    expect(await raw.get(removal)).toMatchObject(signIn);
    expect(await raw.get(ADD)).toMatchObject(signIn);
    for (const page of [removing, permitting])
      expect(await answerCeremony(raw, page, authenticator.get(page.options))).toMatchObject(signIn);
    expect(await answerCeremony(raw, adding, created)).toMatchObject(signIn);
    expect(await passkeysOf(user)).toEqual([authenticator.credentialId]);
  });

  it('after a reset by the operator: the next passkey cannot approve for 24 hours, and the page shows the time', async () => {
    const { raw, user, elicitationId } = await enrolled();
    const stores = world.gateways[0]?.deps.stores.passkeys;
    expect(await stores?.reset({ issuer: world.identityProvider.issuer, subject: user })).toBe(1);
    const adding = await ceremonyOf(raw, elicitationId);
    expect(adding.mode).toBe('register');
    const device = newDevice();
    expect((await answerCeremony(raw, adding, device.create(adding.options))).status).toBe(303);
    const { body } = await raw.get(`/e/${elicitationId}/passkey`);
    expect(body).not.toContain('data-passkey');
    const [, from = ''] = /<h1>.*?<time [^>]*datetime="([^"]+)"/s.exec(body) ?? [];
    expect(Date.parse(from)).toBeGreaterThan(Date.now() + FIRST_DELAY_MS - 600_000);
    expect((await raw.get('/me')).body).toContain(from);
    // A passkey that it permits has to wait as long.
    const permitting = await pageAt(raw, ADD);
    const another = ceremonyIn(await answerCeremony(raw, permitting, device.get(permitting.options)));
    expect((await answerCeremony(raw, another, newDevice().create(another.options))).status).toBe(303);
    expect((await raw.get(`/e/${elicitationId}/passkey`)).body).not.toContain('data-passkey');
    expect((await world.api.read(elicitationId)).body.status).toBe('pending');
  });

  it('only with JavaScript, and the pages say so and name the operator as the last resort', async () => {
    const { raw } = await enrolled();
    for (const path of [await removalOf(raw), ADD]) {
      const { body, headers } = await raw.get(path);
      expect(body).toMatch(/<noscript>.*JavaScript.*<\/noscript>/);
      expect(headers['content-security-policy']).toContain("script-src 'self'");
    }
  });
});
