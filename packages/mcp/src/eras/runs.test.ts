/** A call is run again and again: what its runs must have in common, and what a handler must await. */
import { setImmediate } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { GateContext } from '../ask/verbs.ts';
import { ElicitationTimeoutError } from '../errors.ts';
import { isElicitationPending } from '../run/tool-call.ts';
import { accountWorld } from '../testing/account-world.ts';
import { legacyWorld } from '../testing/legacy-world.ts';
import { callOutcome as call, modernWorld, textOf } from '../testing/modern-world.ts';
import { effects, terms } from '../testing/scripts.ts';

const collected = () => {
  const errors: Error[] = [];
  return { errors, options: { holdMs: 0, onBackgroundError: (error: Error) => void errors.push(error) } };
};

test.each(['changes_title', 'changes_reference'])(
  'S219: 2026-07-28: %s between two runs is an error of the handler, and asks nothing more',
  async title => {
    await using world = await modernWorld(collected().options);
    const first = await call(world, title);
    world.gateway.end('completed');
    expect(textOf(await call(world, title, first))).toBe('error: terms_changed');
    expect(world.gateway.elicitations).toHaveLength(1);
    expect(world.gateway.results.redemptions).toEqual([]);
  },
);

test('S219: the error names the member that differs, with both values', async () => {
  const { errors, options } = collected();
  await using world = await accountWorld(options);
  let run = 0;
  const ask = () =>
    world.run(gate => gate.confirm({ title: 'Send it', facts: [{ type: 'number', label: 'Run', value: ++run }] }));
  await ask();
  await ask();
  expect(errors).toMatchObject([
    { code: 'terms_changed', message: expect.stringContaining('facts.0.value differs: "1" / "2"') },
  ]);
});

test('S219: what is only remembered begins anew: the old ask is cancelled', async () => {
  const { errors, options } = collected();
  await using world = await accountWorld(options);
  let run = 0;
  const ask = () => world.run(gate => gate.confirm(`Send it, run ${++run}`));
  await ask();
  await ask();
  expect(world.gateway.elicitations.slice(1).map(({ status }) => status)).toEqual(['cancelled', 'pending']);
  world.gateway.end('completed');
  // Completed, and asked otherwise again: nothing to cancel, and nothing is redeemed.
  await ask();
  expect(world.gateway.elicitations.slice(1).map(({ status }) => status)).toEqual([
    'cancelled',
    'completed',
    'pending',
  ]);
  expect(world.gateway.results.redemptions).toEqual([]);
  // Reported once per minute.
  expect(errors.map(error => 'code' in error && error.code)).toEqual(['terms_changed']);
});

test.each([
  ['paid', 'completed'],
  ['under way', 'verifying'],
] as const)('S219: a remembered payment that is %s is never asked for anew', async (_name, status) => {
  await using world = await accountWorld(collected().options);
  let run = 0;
  const ask = () => world.run(gate => gate.pay({ ...terms, reference: `order-${++run}` }));
  await ask();
  if (status === 'completed') world.gateway.end('completed');
  else world.gateway.suspend('verifying');
  await expect(ask()).rejects.toMatchObject({ code: 'terms_changed' });
  expect(world.gateway.elicitations).toHaveLength(2);
});

test.each([
  ['requestState', 'completed'],
  ['memory', 'completed'],
  ['memory', 'verifying'],
] as const)('S219: an ask before it hides no payment: %s, %s', async (carrier, status) => {
  const { options } = collected();
  const reference = { isNew: false };
  const handler = async (gate: GateContext) => {
    if (reference.isNew) await gate.try.confirm('The price has changed');
    return await gate.pay({ ...terms, reference: reference.isNew ? 'order-2' : 'order-1' });
  };
  await using world = await accountWorld(options);
  let requestState: string | undefined;
  const ask = async () => {
    const outcome = await (carrier === 'memory' ? world.run(handler) : world.runModern(handler, requestState));
    if (outcome.type === 'input_required') requestState = outcome.requestState;
    return outcome;
  };
  await ask();
  if (status === 'completed') world.gateway.end(status);
  else world.gateway.suspend(status);
  reference.isNew = true;
  await ask();
  world.gateway.end('completed');
  await expect(ask()).rejects.toMatchObject({ code: 'terms_changed' });
  // Nor does the error: the next call does not pay anew either.
  requestState = undefined;
  await ask().catch(() => undefined);
  world.gateway.end('completed');
  await expect(ask()).rejects.toMatchObject({ code: 'terms_changed' });
  expect(world.gateway.elicitations.filter(({ kind }) => kind === 'payment')).toHaveLength(1);
});

test('S219: a paid payment that a run does not reach is not asked for anew', async () => {
  const { errors, options } = collected();
  await using world = await accountWorld(options);
  let isOpen = true;
  const ask = () =>
    world.run(async gate => {
      if (!isOpen) return 'closed';
      return (await gate.pay({ ...terms, reference: gate.id('order') })).receipt;
    });
  await ask();
  world.gateway.end('completed');
  isOpen = false;
  expect(await ask()).toEqual({ type: 'result', result: 'closed' });
  expect(errors).toMatchObject([{ code: 'payment_left' }]);
  isOpen = true;
  expect(await ask()).toEqual({ type: 'result', result: 'receipt-of-el-2' });
  expect(world.gateway.elicitations).toHaveLength(2);
});

const MINUTE = 60_000;
/** Arguments that no call of the world has. */
const own = { title: 'Book' };
const payments = ({ gateway }: Awaited<ReturnType<typeof accountWorld>>) =>
  gateway.elicitations.filter(({ kind }) => kind === 'payment');

/** Runs a handler with the `requestState` of its last run, or without. */
function callsOf<T>(
  world: Awaited<ReturnType<typeof accountWorld>>,
  carrier: 'requestState' | 'memory',
  handler: (gate: GateContext) => Promise<T>,
) {
  let requestState: string | undefined;
  return async () => {
    const outcome = await (carrier === 'memory' ? world.run(handler) : world.runModern(handler, requestState));
    requestState = outcome.type === 'input_required' ? outcome.requestState : undefined;
    return outcome;
  };
}

test.each(['requestState', 'memory'] as const)(
  'S219: %s outlives the expiry of a payment that is charged late',
  async carrier => {
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    await using world = await accountWorld({ holdMs: 0 }, own);
    const ask = callsOf(
      world,
      carrier,
      async gate => (await gate.pay({ ...terms, reference: gate.id('order') })).receipt,
    );
    await ask();
    world.gateway.suspend('active');
    vi.setSystemTime(Date.now() + 30 * MINUTE);
    await ask();
    world.gateway.end('completed');
    vi.setSystemTime(Date.now() + 23 * 60 * MINUTE);
    expect(await ask()).toEqual({ type: 'result', result: 'receipt-of-el-2' });
    expect(payments(world)).toHaveLength(1);
  },
);

test('a payment that ended unpaid long ago is asked for anew by an equal call', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  await using world = await accountWorld({ holdMs: 0 }, own);
  const ask = callsOf(world, 'memory', gate => gate.try.pay(terms));
  await ask();
  world.gateway.end('expired');
  expect(await ask()).toMatchObject({ type: 'result', result: { reason: 'expired' } });
  await ask();
  world.gateway.end('expired');
  vi.setSystemTime(Date.now() + 60 * MINUTE);
  expect((await ask()).type).toBe('plain');
  expect(payments(world)).toHaveLength(3);
});

test.each([0, 1])('S219: of two equal calls at once, the one whose payment is paid gets it: %i', async index => {
  await using world = await accountWorld({ holdMs: 0 }, own);
  const ask = callsOf(
    world,
    'memory',
    async gate => (await gate.pay({ ...terms, reference: gate.id('order') })).receipt,
  );
  await Promise.all([ask(), ask()]);
  const { elicitationId = '' } = payments(world)[index] ?? {};
  world.gateway.end('completed', elicitationId);
  expect(await ask()).toEqual({ type: 'result', result: `receipt-of-${elicitationId}` });
  expect(payments(world)).toHaveLength(2);
});

test.each([
  ['requestState', 'invalid_ask'],
  ['memory', 'invalid_ask'],
  ['memory', 'capability_missing'],
] as const)('S219: a payment is not lost with a later ask that fails: %s, %s', async (carrier, failure) => {
  await using world = await accountWorld({ holdMs: 0 }, own);
  let fails = true;
  const ask = callsOf(world, carrier, async gate => {
    const { receipt } = await gate.pay(terms);
    if (fails)
      await gate.confirm('Gift', failure === 'invalid_ask' ? { ttlSeconds: 1 } : { missingCapability: 'error' });
    return receipt;
  });
  await ask();
  world.gateway.end('completed');
  const failed = await ask().catch((error: unknown) => error);
  expect(failed).toMatchObject(failure === 'invalid_ask' ? { code: failure } : { type: 'plain' });
  fails = false;
  expect(await ask()).toEqual({ type: 'result', result: 'receipt-of-el-2' });
  expect(payments(world)).toHaveLength(1);
});

test.each(['requestState', 'memory'] as const)(
  'S219: %s: a payment is used up by a result of the handler only',
  async carrier => {
    await using world = await accountWorld({ holdMs: 0 }, own);
    const fates: ((gate: GateContext) => Promise<unknown>)[] = [
      // The user declines what is asked after the payment.
      gate => gate.confirm('Deliver to the neighbour'),
      () => Promise.reject(new Error('the shop is closed')),
      () => Promise.resolve(),
    ];
    let fate = 0;
    const ask = callsOf(world, carrier, async gate => {
      const { receipt } = await gate.pay({ ...terms, reference: gate.id('order') });
      await fates[fate]?.(gate);
      return receipt;
    });
    await ask();
    world.gateway.end('completed');
    await ask();
    world.gateway.end('declined');
    expect((await ask()).type).toBe('plain');
    fate = 1;
    await expect(ask()).rejects.toThrow('the shop is closed');
    fate = 2;
    expect(await ask()).toEqual({ type: 'result', result: 'receipt-of-el-2' });
    expect((await ask()).type).not.toBe('result');
    expect(payments(world)).toHaveLength(2);
  },
);

test('S219: a payment that the handler has paid back is not used by a repeated call', async () => {
  await using world = await accountWorld({ holdMs: 0 }, own);
  let isClosed = true;
  const ask = callsOf(world, 'memory', async gate => {
    const { receipt, elicitationId } = await gate.pay({ ...terms, reference: gate.id('order') });
    if (!isClosed) return receipt;
    await gate.refund(elicitationId, { reason: 'requested_by_customer' });
    throw new Error('the shop is closed');
  });
  await ask();
  world.gateway.end('completed');
  await expect(ask()).rejects.toThrow('the shop is closed');
  isClosed = false;
  expect((await ask()).type).toBe('plain');
  expect(payments(world)).toHaveLength(2);
});

test.each(['requestState', 'memory'] as const)(
  'S219: %s: a payment whose time limit is over is continued by the next call',
  async carrier => {
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    await using world = await accountWorld({ holdMs: 0 }, own);
    const ask = callsOf(world, carrier, async gate => {
      const order = { ...terms, reference: gate.id('order') };
      return (await gate.pay(order, { answerWithinMs: MINUTE })).receipt;
    });
    await ask();
    vi.setSystemTime(Date.now() + 2 * MINUTE);
    await expect(ask()).rejects.toMatchObject({ code: 'elicitation_timeout' });
    world.gateway.end('completed');
    expect(await ask()).toEqual({ type: 'result', result: 'receipt-of-el-2' });
    expect(payments(world)).toHaveLength(1);
  },
);

test('S219: a handler that asks again after an interruption repeats the same ask', async () => {
  let lost = 0;
  const flaky: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (!String(input instanceof Request ? input.url : input).endsWith('/redeem') || lost === 0) return response;
    lost -= 1;
    throw new TypeError('fetch failed');
  };
  await using world = await accountWorld({ ...collected().options, fetch: flaky });
  const ask = callsOf(world, 'memory', async gate => {
    const pay = () => gate.pay(terms);
    const paid = await pay().catch((error: unknown) => (isElicitationPending(error) ? Promise.reject(error) : pay()));
    return paid.receipt;
  });
  await ask();
  world.gateway.end('completed');
  // As many as the client of the gateway tries.
  lost = 4;
  expect(await ask()).toEqual({ type: 'result', result: 'receipt-of-el-2' });
  expect(payments(world)).toHaveLength(1);
});

test.each(['tried', 'failed'] as const)(
  'S224: a handler that goes on after a refusal may have acted: %s',
  async how => {
    await using world = await accountWorld({ holdMs: 0 }, own);
    const ask = callsOf(world, 'memory', async gate => {
      if (how === 'tried') expect((await gate.try.confirm('Archive it')).action).toBe('decline');
      else await gate.confirm('Archive it', { missingCapability: 'error' }).catch(() => undefined);
      await gate.confirm('Delete the backup');
    });
    await ask();
    if (how === 'tried') {
      world.gateway.end('declined');
      await ask();
    }
    world.gateway.end('declined');
    expect(JSON.stringify(await ask())).not.toMatch(/Nothing was done|unavailable/);
  },
);

test.each(['decline', 'cancel'] as const)(
  'S219: a payment goes on after the %s of an MCP client whose user has the page open',
  async action => {
    await using world = await accountWorld({ holdMs: 0 }, own);
    const buy = async (gate: GateContext) => (await gate.pay({ ...terms, reference: gate.id('order') })).receipt;
    const first = await world.runModern(buy);
    if (first.type !== 'input_required') throw new Error(first.type);
    expect((await world.runModern(buy, first.requestState, false, action)).type).toBe('plain');
    world.gateway.end('completed');
    expect(await world.runModern(buy)).toEqual({ type: 'result', result: 'receipt-of-el-2' });
  },
);

test('S224: a handler that catches one of two failed asks may return', async () => {
  await using world = await accountWorld({ holdMs: 0 }, own);
  const outcome = await world.run(async gate => {
    const asks = ['A', 'B'].map(title => gate.confirm(title, { missingCapability: 'error' }));
    await Promise.all(asks).catch(() => undefined);
    for (let turn = 0; turn < 50; turn += 1) await setImmediate();
    return 'kept as a draft';
  });
  expect(outcome).toEqual({ type: 'result', result: 'kept as a draft' });
});

test('S219: a call that returns with its state after the payment was paid back pays anew', async () => {
  await using world = await accountWorld({ holdMs: 0 }, own);
  let isClosed = true;
  const buy = async (gate: GateContext) => {
    const { receipt, elicitationId } = await gate.pay({ ...terms, reference: gate.id('order') });
    if (isClosed) await gate.refund(elicitationId, { reason: 'requested_by_customer' });
    return isClosed ? 'sold out' : receipt;
  };
  const first = await world.runModern(buy);
  if (first.type !== 'input_required') throw new Error(first.type);
  world.gateway.end('completed');
  expect(await world.runModern(buy, first.requestState)).toEqual({ type: 'result', result: 'sold out' });
  isClosed = false;
  expect((await world.runModern(buy, first.requestState)).type).toBe('input_required');
});

test('S219: a payment is not used up by a call that fails after its handler has returned', async () => {
  await using world = await accountWorld({ ...collected().options }, own);
  let forgets = true;
  const ask = callsOf(world, 'memory', async gate => {
    const { receipt } = await gate.pay({ ...terms, reference: gate.id('order') });
    if (forgets) void gate.confirm('Gift');
    return receipt;
  });
  await ask();
  world.gateway.end('completed');
  await expect(ask()).rejects.toMatchObject({ code: 'suspension_swallowed' });
  forgets = false;
  expect(await ask()).toEqual({ type: 'result', result: 'receipt-of-el-2' });
});

test.each(['active', 'verifying'] as const)(
  'S219: of two equal calls at once, the one whose payment is %s goes on',
  async status => {
    await using world = await accountWorld({ holdMs: 0 }, own);
    const ask = callsOf(
      world,
      'memory',
      async gate => (await gate.pay({ ...terms, reference: gate.id('order') })).receipt,
    );
    await Promise.all([ask(), ask()]);
    const [, second] = payments(world);
    world.gateway.suspend(status, second?.elicitationId);
    expect(JSON.stringify(await ask())).toContain(second?.url);
  },
);

test('S219: a payment that an operator has paid back is asked for anew, with the same terms', async () => {
  await using world = await accountWorld({ holdMs: 0 }, own);
  const ask = callsOf(world, 'memory', async gate => (await gate.pay(terms)).receipt);
  await ask();
  world.gateway.end('completed');
  const refund = (gate: GateContext) => gate.refund('el-2', { reason: 'requested_by_customer' });
  expect((await world.runModern(refund, undefined)).type).toBe('result');
  expect((await ask()).type).toBe('plain');
  world.gateway.end('completed');
  expect(await ask()).toEqual({ type: 'result', result: 'receipt-of-el-3' });
});

test('S219: after a full refund by the handler, another price is no changed term', async () => {
  await using world = await accountWorld({ holdMs: 0 }, own);
  let price = 1050;
  const ask = callsOf(world, 'memory', async gate => {
    const { items: _, ...rest } = terms as typeof terms & { items?: unknown };
    const { elicitationId } = await gate.pay({ ...rest, amount: { currency: 'EUR', minorUnits: price } });
    price = 2100;
    await gate.refund(elicitationId, { reason: 'requested_by_customer' });
    throw new Error('sold out');
  });
  await ask();
  world.gateway.end('completed');
  await expect(ask()).rejects.toThrow('sold out');
  expect(await ask().catch((error: unknown) => error)).toMatchObject({ type: 'plain' });
});

test.each([
  ['in', (answer: object) => 'receipt' in answer],
  ['hasOwn', (answer: object) => Object.hasOwn(answer, 'receipt')],
  ['keys', (answer: object) => Object.keys(answer).includes('receipt')],
  ['a member of an acceptance', (answer: object) => Reflect.get(answer, 'receipt') !== undefined],
])('S95: a handler that recognises a refusal by %s has read it', async (_name, isAccepted) => {
  await using world = await accountWorld({ holdMs: 0 }, own);
  const ask = callsOf(world, 'memory', async gate => isAccepted(await gate.try.confirm('Send it')));
  await ask();
  world.gateway.end('declined');
  expect(await ask()).toEqual({ type: 'result', result: false });
});

test('S219: a payment that one MCP client of the user got counts in another, which shows forms', async () => {
  await using world = await accountWorld({ holdMs: 0 }, own);
  const buy = async (gate: GateContext) => (await gate.pay(terms)).receipt;
  await world.run(buy);
  world.gateway.end('completed');
  expect(await world.runModern(buy, undefined, true)).toEqual({ type: 'result', result: 'receipt-of-el-2' });
});

test.each(['requestState', 'memory'] as const)('S224: %s says that an earlier run may have acted', async carrier => {
  await using world = await accountWorld({ holdMs: 0 }, own);
  for (const act of ['account', 'refund'] as const) {
    let isFirst = true;
    const ask = callsOf(world, carrier, async gate => {
      if (isFirst && act === 'account') await (await gate.authorize('github')).accessToken();
      if (isFirst && act === 'refund') await gate.refund('el-9', { minorUnits: 5, reason: 'requested_by_customer' });
      isFirst = false;
      await gate.confirm(`Publish it, after ${act}`);
    });
    await ask();
    world.gateway.end('declined');
    expect(JSON.stringify(await ask())).not.toMatch(/Nothing was done|unavailable/);
  }
});

test('S224: a refusal says nothing of what was done while a payment may be paid that the run has not reached', async () => {
  await using world = await accountWorld({ holdMs: 0 }, own);
  let isNew = false;
  const ask = callsOf(world, 'memory', async gate => {
    if (isNew) await gate.confirm('Delivery takes four weeks');
    return (await gate.pay(terms)).receipt;
  });
  await ask();
  world.gateway.end('completed');
  isNew = true;
  await ask();
  world.gateway.end('declined');
  expect(JSON.stringify(await ask())).not.toMatch(/Nothing was done|unavailable/);
  isNew = false;
  expect(await ask()).toEqual({ type: 'result', result: 'receipt-of-el-2' });
});

test('S219: the call after a result has another id, although an ask was interrupted', async () => {
  let isDown = false;
  const flaky: typeof fetch = (input, init) =>
    isDown ? Promise.reject(new TypeError('fetch failed')) : fetch(input, init);
  await using world = await accountWorld({ ...collected().options, fetch: flaky });
  const ask = callsOf(world, 'memory', async gate => {
    const note = await gate.form.text('A note').catch((error: unknown) => {
      if (isElicitationPending(error)) throw error;
      return { value: 'none' };
    });
    return [note.value, gate.id('order')];
  });
  await ask();
  isDown = true;
  const [one, two] = [await ask(), await ask()];
  expect(one).toMatchObject({ type: 'result', result: ['none', expect.any(String)] });
  expect(two).toMatchObject({ type: 'result', result: ['none', expect.any(String)] });
  expect(one).not.toEqual(two);
});

describe('S219: a payment that a result has left open', () => {
  /** Takes the order in any case, and asks for a tip. */
  const tipped = (reference: (gate: GateContext) => string) => async (gate: GateContext) => {
    const tip = await gate.try
      .pay({ ...terms, reference: reference(gate) }, { answerWithinMs: MINUTE })
      .catch((error: unknown) => {
        if (!(error instanceof ElicitationTimeoutError)) throw error;
        return { action: 'later' as const };
      });
    return { order: gate.id('order'), at: gate.now(), action: tip.action };
  };

  async function tipWorld(
    carrier: 'requestState' | 'memory',
    handler: (gate: GateContext) => Promise<{ order: string; at: number; action: string }>,
  ) {
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const { errors, options } = collected();
    const world = await accountWorld(options, own);
    const ask = callsOf(world, carrier, handler);
    const result = async () => {
      const outcome = await ask();
      if (outcome.type !== 'result') throw new Error(outcome.type);
      return outcome.result;
    };
    /** The user has not answered when the time limit is over. */
    const leave = async () => {
      await ask();
      vi.setSystemTime(Date.now() + 2 * MINUTE);
      return await result();
    };
    return { ...world, world, errors, ask, result, leave };
  }

  test.each([
    ['requestState', 'before'],
    ['requestState', 'during'],
    ['memory', 'before'],
    ['memory', 'during'],
  ] as const)('%s: is got by the next call, which has another id: paid %s it', async (carrier, when) => {
    await using tip = await tipWorld(
      carrier,
      tipped(() => 'Tip'),
    );
    const first = await tip.leave();
    expect(first).toMatchObject({ action: 'later' });
    if (when === 'during') expect((await tip.ask()).type).not.toBe('result');
    tip.gateway.end('completed');
    const second = await tip.result();
    expect(second).toMatchObject({ action: 'accept' });
    expect([second.order === first.order, second.at === first.at]).toEqual([false, false]);
    // It is used up.
    expect((await tip.ask()).type).not.toBe('result');
    expect(payments(tip.world)).toHaveLength(2);
    expect(tip.errors).toEqual([]);
  });

  test.each([
    ['requestState', 'before'],
    ['memory', 'before'],
    ['memory', 'during'],
  ] as const)('%s: which the user declines %s the next call, is declined there', async (carrier, when) => {
    await using tip = await tipWorld(
      carrier,
      tipped(() => 'Tip'),
    );
    const first = await tip.leave();
    if (when === 'during') await tip.ask();
    tip.gateway.end('declined');
    const second = await tip.result();
    expect(second).toMatchObject({ action: 'decline' });
    expect(second.order).not.toBe(first.order);
    expect(payments(tip.world)).toHaveLength(1);
  });

  test.each<[string, (gate: GateContext) => string]>([
    ['an id', gate => gate.id('order')],
    ['an id within a text', gate => `Tip for ${gate.id('order')}`],
    ['milliseconds', gate => `Tip of ${gate.now()}`],
    ['a time', gate => `Tip of ${new Date(gate.now()).toISOString()}`],
  ])('is withdrawn if its terms name the call: %s', async (_name, reference) => {
    await using tip = await tipWorld('memory', tipped(reference));
    const first = await tip.leave();
    expect(payments(tip.world)[0]).toMatchObject({ status: 'cancelled' });
    const second = await tip.leave();
    expect(second.order).not.toBe(first.order);
    expect(payments(tip.world)).toHaveLength(2);
    expect(tip.errors).toEqual([]);
  });

  test('is got by the next call, which goes on as the same, if it was made before its page could be closed', async () => {
    const handler = tipped(gate => gate.id('order'));
    await using tip = await tipWorld('memory', async gate => {
      const left = await handler(gate);
      // The user pays after the handler has heard that there is no answer.
      if (left.action === 'later') tip.gateway.end('completed');
      return left;
    });
    const first = await tip.leave();
    expect(tip.errors).toMatchObject([{ code: 'payment_left', message: expect.stringContaining('el-2') }]);
    expect(await tip.result()).toEqual({ ...first, action: 'accept' });
    expect(payments(tip.world)).toHaveLength(1);
  });

  test('of which the redemption was not heard goes on as the same call', async () => {
    let isDown = false;
    const flaky: typeof fetch = (input, init) =>
      isDown && String(input instanceof Request ? input.url : input).endsWith('/redeem')
        ? Promise.reject(new TypeError('fetch failed'))
        : fetch(input, init);
    await using world = await accountWorld({ ...collected().options, fetch: flaky }, own);
    const orders: string[] = [];
    const ask = callsOf(world, 'memory', async gate => {
      orders.push(gate.id('order'));
      const paid = await gate.pay({ ...terms, reference: gate.id('order') }).catch((error: unknown) => {
        if (isElicitationPending(error)) throw error;
        return undefined;
      });
      return paid?.receipt ?? 'later';
    });
    await ask();
    world.gateway.end('completed');
    isDown = true;
    expect(await ask()).toMatchObject({ result: 'later' });
    isDown = false;
    expect(await ask()).toMatchObject({ result: 'receipt-of-el-2' });
    expect(new Set(orders).size).toBe(1);
  });

  test.each(['requestState', 'memory'] as const)(
    '%s: and that is paid is never asked for anew with other terms; one that is not is left alone, which is no mistake',
    async carrier => {
      let price = 'first';
      await using tip = await tipWorld(carrier, gate => tipped(() => price)(gate));
      await tip.leave();
      price = 'second';
      await tip.leave();
      tip.gateway.end('completed');
      price = 'third';
      await expect(tip.ask()).rejects.toMatchObject({ code: 'terms_changed' });
      expect(payments(tip.world).map(({ status }) => status)).toEqual(['pending', 'completed']);
    },
  );

  test('does not stop the next call, which asks for something else first', async () => {
    const tipOf = tipped(() => 'Tip');
    await using tip = await tipWorld('memory', async gate => {
      const book = await gate.try.pay({ ...terms, reference: `Book ${gate.id('book')}` });
      return book.action === 'accept' ? await tipOf(gate) : { order: '', at: 0, action: book.action };
    });
    await tip.ask();
    tip.gateway.end('completed');
    expect(await tip.leave()).toMatchObject({ action: 'later' });
    tip.gateway.end('completed');
    await expect(tip.ask()).resolves.not.toMatchObject({ type: 'result' });
    tip.gateway.end('completed');
    expect(await tip.result()).toMatchObject({ action: 'accept' });
    expect(payments(tip.world)).toHaveLength(3);
    expect(tip.errors).toEqual([]);
  });

  test('is got once, however many copies of the state there are', async () => {
    const handler = tipped(() => 'Tip');
    await using tip = await tipWorld('requestState', handler);
    const copies: string[] = [];
    for (const _ of [1, 2, 3]) {
      const asked = await tip.runModern(handler);
      if (asked.type !== 'input_required') throw new Error(asked.type);
      copies.push(asked.requestState);
      expect(await tip.runModern(handler, asked.requestState, false, 'decline')).toMatchObject({ type: 'result' });
    }
    expect(payments(tip.world)).toHaveLength(1);
    tip.gateway.end('completed');
    const outcomes = [];
    for (const state of copies) outcomes.push(await tip.runModern(handler, state));
    const accepted = outcomes.filter(
      ({ type, ...of }) => type === 'result' && 'result' in of && of.result.action === 'accept',
    );
    expect(accepted).toHaveLength(1);
  });

  test('goes on with its call if the handler returns the refusal', async () => {
    const orders: string[] = [];
    await using tip = await tipWorld(
      'requestState',
      tipped(() => 'Tip'),
    );
    const handler = async (gate: GateContext) => {
      const order = gate.id('order');
      orders.push(order);
      const paid = await gate.try.pay({ ...terms, reference: order });
      return paid.action === 'accept' ? paid.receipt : paid.toToolResult();
    };
    const asked = await tip.runModern(handler);
    if (asked.type !== 'input_required') throw new Error(asked.type);
    await tip.runModern(handler, asked.requestState, false, 'decline');
    tip.gateway.end('completed');
    expect(await tip.runModern(handler)).toMatchObject({ type: 'result', result: 'receipt-of-el-2' });
    expect(new Set(orders).size).toBe(1);
    expect(payments(tip.world)).toHaveLength(1);
  });
});

test('S219: another ask than a payment is known again as well after a result', async () => {
  const { errors, options } = collected();
  let isDown = false;
  const flaky: typeof fetch = (input, init) =>
    isDown ? Promise.reject(new TypeError('fetch failed')) : fetch(input, init);
  await using world = await accountWorld({ ...options, fetch: flaky }, own);
  const ask = callsOf(world, 'memory', async gate => {
    const order = gate.id('order');
    const confirmed = await gate.confirm('Send it').catch((error: unknown) => {
      if (isElicitationPending(error)) throw error;
      return undefined;
    });
    return { order, receipt: confirmed?.receipt };
  });
  await ask();
  isDown = true;
  const kept = await ask();
  isDown = false;
  world.gateway.end('completed');
  const next = await ask();
  expect(kept).toMatchObject({ type: 'result', result: { receipt: undefined } });
  expect(next).toMatchObject({ type: 'result', result: { receipt: 'receipt-of-el-2' } });
  expect(next).not.toMatchObject({ result: { order: kept.type === 'result' && kept.result.order } });
  expect(errors.map(error => 'code' in error && error.code)).not.toContain('terms_changed');
});

test('S224: a later run does not say that nothing was done after an earlier one had an answer', async () => {
  await using world = await accountWorld({ holdMs: 0 }, own);
  let isPaid = false;
  const ask = () =>
    world.run(async gate => {
      if (!isPaid) await gate.pay(terms);
      isPaid = true;
      await gate.confirm('Send it as a gift');
    });
  await ask();
  world.gateway.end('completed');
  await ask();
  world.gateway.end('declined');
  expect(JSON.stringify(await ask())).not.toMatch(/Nothing was done|unavailable/);
});

test('another kind of ask at the same place, and an ask that is left out, are no changed terms', async () => {
  const { errors, options } = collected();
  await using world = await accountWorld(options);
  let isKnown = false;
  const ask = () =>
    world.run(async gate => {
      if (!isKnown) await gate.credential({ name: 'acme', title: 'Key', fields: [{ name: 'key', label: 'Key' }] });
      isKnown = true;
      await gate.confirm('Send it');
      return 'sent';
    });
  await ask();
  isKnown = true;
  await ask();
  world.gateway.end('completed');
  expect(await ask()).toEqual({ type: 'result', result: 'sent' });
  expect(errors).toEqual([]);
});

test('S219: id() and now() are the same in every run of a call, and new in the next', async () => {
  await using world = await modernWorld({ holdMs: 0 });
  const said: string[] = [];
  for (let n = 0; n < 2; n += 1) {
    const first = await call(world, 'same_reference');
    world.gateway.end('completed');
    said.push(textOf(await call(world, 'same_reference', first)) ?? '');
  }
  const [one = [], two = []] = said.map(text => text.split(' '));
  expect(one[0]).toMatch(/^receipt-of-/);
  expect(one[1]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(one[2]).toBe('false');
  expect(two[1]).not.toBe(one[1]);
  expect(world.gateway.elicitations).toHaveLength(2);
});

test.each(['v1', 'v2'] as const)('S219: 2025-11-25, SDK %s: the call that is repeated has the same id', async sdk => {
  await using world = await legacyWorld(sdk, { holdMs: 0 });
  const host = await world.connect(sdk);
  expect((await host.call('same_reference')).error?.code).toBe(-32042);
  world.gateway.end('completed');
  expect((await host.call('same_reference')).text).toMatch(/^receipt-of-el-1 /);
  expect(world.gateway.elicitations).toHaveLength(1);
});

test.each<
  [string, (gate: GateContext, lose: (connectionId: string) => void, note: (item: string) => void) => Promise<void>]
>([
  [
    'confirm',
    async (gate, _lose, note) =>
      ['a', 'b'].forEach(async item => {
        await gate.confirm(`Delete ${item}`);
        note(item);
      }),
  ],
  [
    'accessToken',
    async (gate, lose, note) => {
      const { connectionId, accessToken } = await gate.authorize('github');
      lose(connectionId);
      ['a', 'b'].forEach(async item => {
        await accessToken();
        note(item);
      });
    },
  ],
])('S220: %s that a handler does not await ends no process, although the handler goes on', async (_name, forEach) => {
  const { options } = collected();
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => unhandled.push(reason);
  process.on('unhandledRejection', note);
  const acted: string[] = [];
  try {
    await using world = await accountWorld(options);
    const outcome = world.runModern(async gate => {
      await forEach(
        gate,
        id => world.connections.lose(id),
        item => acted.push(item),
      );
      // The handler goes on until the ask has ended its run.
      while (world.gateway.elicitations.length < 2) await setImmediate();
      for (let turn = 0; turn < 50; turn += 1) await setImmediate();
    });
    await expect(outcome).rejects.toMatchObject({ code: 'suspension_swallowed' });
    for (let turn = 0; turn < 50; turn += 1) await setImmediate();
  } finally {
    process.off('unhandledRejection', note);
  }
  expect([unhandled, acted]).toEqual([[], []]);
});

test('S220: asks that a handler does not await fail its call, never settle, and name its line', async () => {
  const { errors, options } = collected();
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => unhandled.push(reason);
  process.on('unhandledRejection', note);
  effects.length = 0;
  try {
    await using world = await modernWorld(options);
    expect((await call(world, 'for_each')).result).toMatchObject({ isError: true });
    expect((await call(world, 'for_each')).result).toMatchObject({ isError: true });
    await setImmediate();
  } finally {
    process.off('unhandledRejection', note);
  }
  expect(unhandled).toEqual([]);
  expect(effects).toEqual([]);
  // One line of one tool, which is reported once per minute.
  expect(errors).toMatchObject([
    { code: 'ask_not_awaited', message: expect.stringMatching(/^outcome has returned .*scripts\.ts:\d+/) },
  ]);
});
