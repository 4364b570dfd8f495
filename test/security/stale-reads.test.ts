import { DomainError, type Elicitation } from '@postern/elicitation';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { type AskedPerson, askPerson, sessionOf } from '../support/payment-person.ts';
import { type PayingWorld, startWorld } from '../support/world.ts';

let world: PayingWorld;
beforeAll(async () => {
  world = await startWorld({ payment: {} });
});
afterEach(() => void vi.restoreAllMocks());
afterAll(() => world?.[Symbol.asyncDispose]());

function service() {
  const { deps } = world.gateways[0] ?? {};
  if (deps === undefined) throw new Error('no gateway');
  return deps.service;
}
const record = ({ elicitationId }: AskedPerson) => service().find(elicitationId as Elicitation['elicitationId']);

/** Makes the next request read the current elicitation, and continue only after it has changed. */
const nextSees = (then: Elicitation | undefined) => void vi.spyOn(service(), 'find').mockResolvedValueOnce(then);

it('declining a payment that another tab approved closes it at the processor too', async () => {
  const person = await askPerson(world);
  const form = { csrf_token: await person.raw.csrfToken(person.elicitationId) };
  const pending = await record(person);
  await person.approve();
  nextSees(pending);
  expect(await person.raw.post(`${person.page}/decline`, { form })).toMatchObject({
    status: 303,
    location: person.page,
  });
  expect((await person.read()).status).toBe('declined');
  expect(sessionOf(world.stripe, person.elicitationId).status).toBe('expired');
});

it('the old button of a payment that returned unpaid approves nothing', async () => {
  const person = await askPerson(world);
  const form = await person.raw.acceptForm(person.elicitationId);
  await person.approve();
  const charging = await record(person);
  world.stripe.expire(sessionOf(world.stripe, person.elicitationId).id);
  await person.comeBack();
  expect((await person.read()).status).toBe('pending');
  nextSees(charging);
  expect((await person.raw.post(`${person.page}/accept`, { form })).status).toBe(303);
  expect((await person.read()).status).toBe('pending');
  expect(world.stripe.checkoutSessionsOf(person.elicitationId)).toHaveLength(1);
});

it('cancelling a payment that was paid meanwhile reports the payment', async () => {
  const person = await askPerson(world);
  await person.approve();
  const charging = await record(person);
  world.stripe.pay(sessionOf(world.stripe, person.elicitationId).id);
  await person.comeBack();
  vi.spyOn(service(), 'cancel').mockRejectedValueOnce(new DomainError('payment_in_progress', 'A moment ago.'));
  vi.spyOn(service(), 'read').mockResolvedValueOnce(charging ?? expect.fail('gone'));
  const cancelled = await world.api.cancel(person.elicitationId);
  expect(cancelled).toMatchObject({ status: 409, body: { code: 'already_ended' } });
  expect((await person.read()).status).toBe('completed');
});
