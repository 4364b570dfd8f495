import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { deletion, issueFor, paymentOf, paymentPolicy, visitorFor } from '../support/asks.ts';
import { askKind } from '../support/every-kind.ts';
import { answerCeremony, ceremonyIn, ceremonyOf } from '../support/passkey-ceremony.ts';
import { createPasskeyPeople } from '../support/passkey-person.ts';
import type { RawBrowser } from '../support/raw-browser.ts';
import { storedElicitation } from '../support/stored-elicitation.ts';
import { startWorld, type World } from '../support/world.ts';

let world: World;
beforeAll(async () => {
  const payment = paymentPolicy({ passkeyAbove: { EUR: 2000 }, freshSignInSeconds: 3600 });
  world = await startWorld({ mcpServer: { payment } });
});
afterEach(() => {
  world.clock.backToNow();
});
afterAll(() => world?.[Symbol.asyncDispose]());

const statusOf = async (elicitationId: string) => (await world.api.read(elicitationId)).body.status;
const methodOf = async (elicitationId: string) => (await world.api.read(elicitationId)).body.outcome?.approval?.method;
const { enrolled, passkeysOf } = createPasskeyPeople(() => world);

describe('T34: removing a passkey at /me', () => {
  const removal = async (raw: RawBrowser) =>
    /href="(\/me\/passkeys\/[^"]+\/remove)"/.exec((await raw.get('/me')).body)?.[1] ?? '';
  const removalPage = async (raw: RawBrowser) => ceremonyIn(await raw.get(await removal(raw)));

  it('requires a fresh sign-in, and the next payment asks for a new passkey', async () => {
    const one = await enrolled();
    const path = await removal(one.raw);
    const [page, again] = [await removalPage(one.raw), await removalPage(one.raw)];
    const late = { ...page, form: { ...page.form, response: '{}' } };
    world.clock.ahead = 301_000;
    for (const answer of [await one.raw.get(path), await one.raw.post(path, { form: late.form })]) {
      expect(answer.status).toBe(303);
      expect(answer.location).toMatch(/^\/login\?.*fresh=1/);
    }
    expect(await passkeysOf(one.user)).toEqual([one.authenticator.credentialId]);
    world.clock.ahead = 0;
    expect((await answerCeremony(one.raw, page, one.authenticator.get(page.options))).status).toBe(200);
    expect(await passkeysOf(one.user)).toEqual([]);
    expect(world.log()).toContain('passkey.removed');
    expect((await ceremonyOf(one.raw, one.elicitationId)).mode).toBe('register');
    expect(await answerCeremony(one.raw, again, one.authenticator.get(again.options))).toMatchObject({
      status: 303,
      location: '/me',
    });
  });

  it('an assertion of a removed passkey approves nothing', async () => {
    const one = await enrolled();
    const page = await ceremonyOf(one.raw, one.elicitationId);
    const removing = await removalPage(one.raw);
    await answerCeremony(one.raw, removing, one.authenticator.get(removing.options));
    expect((await answerCeremony(one.raw, page, one.authenticator.get(page.options))).status).toBe(422);
    expect(await statusOf(one.elicitationId)).toBe('pending');
  });

  it('other users neither see nor remove the passkey', async () => {
    const [one, other] = [await enrolled(), await enrolled()];
    const path = await removal(one.raw);
    expect((await other.raw.get('/me')).body).not.toContain(path);
    expect((await other.raw.get(path)).status).toBe(404);
    const own = await removalPage(other.raw);
    const swapped = { action: path, form: own.form };
    expect(await answerCeremony(other.raw, swapped, other.authenticator.get(own.options))).toMatchObject({
      status: 303,
      location: '/me',
    });
    expect(await passkeysOf(one.user)).toEqual([one.authenticator.credentialId]);
  });

  it('requires the CSRF token', async () => {
    const one = await enrolled();
    const page = await removalPage(one.raw);
    const form = { ...page.form, response: JSON.stringify(one.authenticator.get(page.options)) };
    expect((await one.raw.post(page.action, { form: { ...form, csrf_token: 'x' } })).status).toBe(403);
    const headers = { 'sec-fetch-site': 'cross-site' };
    expect((await one.raw.post(page.action, { form, headers })).status).toBe(403);
    expect(await passkeysOf(one.user)).toHaveLength(1);
  });
});

describe('passkey assertions that were not requested', () => {
  it('the page has no passkey step below the threshold, and an assertion approves nothing', async () => {
    const one = await enrolled();
    const amount = { currency: 'EUR', minorUnits: 2000 };
    const items = [{ label: 'Book', unitMinorUnits: 2000 }];
    const { elicitationId } = await issueFor(world, one.user, paymentOf({ processor: 'none', amount, items }));
    expect(await one.raw.get(`/e/${elicitationId}/passkey`)).toMatchObject({
      status: 303,
      location: `/e/${elicitationId}`,
    });
    const above = await ceremonyOf(one.raw, one.elicitationId);
    const { shown = '' } = await one.raw.acceptForm(elicitationId);
    const before = await storedElicitation(world, elicitationId);
    for (const path of ['passkey', 'passkey/new']) {
      const page = { action: `/e/${elicitationId}/${path}`, form: { ...above.form, shown } };
      const answer = await answerCeremony(one.raw, page, one.authenticator.get(above.options));
      expect(answer.location ?? 'no redirect').toBe(`/e/${elicitationId}`);
    }
    expect(await storedElicitation(world, elicitationId)).toEqual(before);
  });

  it.each(['confirmation', 'credential', 'form'] as const)('%s: has no passkey page', async kind => {
    const one = await enrolled();
    const { elicitationId } = await askKind(world, one.user, kind);
    const { form, options } = await ceremonyOf(one.raw, one.elicitationId);
    const before = await storedElicitation(world, elicitationId);
    expect((await one.raw.get(`/e/${elicitationId}/passkey`)).status).toBe(404);
    for (const path of ['passkey', 'passkey/new', 'charge']) {
      const page = { action: `/e/${elicitationId}/${path}`, form };
      expect((await answerCeremony(one.raw, page, one.authenticator.get(options))).status).toBe(404);
    }
    expect(await storedElicitation(world, elicitationId)).toEqual(before);
  });

  it('extra fields do not turn a button approval into a passkey approval', async () => {
    const user = world.subject();
    const { elicitationId } = await issueFor(world, user, { kind: 'confirmation', confirmation: deletion });
    const raw = await visitorFor(world, user, elicitationId);
    const form = { ...(await raw.acceptForm(elicitationId)), ceremony: 'x', response: '{}' };
    await raw.post(`/e/${elicitationId}/accept`, { form });
    expect(await methodOf(elicitationId)).toBe('button');
  });
});
