import type { SoftwareAuthenticator } from '@postern/payment/software-authenticator';
import { sampled } from '@postern/testkit/run-size';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { acceptWith, issueFor, paymentOf, paymentPolicy, visitorFor } from '../support/asks.ts';
import { answerCeremony, type CeremonyPage, ceremonyOf } from '../support/passkey-ceremony.ts';
import { createPasskeyPeople, type PasskeyPerson } from '../support/passkey-person.ts';
import type { RawAnswer } from '../support/raw-browser.ts';
import { storedElicitation } from '../support/stored-elicitation.ts';
import { keyOf, startWorld, type World } from '../support/world.ts';

let world: World;
beforeAll(async () => {
  const payment = paymentPolicy({ passkeyAbove: { EUR: 2000 }, freshSignInSeconds: 3600 });
  world = await startWorld({
    mcpServer: { payment, limits: { elicitationsPerSubject: 1000 } },
    otherMcpServers: [{ id: 'strict', payment: { ...payment, freshSignInSeconds: 60 } }],
  });
});
afterEach(() => {
  world.clock.backToNow();
});
afterAll(() => world?.[Symbol.asyncDispose]());

const statusOf = async (elicitationId: string) => (await world.api.read(elicitationId)).body.status;
const methodOf = async (elicitationId: string) => (await world.api.read(elicitationId)).body.outcome?.approval?.method;
const { newAuthenticator, paymentFor, enrol, enrolled, passkeysOf } = createPasskeyPeople(() => world);

/** Expects a refusal on the passkey page and an unchanged payment. */
async function expectRefused({ elicitationId }: Pick<PasskeyPerson, 'elicitationId'>, act: () => Promise<RawAnswer>) {
  const before = await storedElicitation(world, elicitationId);
  const refusedBefore = refusalsOf(elicitationId);
  expect((await act()).status).toBe(422);
  expect(await storedElicitation(world, elicitationId)).toEqual(before);
  expect(refusalsOf(elicitationId)).toBe(refusedBefore + 1);
}

/** Number of audit events about refused passkeys. */
const refusalsOf = (elicitationId: string): number => eventsOf('passkey.refused', elicitationId);

const eventsOf = (event: string, elicitationId: string): number =>
  world
    .log()
    .split('\n')
    .filter(line => line.includes(`"${event}"`) && line.includes(elicitationId)).length;

describe('T30, T34: a passkey assertion approves one payment of one user once', () => {
  it('registration approves nothing, and an assertion approves the payment', async () => {
    const { raw, elicitationId, authenticator, user } = await enrolled();
    expect(await passkeysOf(user)).toEqual([authenticator.credentialId]);
    expect(await statusOf(elicitationId)).toBe('pending');
    const page = await ceremonyOf(raw, elicitationId);
    expect(page.mode).toBe('assert');
    expect(await answerCeremony(raw, page, authenticator.get(page.options))).toMatchObject({ status: 303 });
    expect([await statusOf(elicitationId), await methodOf(elicitationId)]).toEqual(['completed', 'passkey']);
  });

  it('the button alone approves nothing above the threshold', async () => {
    const user = world.subject();
    const elicitationId = await paymentFor(user);
    const raw = await visitorFor(world, user, elicitationId);
    for (let round = 0; round < 2; round += 1)
      expect(await acceptWith(raw, elicitationId)).toMatchObject({
        status: 303,
        location: `/e/${elicitationId}/passkey`,
      });
    expect(await statusOf(elicitationId)).toBe('pending');
  });

  const assertions: readonly (readonly [string, Parameters<SoftwareAuthenticator['get']>[1]])[] = [
    ['made at another origin', { origin: 'https://evil.example' }],
    ['made at another port', { origin: 'http://localhost:1' }],
    ['for another relying party', { rpId: 'evil.example' }],
    ['made in a frame', { crossOrigin: true }],
    ['with its own challenge', { challenge: Buffer.alloc(64).toString('base64url') }],
    ['a registration instead of an assertion', { type: 'webauthn.create' }],
    ['without user verification', { verified: false }],
    ['without user presence', { present: false }],
    ['with the account of another user', { userHandle: Buffer.alloc(32, 1).toString('base64url') }],
  ];
  it.each(sampled(assertions, 3))('refused: %s', async (_, deviation) => {
    const one = await enrolled();
    const page = await ceremonyOf(one.raw, one.elicitationId);
    await expectRefused(one, () => answerCeremony(one.raw, page, one.authenticator.get(page.options, deviation)));
  });

  it.each<[string, unknown]>([
    ['nothing', ''],
    ['null', null],
    ['a list', []],
    ['an object with other members', { id: 'x', response: {} }],
  ])('refuses a response: %s', async (_, answer) => {
    const one = await enrolled();
    await expectRefused(one, async () => answerCeremony(one.raw, await ceremonyOf(one.raw, one.elicitationId), answer));
  });

  it('refuses another user’s passkey under its own and under a borrowed user handle', async () => {
    const [alice, bob] = [await enrolled(), await enrolled()];
    const first = await ceremonyOf(alice.raw, alice.elicitationId);
    await expectRefused(alice, () => answerCeremony(alice.raw, first, bob.authenticator.get(first.options)));
    const second = await ceremonyOf(alice.raw, alice.elicitationId);
    const { credentialId: id } = alice.authenticator;
    const disguised = { ...bob.authenticator.get(second.options), id, rawId: id };
    await expectRefused(alice, () => answerCeremony(alice.raw, second, disguised));
    expect(await passkeysOf(alice.user)).toEqual([id]);
  });

  it('refuses a passkey that is not registered', async () => {
    const one = await enrolled();
    const page = await ceremonyOf(one.raw, one.elicitationId);
    await expectRefused(one, () => answerCeremony(one.raw, page, newAuthenticator().get(page.options)));
  });

  it('refuses an assertion over other terms, with either ceremony', async () => {
    const one = await enrolled();
    const amount = { currency: 'EUR', minorUnits: 90_000 };
    const items = [{ label: 'Everything', unitMinorUnits: 90_000 }];
    const dear = await issueFor(world, one.user, paymentOf({ processor: 'none', amount, items }));
    const cheapPage = await ceremonyOf(one.raw, one.elicitationId);
    const dearPage = await ceremonyOf(one.raw, dear.elicitationId);
    // An assertion for the small payment, sent for the large one.
    const answer = one.authenticator.get(cheapPage.options);
    await expectRefused(dear, () => answerCeremony(one.raw, dearPage, answer));
    // With its own ceremony as well, which belongs to the other payment.
    const again = await ceremonyOf(one.raw, one.elicitationId);
    const swapped = { action: dearPage.action, form: { ...again.form, shown: dearPage.form['shown'] ?? '' } };
    await expectRefused(dear, () => answerCeremony(one.raw, swapped, one.authenticator.get(again.options)));
    // The attempt has not consumed it.
    expect((await answerCeremony(one.raw, again, one.authenticator.get(again.options))).status).toBe(303);
    expect(await statusOf(dear.elicitationId)).toBe('pending');
  });

  it('refuses a valid assertion with another digest in the form', async () => {
    const one = await enrolled();
    const page = await ceremonyOf(one.raw, one.elicitationId);
    const form = { ...page.form, shown: 'A'.repeat(43) };
    const before = await storedElicitation(world, one.elicitationId);
    await answerCeremony(one.raw, { ...page, form }, one.authenticator.get(page.options));
    expect(await storedElicitation(world, one.elicitationId)).toEqual(before);
  });

  it('a ceremony can be used once, even if its first response was invalid', async () => {
    const one = await enrolled();
    const page = await ceremonyOf(one.raw, one.elicitationId);
    const answer = one.authenticator.get(page.options);
    await expectRefused(one, () =>
      answerCeremony(one.raw, page, one.authenticator.get(page.options, { verified: false })),
    );
    await expectRefused(one, () => answerCeremony(one.raw, page, answer));
  });

  it('a replayed assertion finds the decision and changes nothing', async () => {
    const one = await enrolled();
    const page = await ceremonyOf(one.raw, one.elicitationId);
    const answer = one.authenticator.get(page.options);
    await answerCeremony(one.raw, page, answer);
    const completed = await storedElicitation(world, one.elicitationId);
    expect(await answerCeremony(one.raw, page, answer)).toMatchObject({
      status: 303,
      location: `/e/${one.elicitationId}`,
    });
    expect(await storedElicitation(world, one.elicitationId)).toEqual(completed);
    // It does not approve the next payment with the same terms either.
    const next = await paymentFor(one.user);
    const nextPage = await ceremonyOf(one.raw, next);
    await expectRefused({ elicitationId: next }, () => answerCeremony(one.raw, nextPage, answer));
  });

  it('one of many concurrent responses to a ceremony is accepted', async () => {
    const one = await enrolled();
    const page = await ceremonyOf(one.raw, one.elicitationId);
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => answerCeremony(one.raw, page, one.authenticator.get(page.options))),
    );
    expect(answers.filter(({ status }) => status === 303).length).toBeGreaterThanOrEqual(1);
    expect(await statusOf(one.elicitationId)).toBe('completed');
    expect(eventsOf('elicitation.approved', one.elicitationId)).toBe(1);
  });

  it('refuses a ceremony of another browser session of the same user', async () => {
    const one = await enrolled();
    const other = await visitorFor(world, one.user, one.elicitationId);
    const theirs = await ceremonyOf(one.raw, one.elicitationId);
    const own = await ceremonyOf(other, one.elicitationId);
    const mixed: CeremonyPage = { ...own, form: { ...own.form, ceremony: theirs.form['ceremony'] ?? '' } };
    await expectRefused(one, () => answerCeremony(other, mixed, one.authenticator.get(theirs.options)));
  });

  it('refuses an expired ceremony', async () => {
    const one = await enrolled();
    const page = await ceremonyOf(one.raw, one.elicitationId);
    world.clock.ahead = 5 * 60_000 + 1000;
    await expectRefused(one, () => answerCeremony(one.raw, page, one.authenticator.get(page.options)));
  });

  it.each(['', 'x', 'a.b.c.d.e'])('refuses a ceremony that the gateway did not seal (%j)', async ceremony => {
    const one = await enrolled();
    const page = await ceremonyOf(one.raw, one.elicitationId);
    const form = { ...page.form, ceremony };
    await expectRefused(one, () => answerCeremony(one.raw, { ...page, form }, one.authenticator.get(page.options)));
  });

  it('a form without a ceremony or response is refused', async () => {
    const one = await enrolled();
    const { form, action } = await ceremonyOf(one.raw, one.elicitationId);
    for (const missing of ['ceremony', 'response']) {
      const { [missing]: _, ...rest } = { ...form, response: '{}' } as Record<string, string>;
      expect((await one.raw.post(action, { form: rest })).status).toBe(400);
    }
  });

  it('refuses a signature counter that does not increase, as with a cloned passkey', async () => {
    const one = await enrolled({ counts: true });
    const first = await ceremonyOf(one.raw, one.elicitationId);
    expect((await answerCeremony(one.raw, first, one.authenticator.get(first.options, { counter: 7 }))).status).toBe(
      303,
    );
    const elicitationId = await paymentFor(one.user);
    for (const counter of [7, 6, 0]) {
      const page = await ceremonyOf(one.raw, elicitationId);
      await expectRefused({ elicitationId }, () =>
        answerCeremony(one.raw, page, one.authenticator.get(page.options, { counter })),
      );
    }
    const page = await ceremonyOf(one.raw, elicitationId);
    expect((await answerCeremony(one.raw, page, one.authenticator.get(page.options, { counter: 8 }))).status).toBe(303);
    expect(await statusOf(elicitationId)).toBe('completed');
  });
});

describe('T34: adding a passkey', () => {
  const registrations: readonly (readonly [string, Parameters<SoftwareAuthenticator['create']>[1]])[] = [
    ['made at another origin', { origin: 'https://evil.example' }],
    ['for another relying party', { rpId: 'evil.example' }],
    ['without user verification', { verified: false }],
    ['an assertion instead of a registration', { type: 'webauthn.get' }],
    ['with an attestation that was not requested', { fmt: 'fido-u2f' }],
  ];
  it.each(sampled(registrations, 3))('refused: %s', async (_, deviation) => {
    const user = world.subject();
    const elicitationId = await paymentFor(user);
    const raw = await visitorFor(world, user, elicitationId);
    const page = await ceremonyOf(raw, elicitationId);
    await expectRefused({ elicitationId }, () =>
      answerCeremony(raw, page, newAuthenticator().create(page.options, deviation)),
    );
    expect(await passkeysOf(user)).toEqual([]);
  });

  it('a user who already has a passkey cannot add another from a payment page', async () => {
    const user = world.subject();
    const elicitationId = await paymentFor(user);
    const raw = await visitorFor(world, user, elicitationId);
    const [tab, otherTab] = [await ceremonyOf(raw, elicitationId), await ceremonyOf(raw, elicitationId)];
    const mine = newAuthenticator();
    await answerCeremony(raw, tab, mine.create(tab.options));
    await expectRefused({ elicitationId }, () =>
      answerCeremony(raw, otherTab, newAuthenticator().create(otherTab.options)),
    );
    expect(await passkeysOf(user)).toEqual([mine.credentialId]);
    expect((await ceremonyOf(raw, elicitationId)).mode).toBe('assert');
  });

  it('a registration ceremony cannot approve, and an approval ceremony cannot register', async () => {
    const user = world.subject();
    const elicitationId = await paymentFor(user);
    const raw = await visitorFor(world, user, elicitationId);
    const adding = await ceremonyOf(raw, elicitationId);
    const authenticator = newAuthenticator();
    const created = authenticator.create(adding.options);
    const crossed = { ...adding, action: `/e/${elicitationId}/passkey` };
    await expectRefused({ elicitationId }, () => answerCeremony(raw, crossed, created));
    await enrol(raw, elicitationId, authenticator);
    const using = await ceremonyOf(raw, elicitationId);
    const back = { ...using, action: `/e/${elicitationId}/passkey/new` };
    await expectRefused({ elicitationId }, () => answerCeremony(raw, back, authenticator.get(using.options)));
    expect(await statusOf(elicitationId)).toBe('pending');
  });

  it('requires a fresh sign-in, as does an assertion', async () => {
    const strict = world.apiOf({ apiKey: keyOf('strict') });
    const user = world.subject();
    const ask = {
      ...paymentOf({ processor: 'none' }),
      subject: { issuer: world.identityProvider.issuer, subject: user },
    };
    if (ask.kind !== 'payment') throw new Error('another kind');
    const { elicitationId } = (await strict.issue(ask)).body;
    const raw = await visitorFor(world, user, elicitationId);
    const authenticator = newAuthenticator();
    const adding = await ceremonyOf(raw, elicitationId);
    world.clock.ahead = 61_000;
    const late = await answerCeremony(raw, adding, authenticator.create(adding.options));
    expect(late).toMatchObject({ status: 303, location: `/e/${elicitationId}` });
    expect(await passkeysOf(user)).toEqual([]);
    expect(await raw.get(`/e/${elicitationId}/passkey`)).toMatchObject({
      status: 303,
      location: `/e/${elicitationId}`,
    });
    world.clock.ahead = 0;
    await enrol(raw, elicitationId, authenticator);
    const using = await ceremonyOf(raw, elicitationId);
    world.clock.ahead = 61_000;
    await answerCeremony(raw, using, authenticator.get(using.options));
    expect((await strict.read(elicitationId)).body.status).toBe('pending');
  });
});
