import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bookTerms, issueFor, paymentOf, visitorFor } from '../support/asks.ts';
import { askPerson, sessionOf } from '../support/payment-person.ts';
import { type PayingWorld, startWorld } from '../support/world.ts';

let world: PayingWorld;
beforeAll(async () => {
  world = await startWorld({
    payment: { payees: [bookTerms.payee.name, { name: 'Music Shop', accounts: { 'stripe-main': 'acct_music' } }] },
  });
});
afterAll(() => world?.[Symbol.asyncDispose]());

const to = (name: string, processor?: string) =>
  paymentOf({ payee: { name }, ...(processor !== undefined && { processor }) });

async function paid(ask: ReturnType<typeof to>) {
  const person = await askPerson(world, ask);
  await person.approve();
  world.stripe.pay(sessionOf(world.stripe, person.elicitationId).id);
  await person.comeBack();
  const [opened] = world.stripe.requests('create').slice(-1);
  const refunded = await world.api.call(
    'POST',
    `/v1/payments/${person.elicitationId}/refunds`,
    { minorUnits: 100, reason: 'Damaged' },
    { 'idempotency-key': 'one' },
  );
  expect(refunded).toMatchObject({ status: 201, body: { status: 'succeeded' } });
  const [refund] = world.stripe.requests('refund').slice(-1);
  return { opened: new URLSearchParams(opened?.body), refund: new URLSearchParams(refund?.body) };
}

describe('S141: the payee that the person approves gets the money', () => {
  it('a registered payee with an account: the charge goes there, and a refund comes from there', async () => {
    const { opened, refund } = await paid(to('Music Shop'));
    expect(opened.get('payment_intent_data[transfer_data][destination]')).toBe('acct_music');
    expect(refund.get('reverse_transfer')).toBe('true');
  });

  it('a registered payee without an account: the account of the key gets the money', async () => {
    const { opened, refund } = await paid(to('Book Shop'));
    expect([...opened.keys()].filter(name => name.includes('transfer_data'))).toEqual([]);
    expect(refund.has('reverse_transfer')).toBe(false);
  });

  it('another name is refused at issue, by every processor, and asks nobody', async () => {
    const before = world.stripe.requests().length;
    const subject = { issuer: world.identityProvider.issuer, subject: world.subject() };
    for (const ask of [to('Evil Shop'), to('Evil Shop', 'stripe-main'), to('MUSIC SHOP')])
      expect(await world.api.issue({ ...ask, subject } as Parameters<typeof world.api.issue>[0])).toMatchObject({
        status: 422,
        body: { code: 'payee_not_registered', errors: [{ path: 'body.payment.payee.name' }] },
      });
    expect(world.stripe.requests().length).toBe(before);
  });

  it('without a processor any name is possible, and the page says whether the operator has registered it', async () => {
    const pageOf = async (name: string, processor: string) => {
      const user = world.subject();
      const { elicitationId } = await issueFor(world, user, to(name, processor));
      return (await (await visitorFor(world, user, elicitationId)).get(`/e/${elicitationId}`)).body;
    };
    const unverified = /Named by .*Issue Tracker.*has not checked this payee/;
    expect(await pageOf('Somebody', 'none')).toMatch(unverified);
    expect(await pageOf('Book Shop', 'none')).not.toMatch(unverified);
    expect(await pageOf('Book Shop', 'stripe-main')).not.toMatch(unverified);
  });
});
