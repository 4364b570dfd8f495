import { digestOf } from '@postern/elicitation';
import { type FaultProxy, startFaultProxy } from '@postern/testkit/fault-proxy';
import { startRedis } from '@postern/testkit/redis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { apiKeyRequest, deletion, deliveryForm, paymentOf } from '../support/asks.ts';
import { type AskedPerson, askPerson, movesOf, sessionOf } from '../support/payment-person.ts';
import { createApi, keyOf, type PayingWorld, startWorld } from '../support/world.ts';

const AT_ONCE = 50;
/** Results are stored for a day after the end. */
const RETENTION_SECONDS = 86_400;

let world: PayingWorld;
/** Proxies in front of the second replica, as a load balancer, and between that replica and Redis. */
let front: FaultProxy;
let back: FaultProxy;
const stack = new AsyncDisposableStack();

beforeAll(async () => {
  const redis = stack.use(await startRedis());
  back = stack.use(await startFaultProxy(redis.port));
  let replicas = 0;
  world = stack.use(
    await startWorld({
      payment: {},
      redisUrl: redis.url,
      replicas: 2,
      otherMcpServers: [{ id: 'other' }],
      config: () => {
        replicas += 1;
        return replicas === 1 ? {} : { redis: { url: `redis://127.0.0.1:${back.port}` } };
      },
    }),
  );
  front = stack.use(await startFaultProxy(Number(new URL(world.gateways[1]?.address ?? '').port)));
});
afterEach(() => world.clock.backToNow());
afterAll(() => stack.disposeAsync());

const cases = [
  { kind: 'confirmation', ask: () => ({ kind: 'confirmation', confirmation: deletion }) as const, typed: {} },
  { kind: 'payment without a processor', ask: () => paymentOf({ processor: 'none' }), typed: {} },
  { kind: 'payment by Stripe', ask: () => paymentOf(), typed: {} },
  {
    kind: 'credential',
    ask: () => ({ kind: 'credential', credential: apiKeyRequest }) as const,
    typed: { 'field.api_key': 'ak_redeemed1' },
  },
  {
    kind: 'form',
    ask: () => ({ kind: 'form', form: deliveryForm }) as const,
    typed: { 'field.name': 'Alice', 'field.parcels': '3' },
  },
] as const;
type Case = (typeof cases)[number];

async function answered({ ask, typed }: Case): Promise<AskedPerson> {
  const person = await askPerson(world, ask());
  const { raw, page, elicitationId } = person;
  await raw.post(`${page}/accept`, { form: { ...(await raw.acceptForm(elicitationId)), ...typed } });
  if ((await person.read()).status === 'active') {
    world.stripe.pay(sessionOf(world.stripe, elicitationId).id);
    await person.comeBack();
  }
  expect((await person.read()).status).toBe('completed');
  return person;
}
const at = (replica: number) => world.apiOf({ replica: replica % 2 });
const named = (name: string) => ({ 'idempotency-key': name });
const redemptionsOf = ({ elicitationId }: AskedPerson) =>
  movesOf(world, elicitationId).filter(event => event === 'elicitation.redeemed').length;

describe('T32, S38: a result is redeemed once', () => {
  it.each(cases)('$kind: one of fifty concurrent keys over two replicas redeems it', async of => {
    const person = await answered(of);
    const { elicitationId } = person;
    const answers = await Promise.all(
      Array.from({ length: AT_ONCE }, (_, n) => at(n).redeem(elicitationId, named(`name-${n}`))),
    );
    const winners = answers.flatMap(({ status }, n) => (status === 200 ? [n] : []));
    expect(winners).toHaveLength(1);
    for (const { status, body } of answers)
      if (status !== 200) expect({ status, code: body.code }).toEqual({ status: 409, code: 'already_redeemed' });
    const [winner = 0] = winners;
    // A repeat under the same name gets the same result at any replica; without a name each attempt counts as a new
    // name.
    for (let n = 0; n < 4; n += 1) {
      const again = await at(n).redeem(elicitationId, named(`name-${winner}`));
      expect(again).toMatchObject({ status: 200, body: answers[winner]?.body ?? {} });
      expect(await at(n).redeem(elicitationId)).toMatchObject({ status: 409, body: { code: 'already_redeemed' } });
    }
    expect(redemptionsOf(person)).toBe(1);
  });

  it.each(cases)('$kind: a lost response is repeated only for the same key', async of => {
    const person = await answered(of);
    const { elicitationId } = person;
    const lost = front.loseAnswerTo(`/${elicitationId}/redeem`, 'disconnect');
    const through = createApi(`http://127.0.0.1:${front.port}`, keyOf('tracker'));
    await expect(through.redeem(elicitationId, named('mine'))).rejects.toThrow();
    await lost;
    expect(await at(0).redeem(elicitationId, named('another'))).toMatchObject({
      status: 409,
      body: { code: 'already_redeemed' },
    });
    const again = await at(0).redeem(elicitationId, named('mine'));
    expect(again.status).toBe(200);
    expect((await at(1).redeem(elicitationId, named('mine'))).body).toEqual(again.body);
    expect(redemptionsOf(person)).toBe(1);
  });

  it('R7: a lost response of Redis leads to one redemption and one audit event', async () => {
    const person = await answered(cases[0]);
    const { elicitationId } = person;
    const name = 'mine';
    const lost = back.loseAnswerTo(digestOf(digestOf(JSON.stringify(['redeem', 'tracker', name]))), 'disconnect');
    const first = at(1).redeem(elicitationId, named(name));
    await lost;
    const answer = await first;
    // The retry returns the caller's own result or a temporary refusal, never another caller's result.
    expect([200, 503]).toContain(answer.status);
    const again = await at(0).redeem(elicitationId, named(name));
    expect(again.status).toBe(200);
    if (answer.status === 200) expect(answer.body).toEqual(again.body);
    expect(redemptionsOf(person)).toBe(answer.status === 200 ? 1 : 0);
  });

  it.each(cases)('$kind: after its retention no key redeems it', async of => {
    const redeemed = await answered(of);
    const unredeemed = await answered(of);
    expect((await at(0).redeem(redeemed.elicitationId, named('mine'))).status).toBe(200);
    world.clock.pass(RETENTION_SECONDS - 30);
    expect((await at(1).redeem(redeemed.elicitationId, named('mine'))).status).toBe(200);
    world.clock.pass(60);
    for (const { elicitationId } of [redeemed, unredeemed])
      for (const name of ['mine', 'another'])
        expect(await at(0).redeem(elicitationId, named(name))).toMatchObject({
          status: 404,
          body: { code: 'not_found' },
        });
  });

  it.each(cases)('$kind: another MCP server gets 404 and redeems nothing', async of => {
    const { elicitationId } = await answered(of);
    const foreign = world.apiOf({ apiKey: keyOf('other') });
    expect(await foreign.redeem(elicitationId, named('mine'))).toMatchObject({
      status: 404,
      body: { code: 'not_found' },
    });
    expect((await at(0).redeem(elicitationId, named('mine'))).status).toBe(200);
  });

  it('a result that cannot be delivered as requested is not redeemed', async () => {
    const { elicitationId } = await answered(cases[3]);
    const sealed = await at(0).redeem(elicitationId, named('mine'), { sealed: true });
    expect(sealed.body.code).toBe('encryption_key_not_registered');
    expect((await at(1).redeem(elicitationId, named('another'))).status).toBe(200);
  });

  it.each(cases)('S40 $kind: cannot be redeemed before it is completed or after it was declined', async ({ ask }) => {
    const person = await askPerson(world, ask());
    const nothing = { status: 409, body: { code: 'not_redeemable' } };
    expect(await at(0).redeem(person.elicitationId, named('mine'))).toMatchObject(nothing);
    await person.press('decline');
    expect(await at(1).redeem(person.elicitationId, named('mine'))).toMatchObject(nothing);
  });
});
