import { describe, expect, test } from 'vitest';
import { legacyWorld } from '../testing/legacy-world.ts';
import { callOutcome as call, modernWorld, type RawAnswer, textOf } from '../testing/modern-world.ts';
import { beside } from '../testing/scripts.ts';

type World = Awaited<ReturnType<typeof modernWorld>>;

const urlOf = (answer: RawAnswer) => answer.result.inputRequests?.['gate']?.params.url;
const keysOf = (world: Pick<World, 'gateway'>, elicitationId: string) =>
  new Set(world.gateway.results.redemptions.filter(one => one.elicitationId === elicitationId).map(({ key }) => key));

describe('2026-07-28', () => {
  test('two concurrent retries of one state get one result, under one key', async () => {
    await using world = await modernWorld({ holdMs: 0 });
    const first = await call(world, 'pay_once');
    world.gateway.end('completed');
    const retries = await Promise.all([1, 2, 3].map(() => call(world, 'pay_once', first)));
    const said = new Set(retries.map(textOf));
    expect(said.size).toBe(1);
    expect([...said][0]).toMatch(/^receipt-of-el-1 [\w-]{43}$/);
    expect([...said][0]).not.toMatch(/ .*el-1/);
    expect(keysOf(world, 'el-1').size).toBe(1);
    expect(world.gateway.elicitations).toHaveLength(1);
  });

  test('an answer of single use is for one of several retries of one state, and the others ask again', async () => {
    await using world = await modernWorld({ holdMs: 0 });
    const first = await call(world, 'confirm_for_one_run');
    world.gateway.end('completed');
    const retries = await Promise.all([1, 2, 3].map(() => call(world, 'confirm_for_one_run', first)));
    expect(retries.filter(answer => textOf(answer)?.includes('receipt-of-el-1'))).toHaveLength(1);
    expect(retries.filter(answer => answer.result.resultType === 'input_required')).toHaveLength(2);
    // Nor does it answer a later run.
    const later = await call(world, 'confirm_for_one_run', first);
    expect(later.result.resultType).toBe('input_required');
  });

  test('the same tool called again on purpose needs another approval', async () => {
    await using world = await modernWorld({ holdMs: 0 });
    const first = await call(world, 'pay');
    world.gateway.end('completed');
    expect(textOf(await call(world, 'pay', first))).toContain('receipt-of-el-1');
    const second = await call(world, 'pay');
    expect(urlOf(second)).toBe(world.gateway.elicitations[1]?.url);
    world.gateway.end('completed', 'el-2');
    expect(textOf(await call(world, 'pay', second))).toContain('receipt-of-el-2');
  });

  test('one approval serves one of two concurrent equal calls, and the other asks again', async () => {
    await using world = await modernWorld({ holdMs: 0 });
    const [one, other] = await Promise.all([call(world, 'pay'), call(world, 'pay')]);
    expect(urlOf(other)).toBe(urlOf(one));
    world.gateway.end('completed');
    const retries = await Promise.all([call(world, 'pay', one), call(world, 'pay', other)]);
    expect(retries.filter(answer => textOf(answer)?.includes('receipt-of-el-1'))).toHaveLength(1);
    const asked = retries.find(answer => answer.result.resultType === 'input_required');
    expect(asked && urlOf(asked)).toBe(world.gateway.elicitations[1]?.url);
    world.gateway.end('completed', 'el-2');
    expect(asked && textOf(await call(world, 'pay', asked))).toContain('receipt-of-el-2');
  });

  test('the next equal call redeems an unredeemed approval, once', async () => {
    await using world = await modernWorld({ holdMs: 0 });
    await call(world, 'pay');
    world.gateway.end('completed');
    const [one, other] = await Promise.all([call(world, 'pay'), call(world, 'pay')]);
    expect([one, other].filter(answer => textOf(answer)?.includes('receipt-of-el-1'))).toHaveLength(1);
    expect([one, other].filter(answer => answer.result.resultType === 'input_required')).toHaveLength(1);
  });

  test('an answered ask stays answered, and the handler gets the same result in every run', async () => {
    await using world = await modernWorld({ holdMs: 0 });
    const first = await call(world, 'pay_then_confirm');
    world.gateway.end('completed');
    const second = await call(world, 'pay_then_confirm', first);
    expect(urlOf(second)).toBe(world.gateway.elicitations[1]?.url);
    const waiting = await call(world, 'pay_then_confirm', second);
    expect(waiting.result.inputRequests).toBeUndefined();
    world.gateway.end('completed', 'el-2');
    expect(textOf(await call(world, 'pay_then_confirm', waiting))).toBe('receipt-of-el-1 receipt-of-el-2');
    expect(textOf(await call(world, 'pay_then_confirm', second))).toBe('receipt-of-el-1 receipt-of-el-2');
    expect(world.gateway.elicitations).toHaveLength(2);
    expect(keysOf(world, 'el-1').size).toBe(1);
  });

  test('a refusal stays a refusal while a later ask is open', async () => {
    await using world = await modernWorld({ holdMs: 0 });
    const first = await call(world, 'pay_then_confirm');
    const second = await call(world, 'pay_then_confirm', first, { gate: { action: 'decline' } });
    expect(urlOf(second)).toBe(world.gateway.elicitations[1]?.url);
    world.gateway.end('declined', 'el-2');
    expect(textOf(await call(world, 'pay_then_confirm', second))).toBe('decline: client_declined decline: declined');
  });

  test('two equal asks of one handler are two elicitations', async () => {
    await using world = await modernWorld({ holdMs: 0 });
    const first = await call(world, 'confirm_twice');
    world.gateway.end('completed');
    const second = await call(world, 'confirm_twice', first);
    expect(urlOf(second)).toBe(world.gateway.elicitations[1]?.url);
    world.gateway.end('completed', 'el-2');
    expect(textOf(await call(world, 'confirm_twice', second))).toBe('receipt-of-el-1 receipt-of-el-2');
  });

  test('concurrent asks of a handler run one after another', async () => {
    await using world = await modernWorld({ holdMs: 0 });
    const first = await call(world, 'at_once');
    expect(world.gateway.elicitations).toHaveLength(1);
    world.gateway.end('completed');
    const second = await call(world, 'at_once', first);
    world.gateway.end('completed', 'el-2');
    expect(textOf(await call(world, 'at_once', second))).toBe('receipt-of-el-1 receipt-of-el-2');
  });

  test('an ask that the handler does not await causes no unhandled rejection', async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => unhandled.push(reason);
    process.on('unhandledRejection', note);
    try {
      await using world = await modernWorld({ holdMs: 0 });
      const first = await call(world, 'started_at_once');
      expect(urlOf(first)).toBe(world.gateway.elicitations[0]?.url);
      world.gateway.end('completed');
      const second = await call(world, 'started_at_once', first);
      const third = await call(world, 'started_at_once', second, { gate: { action: 'decline' } });
      world.gateway.end('completed', 'el-2');
      expect(textOf(await call(world, 'started_at_once', third))).toBe('receipt-of-el-1 decline receipt-of-el-2');
      await new Promise(resolve => setImmediate(resolve));
    } finally {
      process.off('unhandledRejection', note);
    }
    expect(unhandled).toEqual([]);
  });

  test('a repeated call gets the result that was redeemed while the handler went on', async () => {
    await using world = await modernWorld({ holdMs: 0 });
    const first = await call(world, 'pay_beside');
    world.gateway.end('completed');
    const work = Promise.withResolvers<void>();
    beside.work = work.promise;
    world.gateway.results.tamper = answer => {
      work.reject(new Error('out of stock'));
      return answer;
    };
    expect(textOf(await call(world, 'pay_beside', first))).toContain('went on without');
    beside.work = Promise.resolve();
    expect(textOf(await call(world, 'pay_beside'))).toBe('receipt-of-el-1');
    expect(keysOf(world, 'el-1').size).toBe(1);
  });

  test('a lost redemption is repeated under the same key', async () => {
    await using world = await modernWorld({ holdMs: 0 });
    const first = await call(world, 'pay');
    world.gateway.end('completed');
    world.gateway.results.loses = 2;
    expect(textOf(await call(world, 'pay', first))).toContain('receipt-of-el-1');
    expect(world.gateway.results.redemptions).toHaveLength(3);
    expect(keysOf(world, 'el-1').size).toBe(1);
  });

  test('a retry finds a redemption whose responses were all lost', async () => {
    await using world = await modernWorld({ holdMs: 0 });
    const first = await call(world, 'pay');
    world.gateway.end('completed');
    world.gateway.results.loses = 3;
    expect(textOf(await call(world, 'pay', first))).toBe('error: network_error');
    expect(textOf(await call(world, 'pay', first))).toContain('receipt-of-el-1');
  });

  test('a new call finds the lost redemption without asking again, and only one call gets it', async () => {
    await using world = await modernWorld({ holdMs: 0 });
    const first = await call(world, 'pay');
    world.gateway.end('completed');
    world.gateway.results.loses = 3;
    expect(textOf(await call(world, 'pay', first))).toBe('error: network_error');
    expect(textOf(await call(world, 'pay'))).toContain('receipt-of-el-1');
    expect(keysOf(world, 'el-1').size).toBe(1);
    expect(urlOf(await call(world, 'pay'))).toBe(world.gateway.elicitations[1]?.url);
  });

  test('a lost redemption that the retry found is not available to another call', async () => {
    await using world = await modernWorld({ holdMs: 0 });
    const first = await call(world, 'pay');
    world.gateway.end('completed');
    world.gateway.results.loses = 3;
    expect(textOf(await call(world, 'pay', first))).toBe('error: network_error');
    expect(textOf(await call(world, 'pay', first))).toContain('receipt-of-el-1');
    expect(urlOf(await call(world, 'pay'))).toBe(world.gateway.elicitations[1]?.url);
  });

  test('does not ask again if this call already got a result that the gateway has deleted', async () => {
    await using world = await modernWorld({ holdMs: 0 });
    const first = await call(world, 'pay_then_confirm');
    world.gateway.end('completed');
    const second = await call(world, 'pay_then_confirm', first);
    world.gateway.end('completed', 'el-2');
    world.gateway.forget('el-1');
    expect(textOf(await call(world, 'pay_then_confirm', second))).toBe('error: not_found');
    expect(world.gateway.elicitations).toHaveLength(1);
  });

  test('a handler stops waiting at its answerWithinMs', async () => {
    await using world = await modernWorld();
    const first = await call(world, 'in_time');
    expect(first.result.resultType).toBe('input_required');
    expect(textOf(await call(world, 'in_time', first))).toBe('error: elicitation_timeout');
    world.gateway.end('completed');
    expect(textOf(await call(world, 'in_time', first))).toBe('receipt-of-el-1');
  });

  test('a late answer of a form counts, and a retry without an answer does not', async () => {
    await using world = await modernWorld();
    const first = await call(world, 'form_in_time');
    expect(textOf(await call(world, 'form_in_time', first, {}))).toBe('error: elicitation_timeout');
    const late = { gate: { action: 'accept', content: { branch: 'main' } } };
    expect(textOf(await call(world, 'form_in_time', first, late))).toBe('accept');
  });

  test('a handler can catch a missing capability; otherwise the era answers', async () => {
    await using world = await modernWorld({ missingCapability: 'error' });
    const without = { name: 'outcome', elicitation: null };
    expect(textOf(await world.call({ ...without, args: { title: 'goes_on' } }))).toBe('went on without');
    const answer = await world.call({ ...without, args: { title: 'confirm' } });
    expect(answer.error?.code).toBe(-32021);
  });
});

describe.each(['v2', 'v1'] as const)('2025-11-25, SDK %s', sdk => {
  const told = (world: Awaited<ReturnType<typeof legacyWorld>>, count: number) =>
    expect(world.gateway.elicitations).toHaveLength(count);

  test.each([
    ['−32042', { elicitation: { url: {} } }],
    ['the plain result', {}],
  ])('several asks with %s: each is asked once, and answered ones stay answered', async (_way, capabilities) => {
    await using world = await legacyWorld(sdk);
    const host = await world.connect(sdk, { capabilities });
    await host.call('pay_then_confirm');
    world.gateway.end('completed');
    await host.call('pay_then_confirm');
    told(world, 2);
    await host.call('pay_then_confirm');
    told(world, 2);
    world.gateway.end('completed', 'el-2');
    expect((await host.call('pay_then_confirm')).text).toBe('receipt-of-el-1 receipt-of-el-2');
    expect(keysOf(world, 'el-1').size).toBe(1);
    // This is another call.
    await host.call('pay_then_confirm');
    told(world, 3);
  });

  test('one call pushes several asks', async () => {
    await using world = await legacyWorld(sdk);
    const host = await world.connect(sdk, {
      elicit({ elicitationId }) {
        world.gateway.end('completed', elicitationId);
        return { action: 'accept' };
      },
    });
    expect((await host.call('at_once')).text).toBe('receipt-of-el-1 receipt-of-el-2');
    expect((await host.call('confirm_twice')).text).toBe('receipt-of-el-3 receipt-of-el-4');
  });

  test('one approval serves one of two concurrent equal calls', async () => {
    await using world = await legacyWorld(sdk);
    const host = await world.connect(sdk);
    await Promise.all([host.call('pay_once'), host.call('pay_once')]);
    told(world, 1);
    world.gateway.end('completed');
    const answers = await Promise.all([host.call('pay_once'), host.call('pay_once')]);
    expect(answers.filter(({ text }) => text?.startsWith('receipt-of-el-1'))).toHaveLength(1);
    expect(answers.filter(({ error }) => error?.code === -32042)).toHaveLength(1);
    told(world, 2);
  });

  test('a repeated call gets a result whose response was lost', async () => {
    await using world = await legacyWorld(sdk);
    const host = await world.connect(sdk, { capabilities: {} });
    await host.call('pay_once');
    world.gateway.end('completed');
    world.gateway.results.loses = 3;
    expect((await host.call('pay_once')).text).toBe('error: network_error');
    expect((await host.call('pay_once')).text).toMatch(/^receipt-of-el-1/);
    told(world, 1);
    expect(keysOf(world, 'el-1').size).toBe(1);
  });

  test('a result of the handler uses up its answers', async () => {
    await using world = await legacyWorld(sdk);
    const host = await world.connect(sdk, { capabilities: {} });
    await host.call('pay_then_unknown');
    world.gateway.end('completed');
    expect((await host.call('pay_then_unknown')).text).toBe('error: unknown_provider');
    await host.call('pay_then_unknown');
    told(world, 2);
  });

  test('a handler stops waiting for a push at its answerWithinMs', async () => {
    await using world = await legacyWorld(sdk);
    const never = Promise.withResolvers<{ action: 'accept' }>();
    const host = await world.connect(sdk, { elicit: () => never.promise, fill: () => never.promise });
    expect((await host.call('in_time')).text).toBe('error: elicitation_timeout');
    expect((await host.call('form_in_time')).text).toBe('error: elicitation_timeout');
  });
});
