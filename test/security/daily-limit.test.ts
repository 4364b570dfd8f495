import { decodeJwt } from 'jose';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { acceptWith, issueFor, paymentOf, paymentPolicy, visitorFor } from '../support/asks.ts';
import { answerCeremony, ceremonyOf } from '../support/passkey-ceremony.ts';
import { createPasskeyPeople } from '../support/passkey-person.ts';
import { createRawBrowser, type RawBrowser } from '../support/raw-browser.ts';
import { startWorld, type World } from '../support/world.ts';

const limits = { EUR: { passkeyAbove: 30_000, max: 100_000 }, JPY: { max: 50_000 } };

let world: World;
beforeAll(async () => {
  world = await startWorld({ replicas: 2, mcpServer: { payment: paymentPolicy({ perPersonAndDay: limits }) } });
});
afterAll(() => world?.[Symbol.asyncDispose]());

const { newAuthenticator, enrol } = createPasskeyPeople(() => world);

async function asked(user: string, minorUnits: number, currency = 'EUR'): Promise<string> {
  const items = [{ label: 'x', unitMinorUnits: minorUnits }];
  const ask = paymentOf({ processor: 'none', amount: { currency, minorUnits }, items });
  return (await issueFor(world, user, ask)).elicitationId;
}
const statusOf = async (elicitationId: string) => (await world.api.read(elicitationId)).body.status;

it('S89: a daily total above the threshold needs a passkey, and above the limit approvals are refused', async () => {
  const user = world.subject();
  const first = await asked(user, 30_000);
  const raw = await visitorFor(world, user, first);
  expect(await acceptWith(raw, first)).toMatchObject({ location: `/e/${first}` });
  expect(await statusOf(first)).toBe('completed');

  // Each payment is small. A form that was opened earlier gets the same response as a new one.
  const second = await asked(user, 1);
  expect(await acceptWith(raw, second)).toMatchObject({ status: 303, location: `/e/${second}/passkey` });
  expect(await statusOf(second)).toBe('pending');
  const authenticator = newAuthenticator();
  await enrol(raw, second, authenticator);
  const withPasskey = async (elicitationId: string) => {
    const page = await ceremonyOf(raw, elicitationId);
    return answerCeremony(raw, page, authenticator.get(page.options));
  };
  await withPasskey(second);
  const { receipt } = (await world.api.redeem(second)).body;
  expect(decodeJwt(receipt ?? '')).toMatchObject({ approval: { method: 'passkey' } });

  const [third, fourth] = [await asked(user, 60_000), await asked(user, 10_000)];
  const form = await raw.acceptForm(fourth);
  const [open, late] = [await ceremonyOf(raw, third), await ceremonyOf(raw, fourth)];
  await answerCeremony(raw, open, authenticator.get(open.options));
  expect(await statusOf(third)).toBe('completed');
  expect(await answerCeremony(raw, late, authenticator.get(late.options))).toMatchObject({ location: `/e/${fourth}` });
  expect(await statusOf(fourth)).toBe('pending');
  const page = await raw.get(`/e/${fourth}`);
  expect(page.body).toMatch(/<time [^>]*datetime="/);
  expect(page.body).not.toContain(`action="/e/${fourth}/accept"`);
  expect(await raw.get(`/e/${fourth}/passkey`)).toMatchObject({ status: 303, location: `/e/${fourth}` });
  expect(await raw.post(`/e/${fourth}/accept`, { form })).toMatchObject({ status: 403, location: undefined });
  expect(world.log()).toContain('"event":"payment.daily_limit_reached"');
  expect(await raw.post(`/e/${fourth}/decline`, { form })).toMatchObject({ status: 303 });
  expect(await statusOf(fourth)).toBe('declined');

  // Other currencies and other users have separate totals.
  const yen = await asked(user, 50_000, 'JPY');
  expect(await acceptWith(raw, yen)).toMatchObject({ location: `/e/${yen}` });
});

it('S89: concurrent approvals on two replicas do not exceed the limit', async () => {
  const user = world.subject();
  const ids = await Promise.all(Array.from({ length: 12 }, () => asked(user, 10_000, 'JPY')));
  const browsers = await Promise.all(
    world.gateways.map(async ({ address }, nth): Promise<RawBrowser> => {
      const raw = createRawBrowser({ address, publicUrl: world.publicUrl });
      await raw.signIn(ids[nth] ?? '', user);
      return raw;
    }),
  );
  const forms = await Promise.all(ids.map(async (id, nth) => browsers[nth % 2]?.acceptForm(id)));
  const answers = await Promise.all(
    ids.map((id, nth) => browsers[nth % 2]?.post(`/e/${id}/accept`, { form: forms[nth] ?? {} })),
  );
  expect(answers.map(answer => answer?.status).toSorted()).toEqual([...Array(5).fill(303), ...Array(7).fill(403)]);
  const statuses = await Promise.all(ids.map(statusOf));
  expect(statuses.filter(status => status === 'completed')).toHaveLength(5);
});
