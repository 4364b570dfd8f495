import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createFakeClock, type FakeClock } from '../fake-clock.ts';
import { callStripe, checkoutParams, type StripeCall } from './call-stripe.ts';
import { type FakeStripe, startFakeStripe } from './index.ts';

/** A second check: `packages/payment` uses this fake with the official library. */
describe('the fake Stripe', () => {
  let clock: FakeClock;
  let stripe: FakeStripe;
  beforeEach(async () => {
    clock = createFakeClock();
    stripe = await startFakeStripe({ now: clock.now });
  });
  afterEach(() => stripe.close());

  const call = (method: 'GET' | 'POST', path: string, p: StripeCall = {}) => callStripe(stripe, method, path, p);
  const create = (key?: string, more: Readonly<Record<string, string>> = {}) =>
    call('POST', '/v1/checkout/sessions', {
      params: { ...checkoutParams, ...more },
      ...(key !== undefined && { key }),
    });
  const opened = async (): Promise<string> => (await create()).body.id;
  const press = (id: string, decision: 'pay' | 'cancel') =>
    fetch(`${stripe.origin}/c/pay/${id}`, {
      method: 'POST',
      redirect: 'manual',
      body: new URLSearchParams({ decision }),
    });

  test('creates, retrieves and expires a Checkout Session', async () => {
    const { status, body } = await create();
    expect(status).toBe(200);
    expect(body).toMatchObject({
      object: 'checkout.session',
      status: 'open',
      payment_status: 'unpaid',
      amount_total: 1000,
      currency: 'eur',
      payment_intent: null,
      metadata: { elicitationId: 'el_1' },
      expires_at: body.created + 24 * 60 * 60,
    });
    expect((await call('GET', `/v1/checkout/sessions/${body.id}`)).body).toEqual(body);
    expect((await call('POST', `/v1/checkout/sessions/${body.id}/expire`)).body).toMatchObject({
      status: 'expired',
      url: null,
    });
  });

  test('a session expires at its expiry time', async () => {
    const id = await opened();
    clock.advance(24 * 60 * 60 * 1000 - 1);
    expect(stripe.checkoutSession(id).status).toBe('open');
    clock.advance(1);
    expect((await call('GET', `/v1/checkout/sessions/${id}`)).body.status).toBe('expired');
    expect(stripe.pay(id)).toBe('not_open');
    expect(stripe.charges).toEqual([]);
  });

  test.each([
    [{ mode: 'setup' }, 'mode'],
    [{ 'payment_method_types[0]': 'card' }, 'payment_method_types'],
    [{ 'line_items[0][price_data][unit_amount]': '-5' }, 'line_items[0][price_data][unit_amount]'],
    [{ 'line_items[0][price_data][unit_amount]': '5.5' }, 'line_items[0][price_data][unit_amount]'],
    [{ success_url: 'nowhere' }, 'success_url'],
    [{ 'metadata[long]': 'x'.repeat(501) }, 'long'],
  ])('refuses %j, naming %s', async (more, param) => {
    expect(await create('key', more)).toMatchObject({ status: 400, body: { error: { param } } });
    // The request was refused before it began, so the key is free.
    expect(await create('key')).toMatchObject({ status: 200, isReplayed: false });
  });

  test('checks the API key', async () => {
    const answer = await call('GET', `/v1/checkout/sessions/${await opened()}`, { secretKey: 'sk_test_other' });
    expect(answer.status).toBe(401);
    expect((await call('GET', '/v1/checkout/sessions/cs_none')).body.error.code).toBe('resource_missing');
    expect((await call('GET', '/v1/customers')).status).toBe(404);
  });

  describe('idempotency keys', () => {
    test('repeats the first response unchanged', async () => {
      const first = await create('key');
      stripe.pay(first.body.id);
      expect(await create('key')).toEqual({ ...first, isReplayed: true });
      expect(stripe.checkoutSessionsUnder('key')).toHaveLength(1);
    });

    test('refuses another body, and creates another session for another key', async () => {
      await create('key');
      const answer = await create('key', { cancel_url: 'https://shop.example/elsewhere' });
      expect(answer).toMatchObject({ status: 400, body: { error: { type: 'idempotency_error' } } });
      await create('other');
      expect(stripe.checkoutSessions).toHaveLength(2);
    });

    test.each(['before', 'after'] as const)(
      'a key is in use while its request is in progress (held %s the effect)',
      async when => {
        const hold = stripe.hold('create', when);
        const first = create('key');
        await hold.reached;
        expect(await create('key')).toMatchObject({ status: 409, body: { error: { code: 'idempotency_key_in_use' } } });
        hold.release();
        const { body } = await first;
        expect(await create('key')).toMatchObject({ status: 200, isReplayed: true, body });
      },
    );

    test('repeats a stored failure, leaves the key free after any other, and forgets all keys after a day', async () => {
      stripe.fault({ kind: 'create', does: { status: 500, isStored: true } });
      stripe.fault({ kind: 'create', nth: 3, does: { status: 429 } });
      expect(await create('a')).toMatchObject({ status: 500, isReplayed: false });
      expect(await create('a')).toMatchObject({ status: 500, isReplayed: true });
      expect(await create('b')).toMatchObject({ status: 429, body: { error: { code: 'rate_limit' } } });
      expect(await create('b')).toMatchObject({ status: 200, isReplayed: false });
      stripe.forgetKeys();
      expect(await create('a')).toMatchObject({ status: 200, isReplayed: false });
    });
  });

  test('loses responses of the chosen request, before or after its effect', async () => {
    stripe.loseAnswer('create', 'before');
    stripe.loseAnswer('create', 'after', 2);
    await expect(create('key')).rejects.toThrow();
    expect(stripe.checkoutSessionsUnder('key')).toHaveLength(0);
    await expect(create('key')).rejects.toThrow();
    expect(stripe.checkoutSessionsUnder('key')).toHaveLength(1);
    expect(await create('key')).toMatchObject({ status: 200, isReplayed: true });
  });

  test('a fault affects only its kind of request, and can be removed', async () => {
    const id = await opened();
    stripe.fault({ kind: 'retrieve', times: 2, does: { status: 503 } });
    expect((await create()).status).toBe(200);
    expect((await call('GET', `/v1/checkout/sessions/${id}`)).status).toBe(503);
    stripe.clearFaults();
    expect((await call('GET', `/v1/checkout/sessions/${id}`)).status).toBe(200);
  });

  describe('paying', () => {
    test('the page takes one payment, then redirects to the given URL', async () => {
      const id = await opened();
      const page = await fetch(`${stripe.origin}/c/pay/${id}`);
      expect(page.headers.get('content-type')).toContain('text/html');
      expect(await page.text()).toContain('Tea &lt;b&gt;');
      for (let n = 0; n < 2; n += 1) {
        const answer = await press(id, 'pay');
        expect(answer.status).toBe(303);
        expect(answer.headers.get('location')).toBe(`https://shop.example/paid?id=${id}`);
      }
      expect(stripe.chargesOf('el_1')).toMatchObject([{ checkoutSessionId: id, amount: 1000, currency: 'eur' }]);
      expect(stripe.checkoutSession(id)).toMatchObject({ status: 'complete', payment_status: 'paid', url: null });
    });

    test('a cancelled payment takes nothing', async () => {
      const id = await opened();
      expect((await press(id, 'cancel')).headers.get('location')).toBe(checkoutParams.cancel_url);
      expect(stripe.checkoutSession(id).status).toBe('open');
      expect(stripe.charges).toEqual([]);
    });

    test('an expired or unknown page takes no payment', async () => {
      const id = await opened();
      stripe.expire(id);
      expect((await press(id, 'pay')).status).toBe(410);
      expect((await press('cs_none', 'pay')).status).toBe(404);
      expect(stripe.charges).toEqual([]);
    });

    test('a later settlement succeeds or fails', async () => {
      const [first, second] = [await opened(), await opened()];
      for (const id of [first, second]) expect(stripe.pay(id, { settles: 'later' })).toBe('processing');
      stripe.settleLater(first, 'succeeded');
      stripe.settleLater(second, 'failed');
      const expanded = async (id: string) =>
        (await call('GET', `/v1/checkout/sessions/${id}?expand[0]=payment_intent`)).body;
      const complete = { status: 'complete' };
      expect(await expanded(first)).toMatchObject({
        ...complete,
        payment_status: 'paid',
        payment_intent: { status: 'succeeded', amount_received: 1000 },
      });
      expect(await expanded(second)).toMatchObject({
        ...complete,
        payment_status: 'unpaid',
        payment_intent: { status: 'requires_payment_method' },
      });
      expect(stripe.charges.map(({ checkoutSessionId }) => checkoutSessionId)).toEqual([first]);
      expect(() => stripe.settleLater(first, 'failed')).toThrow();
    });
  });

  describe('webhooks', () => {
    test('an event contains the session at the time of the event', async () => {
      const id = await opened();
      stripe.pay(id, { settles: 'later' });
      stripe.settleLater(id, 'succeeded');
      expect(stripe.eventsOf(id).map(({ type, data }) => [type, data.object['payment_status']])).toEqual([
        ['checkout.session.completed', 'unpaid'],
        ['checkout.session.async_payment_succeeded', 'paid'],
      ]);
    });

    test('each secret signs time and body', async () => {
      stripe.webhookSecrets = ['whsec_new', 'whsec_old'];
      const event = stripe.happenElsewhere('customer.created', { id: 'cus_1' });
      const { body, headers } = stripe.signed(event);
      const time = Math.floor(clock.now() / 1000);
      const expected = stripe.webhookSecrets.map(secret =>
        createHmac('sha256', secret).update(`${time}.`).update(body).digest('hex'),
      );
      expect(headers['stripe-signature']).toBe(`t=${time},v1=${expected[0]},v1=${expected[1]}`);
    });

    test('delivers events to the given URL, in any order and repeatedly', async () => {
      const received: string[] = [];
      const receiver = createServer(async (request, response) => {
        let body = '';
        for await (const chunk of request.setEncoding('utf8')) body += chunk;
        received.push(JSON.parse(body).type);
        response.writeHead(received.length === 1 ? 500 : 204).end();
      });
      await new Promise<void>(resolve => receiver.listen(0, '127.0.0.1', resolve));
      const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/webhooks/stripe`;
      stripe.expire(await opened());
      stripe.pay(await opened());
      const [expired, completed] = stripe.events;
      if (!expired || !completed) throw new Error('two events have happened');
      const statuses = [];
      for (const event of [completed, completed, expired]) statuses.push(await stripe.deliver(url, event));
      receiver.closeAllConnections();
      receiver.close();
      expect(statuses).toEqual([500, 204, 204]);
      expect(received).toEqual([
        ...['checkout.session.completed', 'checkout.session.completed', 'checkout.session.expired'],
      ]);
    });

    test('passes each event to `onEvent`', async () => {
      const types: string[] = [];
      await using other = await startFakeStripe({ onEvent: ({ type }) => types.push(type) });
      other.happenElsewhere('customer.created', { id: 'cus_1' });
      expect(types).toEqual(['customer.created']);
    });
  });
});
