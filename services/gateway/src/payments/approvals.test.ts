import { DAILY_LIMIT_MS, RequestChangedError, WrongPersonError } from '@postern/elicitation';
import { samples } from '@postern/testkit/contract';
import { describe, expect, test } from 'vitest';
import { createElicitationStage, type ElicitationStage } from '../testing/elicitation-stage.ts';
import { signedInAs } from '../testing/flow-stage.ts';

const MINUTE = 60_000;

const passkey = { passkeyId: 'passkey-1', addedAt: 1000 };

async function approver(stage: ElicitationStage, shown: string, authTime?: number | 'unknown') {
  return { visitor: stage.visitor, browserSession: await stage.browserSession(authTime), shown };
}

describe('an approval', () => {
  test('completes a payment without a processor, and records the method', async () => {
    const stage = createElicitationStage();
    const asked = await stage.pay({ processor: 'none' });
    const authTime = stage.clock.now() - MINUTE;
    const { elicitation } = await approved(stage, asked, await approver(stage, asked.request.digest, authTime));
    expect(elicitation).toMatchObject({
      status: 'completed',
      outcome: { approval: { method: 'button', identity: 'login', at: stage.clock.now(), authTime } },
    });
  });

  test('that is repeated returns the first decision, even with an old sign-in', async () => {
    const stage = createElicitationStage();
    const asked = await stage.pay({ processor: 'none' });
    const person = await approver(stage, asked.request.digest);
    const first = await approved(stage, asked, person);
    stage.clock.advance(6 * MINUTE);
    const second = await approved(stage, await stage.again(asked, 'payment'), person);
    expect(second).toEqual(first);
    expect(stage.eventsNamed('elicitation.approved')).toHaveLength(1);
  });

  test('of other terms than those requested writes nothing', async () => {
    const stage = createElicitationStage();
    const asked = await stage.confirm();
    const other = await stage.confirm({ title: 'Delete everything' });
    const person = await approver(stage, other.request.digest);
    await expect(stage.approvals.approve(asked, person)).rejects.toThrow(RequestChangedError);
    expect(await stage.again(asked, 'confirmation')).toEqual(asked);
  });

  test('by another person writes nothing', async () => {
    const stage = createElicitationStage();
    const asked = await stage.pay();
    const person = { ...(await approver(stage, asked.request.digest)), visitor: signedInAs(samples.somebody()) };
    await expect(stage.approvals.approve(asked, person)).rejects.toThrow(WrongPersonError);
    expect(await stage.again(asked, 'payment')).toEqual(asked);
  });
});

describe('an approval needs', () => {
  test.each([6 * MINUTE, 'unknown'] as const)(
    'another sign-in if the last one is too old or of unknown age: %s',
    async age => {
      const stage = createElicitationStage();
      const asked = await stage.pay();
      const authTime = age === 'unknown' ? age : stage.clock.now() - age;
      const person = await approver(stage, asked.request.digest, authTime);
      expect(await stage.approvals.approve(asked, person)).toEqual({ result: 'sign_in_again' });
      expect(await stage.again(asked, 'payment')).toEqual(asked);
    },
  );

  test('a passkey above the threshold', async () => {
    const stage = createElicitationStage({ payment: { passkeyAbove: { EUR: 2489 } } });
    const asked = await stage.pay({ processor: 'none' });
    const person = await approver(stage, asked.request.digest);
    expect(await stage.approvals.approve(asked, person)).toEqual({ result: 'passkey_needed' });
    const { elicitation } = await approved(stage, asked, person, passkey);
    expect(elicitation).toMatchObject({
      outcome: { approval: { method: 'passkey', passkey: 'passkey-1', passkeyAddedAt: 1000 } },
    });
  });

  test('a passkey also if the processor returns the payment while the user presses the button', async () => {
    const stage = createElicitationStage({ payment: { passkeyAbove: { EUR: 0 } } });
    const asked = await stage.pay();
    const person = await approver(stage, asked.request.digest);
    const { elicitation: charging } = await approved(stage, asked, person, passkey);
    const seen = await stage.again(charging, 'payment');
    // Read while it was charging. Then the processor reports that nothing was paid.
    if (seen.status !== 'active') throw new Error('not charging');
    await stage.service.settle(seen.elicitationId, seen.attempt, { result: 'closed', as: 'retry' });
    await stage.approvals.approve(seen, { ...person, browserSession: await stage.browserSession(0) });
    expect(await stage.again(asked, 'payment')).toMatchObject({
      status: 'pending',
      retryReason: 'payment_not_finished',
    });
  });
});

async function approved(
  stage: ElicitationStage,
  ...[elicitation, person, passkey]: Parameters<ElicitationStage['approvals']['approve']>
) {
  const approved = await stage.approvals.approve(elicitation, person, passkey);
  if (approved.result !== 'decided') throw new Error(approved.result);
  return approved;
}

describe('a passkey is needed', () => {
  test.each([
    [2489, true],
    [2490, false],
  ])('for a payment of 2490 above %i: %s', async (EUR, isNeeded) => {
    const stage = createElicitationStage({ payment: { passkeyAbove: { EUR } } });
    expect(stage.passkeyPolicy.needsPasskey(await stage.pay())).toBe(isNeeded);
  });

  test('for every payment above 0', async () => {
    const stage = createElicitationStage({ payment: { passkeyAbove: { EUR: 0 } } });
    const asked = await stage.pay({ amount: { currency: 'EUR', minorUnits: 1 } });
    expect(stage.passkeyPolicy.needsPasskey(asked)).toBe(true);
  });

  test('by the current configuration, also for a payment that was issued before', async () => {
    const strict = createElicitationStage({ payment: { passkeyAbove: { EUR: 0 } } });
    expect(strict.passkeyPolicy.needsPasskey(await createElicitationStage().pay())).toBe(true);
  });

  test('in loopback mode too', async () => {
    const stage = createElicitationStage({ payment: { passkeyAbove: { EUR: 0 } } });
    expect(stage.passkeyPolicy.needsPasskey({ ...(await stage.pay()), identityMode: 'loopback' })).toBe(true);
  });

  test('never for a confirmation or a credential', async () => {
    const stage = createElicitationStage({ payment: { passkeyAbove: { EUR: 0 } } });
    expect(stage.passkeyPolicy.needsPasskey(await stage.confirm({ danger: 'destructive' }))).toBe(false);
    expect(stage.passkeyPolicy.needsPasskey(await stage.credential())).toBe(false);
  });
});

describe('a first passkey needs a sign-in', () => {
  test('of the last five minutes, even if an older one may approve', async () => {
    const stage = createElicitationStage({ payment: { passkeyAbove: { EUR: 0 }, freshSignInSeconds: 3600 } });
    const asked = await stage.pay();
    for (const [ago, must] of [
      [4 * MINUTE, false],
      [6 * MINUTE, true],
    ] as const) {
      const browserSession = await stage.browserSession(stage.clock.now() - ago, asked);
      expect(stage.signInPolicy.mustSignInAgain(asked, browserSession)).toBe(false);
      expect(stage.passkeyPolicy.mustSignInToAddPasskey(asked, browserSession)).toBe(must);
    }
    expect(stage.passkeyPolicy.mustSignInToAddPasskey({ ...asked, identityMode: 'loopback' }, undefined)).toBe(false);
  });

  test.each([
    ['S67', 'login'],
    ['S88', 'external'],
  ] as const)('%s: that was required for this payment, in mode %s', async (_, identityMode) => {
    const stage = createElicitationStage();
    const [asked, another] = [await stage.pay(), await stage.pay({ reference: 'order-2' })];
    for (const [provedFor, must] of [
      [asked, false],
      [another, true],
      [undefined, true],
    ] as const) {
      const browserSession = await stage.browserSession(stage.clock.now(), provedFor);
      expect(stage.passkeyPolicy.mustSignInToAddPasskey({ ...asked, identityMode }, browserSession)).toBe(must);
    }
  });
});

const HOUR = 3_600_000;
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
  return stage.approvals.approve(asked, { visitor: stage.visitor, browserSession, shown: asked.request.digest }, proof);
}

describe('S89: the daily limits of a user', () => {
  test('require a passkey above the threshold, and allow none above the limit', async () => {
    const stage = stageWith({ passkeyAbove: 1000, max: 100_000 });
    expect(await approve(stage, await pay(stage, 1000))).toMatchObject({ result: 'decided' });
    const more = await pay(stage, 1);
    expect(await stage.dailyLimits.standingOf(more)).toEqual({ result: 'passkey_needed' });
    expect(await approve(stage, more)).toEqual({ result: 'passkey_needed' });
    expect(stage.eventsNamed('payment.daily_limit_reached')).toEqual([]);
    expect(await approve(stage, more, passkey)).toMatchObject({ result: 'decided' });
    const most = await pay(stage, 98_999);
    expect(await approve(stage, most, passkey)).toMatchObject({ result: 'decided' });
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
    expect(await approve(stage, one, first)).toMatchObject({ result: 'decided' });
    expect(await approve(stage, two, first)).toEqual({ result: 'daily_limit_reached' });
    expect(await approve(stage, two, passkey)).toMatchObject({ result: 'decided' });
  });

  test('allow any amount with a passkey if only a threshold is configured', async () => {
    const stage = stageWith({ passkeyAbove: 0 });
    const asked = await pay(stage, 100_000);
    expect(await approve(stage, asked)).toEqual({ result: 'passkey_needed' });
    expect(await approve(stage, asked, passkey)).toMatchObject({ result: 'decided' });
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
    if (approved.result !== 'decided' || approved.elicitation.status !== 'active') throw new Error('not charging');
    const next = await pay(stage, 1);
    expect(await stage.dailyLimits.standingOf(next)).toMatchObject({ result: 'reached' });
    const { elicitationId, attempt } = approved.elicitation;
    await stage.service.settle(elicitationId, attempt ?? '', { result: 'closed', as: 'decline' });
    expect(await stage.dailyLimits.standingOf(next)).toEqual({ result: 'within' });
  });

  test('count nothing in a currency without limits', async () => {
    const stage = createElicitationStage();
    const asked = await pay(stage, 1);
    expect(stage.dailyLimits.maxTotal(asked, { hasPasskey: false })).toBeUndefined();
    await approve(stage, asked);
    const { subject, mcpServerId } = asked;
    expect(await stage.stores.payments.counted({ subject, mcpServerId, currency: 'EUR' })).toEqual([]);
  });
});
