/** A call is run again and again: what its runs must have in common, and what a handler must await. */
import { expect, test } from 'vitest';
import type { GateContext } from '../gate-context.ts';
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
  await using world = await accountWorld(collected().options);
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
  isOpen = true;
  expect(await ask()).toEqual({ type: 'result', result: 'receipt-of-el-2' });
  expect(world.gateway.elicitations).toHaveLength(2);
});

test('S224: a later run does not say that nothing was done after an earlier one had an answer', async () => {
  await using world = await accountWorld({ holdMs: 0 });
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
    await new Promise(resolve => setImmediate(resolve));
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
