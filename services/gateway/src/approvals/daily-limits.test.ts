import { DAILY_LIMIT_MS } from '@postern/elicitation';
import { describe, expect, test } from 'vitest';
import { createElicitationStage, type ElicitationStage } from '../testing/elicitation-stage.ts';

const HOUR = 3_600_000;
const passkey = { passkeyId: 'passkey-1', addedAt: 1000 };
const stageWith = (EUR: { passkeyAbove?: number; max?: number }) =>
  createElicitationStage({ payment: { perPersonAndDay: { EUR } } });

let references = 0;
function pay(stage: ElicitationStage, minorUnits: number, processor = 'none') {
  references += 1;
  const items = [{ label: 'x', unitMinorUnits: minorUnits }];
  const terms = { amount: { currency: 'EUR', minorUnits }, items, reference: `order-${references}`, processor };
  return stage.pay(terms);
}

async function approve(stage: ElicitationStage, asked: Awaited<ReturnType<typeof pay>>, proof?: typeof passkey) {
  const browserSession = await stage.browserSession();
  return stage.approvalFlow(asked, { visitor: stage.visitor, browserSession, shown: asked.request.digest }, proof);
}

describe('S89: the daily limits of a user', () => {
  test('require a passkey above the threshold, and allow none above the limit', async () => {
    const stage = stageWith({ passkeyAbove: 1000, max: 100_000 });
    expect(await approve(stage, await pay(stage, 1000))).toMatchObject({ result: 'approved' });
    const more = await pay(stage, 1);
    expect(await stage.dailyLimits.standingOf(more)).toEqual({ result: 'passkey_needed' });
    expect(await approve(stage, more)).toEqual({ result: 'passkey_needed' });
    expect(stage.eventsNamed('payment.daily_limit_reached')).toEqual([]);
    expect(await approve(stage, more, passkey)).toMatchObject({ result: 'approved' });
    const most = await pay(stage, 98_999);
    expect(await approve(stage, most, passkey)).toMatchObject({ result: 'approved' });
    const beyond = await pay(stage, 1);
    for (const proof of [undefined, passkey])
      expect(await approve(stage, beyond, proof)).toEqual({ result: 'daily_limit_reached' });
    expect(stage.eventsNamed('payment.daily_limit_reached')).toHaveLength(2);
    expect(await stage.again(beyond, 'payment')).toEqual(beyond);
  });

  test('hold a first passkey to its own limit above the threshold', async () => {
    const stage = stageWith({ passkeyAbove: 1000, max: 100_000 });
    const first = { ...passkey, upTo: 500 };
    const [one, two] = [await pay(stage, 1500), await pay(stage, 1)];
    expect(await approve(stage, one, first)).toMatchObject({ result: 'approved' });
    expect(await approve(stage, two, first)).toEqual({ result: 'daily_limit_reached' });
    expect(await approve(stage, two, passkey)).toMatchObject({ result: 'approved' });
  });

  test('allow any amount with a passkey if only a threshold is configured', async () => {
    const stage = stageWith({ passkeyAbove: 0 });
    const asked = await pay(stage, 100_000);
    expect(await approve(stage, asked)).toEqual({ result: 'passkey_needed' });
    expect(await approve(stage, asked, passkey)).toMatchObject({ result: 'approved' });
  });

  test('report when the payment will be within the limit', async () => {
    const stage = stageWith({ max: 100_000 });
    const start = stage.clock.now();
    await approve(stage, await pay(stage, 20_000));
    stage.clock.advance(HOUR);
    await approve(stage, await pay(stage, 80_000));
    stage.clock.advance(HOUR);
    const [small, large] = [await pay(stage, 20_000), await pay(stage, 20_001)];
    expect(await stage.dailyLimits.standingOf(small)).toEqual({ result: 'reached', from: start + DAILY_LIMIT_MS });
    const from = start + HOUR + DAILY_LIMIT_MS;
    expect(await stage.dailyLimits.standingOf(large)).toEqual({ result: 'reached', from });
    stage.clock.set(start + DAILY_LIMIT_MS);
    expect(await stage.dailyLimits.standingOf(small)).toEqual({ result: 'within' });
    expect(await stage.dailyLimits.standingOf(large)).toEqual({ result: 'reached', from });
  });

  test('refuse a payment above a limit that was lowered after the payment was issued', async () => {
    const lax = stageWith({ max: 100_000 });
    const strict = createElicitationStage({
      payment: { maxAmount: { EUR: 1 }, perPersonAndDay: { EUR: { max: 1 } }, firstPasskeyUpTo: {} },
    });
    expect(await strict.dailyLimits.standingOf(await pay(lax, 2))).toEqual({ result: 'reached' });
  });

  test('do not count a payment that closed unpaid', async () => {
    const stage = stageWith({ max: 100_000 });
    const approved = await approve(stage, await pay(stage, 100_000, 'stripe-main'));
    if (approved.result !== 'approved' || approved.elicitation.status !== 'active') throw new Error('not charging');
    const next = await pay(stage, 1);
    expect(await stage.dailyLimits.standingOf(next)).toMatchObject({ result: 'reached' });
    const { elicitationId, attempt } = approved.elicitation;
    await stage.service.settle(elicitationId, attempt ?? '', { result: 'closed', as: 'decline' });
    expect(await stage.dailyLimits.standingOf(next)).toEqual({ result: 'within' });
  });

  test('count nothing in a currency without limits', async () => {
    const stage = createElicitationStage();
    const asked = await pay(stage, 1);
    expect(stage.dailyLimits.countWithin(asked, { hasPasskey: false })).toBeUndefined();
    await approve(stage, asked);
    const { subject, mcpServerId } = asked;
    expect(await stage.stores.payments.counted({ subject, mcpServerId, currency: 'EUR' })).toEqual([]);
  });
});
