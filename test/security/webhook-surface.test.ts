import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { askPerson, sessionOf, webhookUrlOf } from '../support/payment-person.ts';
import { type PayingWorld, startWorld } from '../support/world.ts';

let world: PayingWorld;
beforeAll(async () => {
  world = await startWorld({ payment: {} });
});
afterAll(() => world?.[Symbol.asyncDispose]());

const call = (
  body: string | Uint8Array<ArrayBuffer> | undefined,
  headers: Record<string, string> = {},
  url = webhookUrlOf(world),
) => fetch(url, { method: 'POST', headers, body });
const stripeRequests = () => world.stripe.requests().length;

describe('a webhook that is not from the processor', () => {
  it.each([
    ['nothing', undefined, {}],
    ['no signature', '{}', { 'content-type': 'application/json' }],
    ['an empty one', '{}', { 'stripe-signature': '' }],
    ['one of nothing', '{}', { 'stripe-signature': 't=,v1=' }],
    ['many', '{}', { 'stripe-signature': `t=1,${'v1=00,'.repeat(500)}` }],
    ['a form', 'a=b', { 'content-type': 'application/x-www-form-urlencoded', 'stripe-signature': 't=1,v1=00' }],
    ['bytes that are not text', new Uint8Array([0xff, 0xfe, 0]), { 'stripe-signature': 't=1,v1=00' }],
    ['a strange type', '{}', { 'content-type': 'multipart/form-data; boundary=x', 'stripe-signature': 't=1,v1=00' }],
  ] as [string, string | Uint8Array<ArrayBuffer> | undefined, Record<string, string>][])(
    'with %s is refused without a request to the processor',
    async (_, body, headers) => {
      const before = stripeRequests();
      const answer = await call(body, headers);
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.status).toBeLessThan(500);
      expect(await answer.text()).not.toMatch(/whsec|stripe-signature|at .*\.ts/);
      expect(stripeRequests()).toBe(before);
    },
  );

  it('that is larger than any event gets 413', async () => {
    const answer = await call(new Uint8Array(256 * 1024 + 1), { 'stripe-signature': 't=1,v1=00' });
    expect(answer.status).toBe(413);
  });

  it.each(['GET', 'PUT', 'DELETE', 'OPTIONS', 'HEAD'])('with method %s is refused', async method => {
    const answer = await fetch(webhookUrlOf(world), { method });
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.headers.get('access-control-allow-origin')).toBeNull();
  });

  it.each(['none', 'constructor', '__proto__', '..%2f..', 'stripe-main%00', 'x'.repeat(4000)])(
    'for an unknown processor is refused: %s',
    async name => {
      const url = new URL(`/webhooks/${name}`, webhookUrlOf(world));
      expect((await call('{}', { 'stripe-signature': 't=1,v1=00' }, url.href)).status).toBe(404);
    },
  );
});

describe('a webhook that the processor signed', () => {
  it('an hour ago is refused', async () => {
    const person = await askPerson(world);
    await person.approve();
    world.stripe.pay(sessionOf(world.stripe, person.elicitationId).id);
    const event = world.stripe.events.at(-1);
    if (event === undefined) throw new Error('no event');
    const { body, headers } = world.stripe.signed(event);
    world.clock.pass(3600);
    expect((await call(Buffer.from(body), { ...headers })).status).toBe(401);
    world.clock.backToNow();
    expect((await person.read()).status).toBe('active');
    expect((await call(Buffer.from(body), { ...headers })).status).toBe(204);
    expect((await person.read()).status).toBe('completed');
  });

  it('but that was altered is refused', async () => {
    const person = await askPerson(world);
    await person.approve();
    world.stripe.pay(sessionOf(world.stripe, person.elicitationId).id);
    const event = world.stripe.events.at(-1);
    if (event === undefined) throw new Error('no event');
    const { body, headers } = world.stripe.signed(event);
    expect((await call(Buffer.concat([body, Buffer.from(' ')]), { ...headers })).status).toBe(401);
    expect((await person.read()).status).toBe('active');
  });
});
