import { SoftwareAuthenticator } from '@postern/payment/software-authenticator';
import { createCookieJar, driveAuthorization } from '@postern/testkit/providers';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { acceptWith, deletion, paymentOf, paymentPolicy } from '../support/asks.ts';
import { askedKinds, askOfEach } from '../support/every-kind.ts';
import { answerCeremony, ceremonyOf, firstPasskeySignInOf } from '../support/passkey-ceremony.ts';
import { acceptFormIn, ownLinksIn, type RawBrowser } from '../support/raw-browser.ts';
import { type Api, type ElicitationAnswer, keyOf, startWorld, type World } from '../support/world.ts';

let world: World;
beforeAll(async () => {
  const payment = paymentPolicy({ passkeyAbove: { JPY: 1000 }, firstPasskeyUpTo: { JPY: 5000 } });
  const external = { mode: 'external', verifyUrl: 'https://application.example/verify' } as const;
  const confirmation = { freshSignInSeconds: 60 };
  world = await startWorld({
    mcpServer: { identity: { mode: 'loopback' }, payment, confirmation },
    otherMcpServers: [
      { id: 'app', identity: external, payment, confirmation },
      { id: 'neighbour', identity: external, payment, confirmation },
    ],
  });
});
afterAll(() => world?.[Symbol.asyncDispose]());

type Ask = ReturnType<(typeof askOfEach)[keyof typeof askOfEach]['ask']>;

async function issued(api: Api, user: string, ask: Ask): Promise<ElicitationAnswer> {
  const subject = { issuer: world.identityProvider.issuer, subject: user };
  const answer = await api.issue({ ...ask, subject } as Parameters<Api['issue']>[0]);
  if (answer.status !== 201) throw new Error(`not issued: ${answer.status} ${answer.body.code ?? ''}`);
  return answer.body;
}

const yen = (minorUnits = 1001) =>
  paymentOf({
    processor: 'none',
    amount: { currency: 'JPY', minorUnits },
    items: [{ label: 'x', unitMinorUnits: minorUnits }],
  });

describe('identity mode loopback: the receipt states that there was no sign-in', () => {
  it.each(askedKinds)('%s', async kind => {
    const { elicitationId } = await issued(world.api, world.subject(), askOfEach[kind].ask());
    const raw = world.raw();
    expect((await raw.get(`/e/${elicitationId}`)).body).not.toContain('/login');
    expect(await acceptWith(raw, elicitationId, askOfEach[kind].typed)).toMatchObject({ status: 303 });
    expect((await world.api.read(elicitationId)).body.status).toBe('completed');
    const { receipt } = (await world.api.redeem(elicitationId)).body;
    if (kind === 'payment' || kind === 'confirmation') {
      const { approval } = decodeJwt(receipt ?? '');
      expect(approval).toMatchObject({ identity: 'loopback', method: 'button' });
      expect(approval).not.toHaveProperty('authTime');
    }
  });

  it('a passkey can be added and used', async () => {
    const { elicitationId } = await issued(world.api, world.subject(), yen());
    const raw = world.raw();
    expect(await acceptWith(raw, elicitationId)).toMatchObject({ location: `/e/${elicitationId}/passkey` });
    const authenticator = new SoftwareAuthenticator(world.publicUrl);
    const adding = await ceremonyOf(raw, elicitationId);
    expect(await answerCeremony(raw, adding, authenticator.create(adding.options))).toMatchObject({
      location: `/e/${elicitationId}/passkey`,
    });
    const using = await ceremonyOf(raw, elicitationId);
    expect(await answerCeremony(raw, using, authenticator.get(using.options))).toMatchObject({
      location: `/e/${elicitationId}`,
    });
    expect((await world.api.read(elicitationId)).body.outcome).toMatchObject({
      approval: { identity: 'loopback', method: 'passkey' },
    });
  });

  it.each(askedKinds)('%s: only the browser that opened the page can decide', async kind => {
    const { elicitationId } = await issued(world.api, world.subject(), askOfEach[kind].ask());
    const [one, other] = [world.raw(), world.raw()];
    const form = await one.acceptForm(elicitationId);
    await other.get(`/e/${elicitationId}`);
    expect((await other.post(`/e/${elicitationId}/accept`, { form })).status).toBe(403);
    expect((await world.api.read(elicitationId)).body.status).toBe('pending');
  });
});

describe('T34: identity mode external: the application states the user and the time of sign-in', () => {
  const apiOf = (id: string) => world.apiOf({ apiKey: keyOf(id) });

  /** The parameters that the gateway sends to the application when the user opens the link. */
  async function opening(raw: RawBrowser, elicitationId: string, fresh = ''): Promise<URLSearchParams> {
    return new URL((await raw.get(`/login?e=${elicitationId}${fresh}`)).location ?? '').searchParams;
  }

  /** The application verifies this browser and reports the time of the sign-in. */
  async function vouch(
    raw: RawBrowser,
    elicitationId: string,
    user: string,
    ago?: number,
    application = 'app',
    fresh = '',
  ): Promise<URLSearchParams> {
    const asked = await opening(raw, elicitationId, fresh);
    const { status, body } = await apiOf(application).call<{ continueUrl?: string }>(
      'POST',
      `/v1/elicitations/${elicitationId}/verify`,
      {
        verificationId: asked.get('verificationId'),
        subject: { issuer: world.identityProvider.issuer, subject: user },
        ...(ago === undefined ? {} : { authTime: Math.floor(Date.now() / 1000) - ago }),
      },
    );
    if (status !== 200) throw new Error(`not verified: ${status}`);
    await raw.get(new URL(body.continueUrl ?? ''));
    return asked;
  }

  const guarded = [
    ['payment', '300', () => paymentOf({ processor: 'none' })],
    ['destructive confirmation', '60', () => ({ kind: 'confirmation', confirmation: deletion }) as const],
  ] as const;

  it.each(guarded)('%s: a recent sign-in is accepted, and the receipt contains its time', async (_, maxAge, ask) => {
    const user = world.subject();
    const { elicitationId } = await issued(apiOf('app'), user, ask());
    const raw = world.raw();
    // The gateway sends `max_age` to the application only after the first verification.
    expect((await vouch(raw, elicitationId, user)).get('max_age')).toBeNull();
    expect((await vouch(raw, elicitationId, user, 10)).get('max_age')).toBe(maxAge);
    expect(await acceptWith(raw, elicitationId)).toMatchObject({ status: 303 });
    const { receipt } = (await apiOf('app').redeem(elicitationId)).body;
    const { approval } = decodeJwt<{ approval: { identity: string; authTime: string } }>(receipt ?? '');
    expect(approval.identity).toBe('external');
    expect(Date.now() - Date.parse(approval.authTime)).toBeGreaterThanOrEqual(10_000);
  });

  it.each(
    guarded.flatMap(([name, , ask]) => [[name, 'old', ask, 305] as const, [name, 'unknown', ask, undefined] as const]),
  )(
    '%s: with %s sign-in the page returns the user to the application and approves nothing',
    async (_, _age, ask, ago) => {
      const user = world.subject();
      const { elicitationId } = await issued(apiOf('app'), user, ask());
      const raw = world.raw();
      await vouch(raw, elicitationId, user, ago);
      const page = await raw.get(`/e/${elicitationId}`);
      expect(page.body).toContain(`href="/login?e=${elicitationId}"`);
      expect(() => acceptFormIn(page)).toThrow();
      const form = { csrf_token: await raw.csrfToken(elicitationId), shown: 'A'.repeat(43) };
      expect((await raw.post(`/e/${elicitationId}/accept`, { form })).status).toBe(403);
      expect((await apiOf('app').read(elicitationId)).body.status).toBe('pending');
      // After another sign-in there, the same browser can continue.
      await vouch(raw, elicitationId, user, 1);
      expect(await acceptWith(raw, elicitationId)).toMatchObject({ status: 303 });
      expect((await apiOf('app').read(elicitationId)).body.status).toBe('completed');
    },
  );

  it.each(['credential', 'form'] as const)('%s: needs the same person but no recent sign-in', async kind => {
    const user = world.subject();
    const { elicitationId } = await issued(apiOf('app'), user, askOfEach[kind].ask());
    const raw = world.raw();
    expect((await vouch(raw, elicitationId, user)).get('max_age')).toBeNull();
    expect(await acceptWith(raw, elicitationId, askOfEach[kind].typed)).toMatchObject({ status: 303 });
    expect((await apiOf('app').read(elicitationId)).body.status).toBe('completed');
  });

  it.each(askedKinds)('%s: a verification by one application does not count for another', async kind => {
    const user = world.subject();
    const own = await issued(apiOf('app'), user, askOfEach[kind].ask());
    const foreign = await issued(apiOf('neighbour'), user, askOfEach[kind].ask());
    const raw = world.raw();
    await vouch(raw, own.elicitationId, user, 1);
    const form = { ...(await raw.acceptForm(own.elicitationId)), ...typed(askOfEach[kind].typed) };
    expect((await raw.get(`/e/${foreign.elicitationId}`)).body).not.toContain('csrf_token');
    expect((await raw.post(`/e/${foreign.elicitationId}/accept`, { form })).status).toBe(401);
    expect((await apiOf('neighbour').read(foreign.elicitationId)).body.status).toBe('pending');
  });

  it.each([
    ['gets no max_age', ''],
    ['responds to max_age=0 with the previous sign-in', '&fresh=1'],
  ])('S88: the cookie of a fresh sign-in cannot add the first passkey if the application %s', async (_, fresh) => {
    const user = world.subject();
    const { elicitationId } = await issued(apiOf('app'), user, yen());
    const raw = world.raw();
    await vouch(raw, elicitationId, user, 100);
    await vouch(raw, elicitationId, user, 100, 'app', fresh);
    const page = `/e/${elicitationId}`;
    const form = await raw.acceptForm(elicitationId);
    expect(ownLinksIn(await raw.get(`${page}/passkey`))).toContain(firstPasskeySignInOf(elicitationId));
    const options = { challenge: 'AAAA', rp: { id: 'localhost' }, user: { id: 'AAAA' } };
    const created = new SoftwareAuthenticator(world.publicUrl).create(options);
    const adding = { action: `${page}/passkey/new`, form: { ...form, ceremony: 'x' } };
    expect(await answerCeremony(raw, adding, created)).toMatchObject({ status: 303, location: page });
    expect((await raw.get('/me')).body).not.toContain('/me/passkeys/');
    expect((await apiOf('app').read(elicitationId)).body.status).toBe('pending');
    if (fresh !== '') expect(world.log()).toContain('"code":"auth_time_too_old"');
  });

  it('S88: a passkey from a sign-in for one payment approves larger amounts only after 24 hours', async () => {
    const user = world.subject();
    const { elicitationId } = await issued(apiOf('app'), user, yen(5001));
    const raw = world.raw();
    await vouch(raw, elicitationId, user, 1);
    await vouch(raw, elicitationId, user, 0, 'app', '&fresh=1');
    const adding = await ceremonyOf(raw, elicitationId);
    const created = new SoftwareAuthenticator(world.publicUrl).create(adding.options);
    expect(await answerCeremony(raw, adding, created)).toMatchObject({ status: 303 });
    expect((await raw.get(`/e/${elicitationId}/passkey`)).body).not.toContain('data-passkey');
    expect((await apiOf('app').read(elicitationId)).body.status).toBe('pending');
  });

  it('a passkey of a user whom an application verified is valid only for that application', async () => {
    const user = world.subject();
    const { elicitationId } = await issued(apiOf('app'), user, yen());
    const raw = world.raw();
    await vouch(raw, elicitationId, user, 1);
    expect((await vouch(raw, elicitationId, user, 0, 'app', '&fresh=1')).get('max_age')).toBe('0');
    const authenticator = new SoftwareAuthenticator(world.publicUrl);
    await acceptWith(raw, elicitationId);
    const adding = await ceremonyOf(raw, elicitationId);
    await answerCeremony(raw, adding, authenticator.create(adding.options));
    const using = await ceremonyOf(raw, elicitationId);
    await answerCeremony(raw, using, authenticator.get(using.options));
    expect((await apiOf('app').read(elicitationId)).body.outcome).toMatchObject({
      approval: { identity: 'external', method: 'passkey' },
    });
    expect((await raw.get('/me')).body).toContain('/me/passkeys/');
    // An application may report any user, so its verifications do not count where users sign in at the gateway.
    const own = world.raw();
    const { location = '' } = await own.get('/login?to=me');
    await own.get(await driveAuthorization(location, user, { jar: createCookieJar() }));
    expect((await own.get('/me')).body).not.toContain('/me/passkeys/');
    // They do not count for another application either.
    const elsewhere = await issued(apiOf('neighbour'), user, yen());
    const neighbour = world.raw();
    await vouch(neighbour, elsewhere.elicitationId, user, 1, 'neighbour');
    await vouch(neighbour, elsewhere.elicitationId, user, 0, 'neighbour', '&fresh=1');
    await acceptWith(neighbour, elsewhere.elicitationId);
    expect((await ceremonyOf(neighbour, elsewhere.elicitationId)).mode).toBe('register');
  });
});

function typed(values: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [`field.${name}`, value]));
}
