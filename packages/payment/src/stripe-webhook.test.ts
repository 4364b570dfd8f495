import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import type { PaymentOwner } from './processor.ts';
import { readWebhook } from './stripe-webhook.ts';

const SECRET = 'whsec_dGVzdA==';
const owners: Readonly<Record<string, PaymentOwner>> = {
  pi_1: { elicitationId: 'el_1', gateway: 'gateway.example' },
  pi_2: { elicitationId: 'el_2', gateway: 'staging.example' },
};
const NOW = Date.UTC(2026, 0, 1);

function read(payload: string | Uint8Array, signature?: string, at = NOW) {
  const body = typeof payload === 'string' ? Buffer.from(payload) : payload;
  const time = Math.floor(NOW / 1000);
  const v1 = createHmac('sha256', SECRET).update(`${time}.`).update(body).digest('hex');
  const headers = { 'stripe-signature': signature ?? `t=${time},v1=${v1}` };
  return readWebhook(
    { body, headers },
    {
      secrets: ['whsec_b3RoZXI=', SECRET],
      gateway: 'gateway.example',
      now: () => at,
      ownerOf: async reference => owners[reference] ?? {},
    },
  );
}

const event = (change: object = {}) =>
  JSON.stringify({
    object: 'event',
    type: 'checkout.session.completed',
    data: { object: { id: 'cs_1', object: 'checkout.session', metadata: { elicitationId: 'el_1' } } },
    ...change,
  });

test('returns the charge of a signed event', async () => {
  const about = { reference: 'cs_1', elicitationId: 'el_1' };
  expect(await read(event())).toEqual({ ...about, namesGateway: false });
  const named = (gateway: string) => ({
    data: { object: { id: 'cs_1', object: 'checkout.session', metadata: { elicitationId: 'el_1', gateway } } },
  });
  expect(await read(event(named('gateway.example')))).toEqual({ ...about, namesGateway: true });
  expect(await read(event(named('staging.example')))).toBeUndefined();
});

test.each([
  ['charge.refunded', 'charge', 'refunds'],
  ['refund.created', 'refund', 'refunds'],
  ['refund.updated', 'refund', 'refunds'],
  ['refund.failed', 'refund', 'refunds'],
  ['charge.dispute.created', 'dispute', 'disputes'],
  ['charge.dispute.closed', 'dispute', 'disputes'],
])('names the payment of %s, whose owner only the PaymentIntent shows', async (type, object, about) => {
  const of = (payment_intent: string | null) =>
    event({ type, data: { object: { id: 'xy_1', object, payment_intent } } });
  expect(await read(of('pi_1'))).toEqual({
    about,
    processorReference: 'pi_1',
    elicitationId: 'el_1',
    namesGateway: true,
  });
  expect(await read(of('pi_2'))).toBeUndefined();
  expect(await read(of('pi_3'))).toBeUndefined();
  expect(await read(of(null))).toBeUndefined();
});

// The library throws errors of various classes for some of these headers.
test.each(['', 't=', 't=,v1=', 't=1,v1=', 'v1=', 't=NaN,v1=00', ',', '=', 't=1,v0=00', 't=1,v1=é'])(
  'rejects the signature header %j',
  async signature => {
    await expect(read(event(), signature)).rejects.toMatchObject({ code: 'signature_invalid' });
  },
);

test('rejects a signature older than five minutes', async () => {
  await expect(read(event(), undefined, NOW + 301_000)).rejects.toMatchObject({ code: 'signature_invalid' });
});

test.each([
  ['of another type', event({ type: 'charge.refunded' })],
  ['of a connected account, which names our elicitation', event({ account: 'acct_evil' })],
  [
    'about a refund in a connected account',
    event({
      account: 'acct_evil',
      type: 'refund.created',
      data: { object: { id: 're_1', object: 'refund', payment_intent: 'pi_1' } },
    }),
  ],
  ['of version 2, for which the library throws', JSON.stringify({ object: 'v2.core.event' })],
  ['that is not JSON', '{'],
  ['that is not text', new Uint8Array([0x7b, 0x22])],
  ['without an elicitation', event({ data: { object: { id: 'cs_1', object: 'checkout.session', metadata: {} } } })],
])('ignores a signed event %s', async (_, payload) => {
  expect(await read(payload)).toBeUndefined();
});
