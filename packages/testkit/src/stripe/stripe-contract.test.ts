import { afterEach, beforeEach, expect, test } from 'vitest';
import { createFakeClock, type FakeClock } from '../fake-clock.ts';
import { callStripe, checkoutParams, type StripeCall } from './call-stripe.ts';
import { type FakeStripe, startFakeStripe } from './index.ts';

let clock: FakeClock;
let stripe: FakeStripe;
beforeEach(async () => {
  clock = createFakeClock();
  stripe = await startFakeStripe({ now: clock.now });
});
afterEach(() => stripe.close());

const call = (method: 'GET' | 'POST', path: string, p: StripeCall = {}) => callStripe(stripe, method, path, p);
const create = (more: Readonly<Record<string, string>> = {}) =>
  call('POST', '/v1/checkout/sessions', { params: { ...checkoutParams, ...more } });
const opened = async (): Promise<string> => (await create()).body.id;
const expire = (id: string) => call('POST', `/v1/checkout/sessions/${id}/expire`);
const intentOf = (id: string) => call('GET', `/v1/payment_intents/${stripe.checkoutSession(id).payment_intent}`);
const price = (currency: string, amount: number) => ({
  'line_items[0][quantity]': '1',
  'line_items[0][price_data][currency]': currency,
  'line_items[0][price_data][unit_amount]': String(amount),
});
const refusal = (error: object) => ({ status: 400, body: { error: { type: 'invalid_request_error', ...error } } });

test.each<[says: string, where: string, holds: () => Promise<void>]>([
  [
    'an id of 66 characters, in a long link that is there while the session is active',
    '/api/checkout/sessions/object',
    async () => {
      const { id, url } = (await create()).body;
      expect(id).toMatch(/^cs_test_a1[A-Za-z0-9]{56}$/);
      expect(url).toMatch(new RegExp(`^${stripe.origin}/c/pay/${id}#fid[A-Za-z0-9%]{400,}$`));
      stripe.pay(id);
      expect((await call('GET', `/v1/checkout/sessions/${id}`)).body.url).toBeNull();
    },
  ],
  [
    'the link leads to checkout.stripe.com, or to a domain of the account',
    '/payments/checkout/custom-domains',
    async () => {
      await using other = await startFakeStripe({ checkoutHost: 'checkout.stripe.com' });
      const { url } = (await callStripe(other, 'POST', '/v1/checkout/sessions', { params: checkoutParams })).body;
      expect(url).toMatch(/^https:\/\/checkout\.stripe\.com\/c\/pay\/cs_test_/);
    },
  ],
  [
    'livemode is a member of the answer',
    '/api/checkout/sessions/object',
    async () => {
      await using live = await startFakeStripe({ livemode: true });
      const { body } = await callStripe(live, 'POST', '/v1/checkout/sessions', { params: checkoutParams });
      expect(body).toMatchObject({ livemode: true, id: expect.stringMatching(/^cs_live_b1[A-Za-z0-9]{56}$/) });
      expect((await create()).body).toMatchObject({ livemode: false });
    },
  ],
  [
    'there is no PaymentIntent before the session is confirmed',
    '/changelog/2022-08-01/deferred-paymentintent-checkout-session',
    async () => {
      const id = await opened();
      expect(stripe.checkoutSession(id).payment_intent).toBeNull();
      stripe.attempt(id, 'declined');
      const { payment_intent } = stripe.checkoutSession(id);
      stripe.pay(id);
      expect(stripe.checkoutSession(id)).toMatchObject({ payment_intent, status: 'complete' });
    },
  ],
  [
    'a declined card leaves the session open and the intent without a payment method',
    '/payments/paymentintents/lifecycle',
    async () => {
      const id = await opened();
      stripe.attempt(id, 'declined');
      expect(stripe.checkoutSession(id)).toMatchObject({ status: 'open', payment_status: 'unpaid' });
      expect((await intentOf(id)).body).toMatchObject({
        status: 'requires_payment_method',
        amount_received: 0,
        metadata: {},
        last_payment_error: { type: 'card_error', code: 'card_declined' },
      });
      expect(stripe.events.map(({ type }) => type)).toEqual(['payment_intent.payment_failed']);
    },
  ],
  [
    'a payment that needs an action of the person is requires_action, and can be expired',
    '/payments/checkout/managing-limited-inventory',
    async () => {
      const id = await opened();
      stripe.attempt(id, 'requires_action');
      expect(stripe.checkoutSession(id)).toMatchObject({ status: 'open', payment_status: 'unpaid' });
      expect((await intentOf(id)).body.status).toBe('requires_action');
      expect((await expire(id)).body.status).toBe('expired');
      expect((await intentOf(id)).body.status).toBe('canceled');
      expect(stripe.pay(id)).toBe('not_open');
    },
  ],
  [
    'what has expired, is complete or is not in an expireable state is not expired',
    '/api/checkout/sessions/expire',
    async () => {
      const [expired, complete, paying] = [await opened(), await opened(), await opened()];
      stripe.expire(expired);
      stripe.pay(complete);
      stripe.attempt(paying, 'in_progress');
      for (const id of [expired, complete, paying]) expect(await expire(id)).toMatchObject(refusal({}));
      expect(stripe.checkoutSession(paying).status).toBe('open');
      stripe.attempt(paying, 'declined');
      expect((await expire(paying)).status).toBe(200);
    },
  ],
  [
    'unknown parameters are refused at every depth, in every request',
    '/error-codes#parameter-unknown',
    async () => {
      const code = 'parameter_unknown';
      for (const param of [
        ...['unheard_of', 'constructor', 'line_items[0][data]', 'line_items[0][price_data][product_data][colour]'],
        ...['payment_intent_data[note]', 'adaptive_pricing[rate]'],
      ])
        expect(await create({ [param]: 'x' })).toMatchObject(refusal({ code, param }));
      const id = await opened();
      const answers = [
        await call('POST', `/v1/checkout/sessions/${id}/expire`, { params: { reason: 'x' } }),
        await call('GET', `/v1/checkout/sessions/${id}?reason=x`),
      ];
      for (const answer of answers) expect(answer).toMatchObject(refusal({ code, param: 'reason' }));
    },
  ],
  [
    'refuses a restricted key without the permission',
    '/keys#limit-access',
    async () => {
      await using other = await startFakeStripe({ restrictedKey: 'rk_test_1' });
      const restricted = { secretKey: 'rk_test_1' };
      const params = { params: checkoutParams, ...restricted };
      const { status, body } = await callStripe(other, 'POST', '/v1/checkout/sessions', params);
      expect(status).toBe(200);
      const expanded = `/v1/checkout/sessions/${body.id}?expand[0]=payment_intent`;
      expect((await callStripe(other, 'GET', expanded, restricted)).status).toBe(403);
    },
  ],
  [
    'currencies, smallest and largest amounts, and steps between them',
    '/currencies',
    async () => {
      for (const [currency, amount, error] of [
        ['eur', 49, { code: 'amount_too_small' }],
        ['usd', 100_000_000, { code: 'amount_too_large' }],
        ['jpy', 49, { code: 'amount_too_small' }],
        ['zzz', 100, { param: 'currency' }],
        ['kwd', 1001, {}],
        ['isk', 150, {}],
        ['ugx', 1, {}],
      ] as const)
        expect(await create(price(currency, amount))).toMatchObject(refusal(error));
      for (const [currency, amount] of [
        ['eur', 50],
        ['usd', 99_999_999],
        ['jpy', 50],
        ['isk', 100],
      ] as const)
        expect((await create(price(currency, amount))).status).toBe(200);
    },
  ],
  [
    'a session lasts between 30 minutes and 24 hours',
    '/api/checkout/sessions/create',
    async () => {
      const now = Math.floor(clock.now() / 1000);
      for (const seconds of [1799, 86_401])
        expect(await create({ expires_at: String(now + seconds) })).toMatchObject(refusal({ param: 'expires_at' }));
      expect((await create({ expires_at: String(now + 1800) })).status).toBe(200);
    },
  ],
])('as documented: %s (https://docs.stripe.com%s)', (_says, _where, holds) => holds());
