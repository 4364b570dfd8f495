import { type ElicitationId, shardIn } from '@postern/elicitation';
import { describe, expect, test, vi } from 'vitest';
import { type AsksStage, createAsksStage } from '../testing/asks-stage.ts';
import { createEndingByTime } from './ending-by-time.ts';

const MINUTE = 60_000;
const TTL_MS = 10 * MINUTE;

function createBench(stage: AsksStage = createAsksStage()) {
  const onError = vi.fn();
  const postponed = vi.spyOn(stage.stores.elicitations, 'postpone');
  const ending = createEndingByTime({ ...stage, stores: stage.stores, onError });
  return {
    ...{ stage, onError, postponed, ending },
    async end(elicitationId: ElicitationId): Promise<void> {
      await ending.end(elicitationId);
      await ending.idle();
    },
    async check(elicitationId: ElicitationId): Promise<void> {
      await ending.check(elicitationId);
      await ending.idle();
    },
    due: ({ elicitationId }: { readonly elicitationId: ElicitationId }) =>
      stage.stores.payments.dueChecks(shardIn(elicitationId), 10),
    async charging(reference?: string) {
      const asked = await stage.pay(reference === undefined ? {} : { reference });
      const browserSession = await stage.browserSession();
      const person = { visitor: stage.visitor, browserSession, shown: asked.request.digest };
      await stage.approvalFlow(asked, person);
      return stage.again(asked, 'payment');
    },
  };
}

describe('whose time is over', () => {
  test('ends, and not before', async () => {
    const { stage, end } = createBench();
    const asked = await stage.confirm();
    await end(asked.elicitationId);
    expect(await stage.again(asked, 'confirmation')).toEqual(asked);
    stage.clock.advance(TTL_MS);
    await end(asked.elicitationId);
    expect(await stage.again(asked, 'confirmation')).toMatchObject({ status: 'expired' });
    expect(stage.scripted.asked).toEqual([]);
  });

  test('and was approved: ends as the processor says', async () => {
    const { stage, end, charging } = createBench();
    const [unpaid, paid] = [await charging('unpaid'), await charging('paid')];
    await stage.paymentFlow.open(paid);
    stage.scripted.pay(stage.scripted.references()[0] ?? '');
    stage.clock.advance(TTL_MS);
    await end(unpaid.elicitationId);
    await end(paid.elicitationId);
    expect(await stage.again(unpaid, 'payment')).toMatchObject({ status: 'expired' });
    expect(await stage.again(paid, 'payment')).toMatchObject({ status: 'completed' });
  });

  test('and nobody knows whether it was paid: is asked about again, more and more seldom', async () => {
    const { stage, end, charging, postponed } = createBench();
    const asked = await charging();
    await stage.paymentFlow.open(asked);
    const [reference = ''] = stage.scripted.references();
    stage.scripted.becomes(reference, 'processing');
    const delays: (number | undefined)[] = [];
    stage.clock.advance(TTL_MS);
    for (const later of [0, MINUTE, 60 * MINUTE, 24 * 60 * MINUTE]) {
      stage.clock.advance(later);
      await end(asked.elicitationId);
      delays.push(postponed.mock.lastCall?.[1]);
    }
    expect(delays).toEqual([30_000, 30_000, expect.any(Number), 60 * MINUTE]);
    expect(delays[2]).toBeGreaterThan(15 * MINUTE);
    expect(await stage.again(asked, 'payment')).toMatchObject({ status: 'active' });
    stage.scripted.pay(reference);
    await end(asked.elicitationId);
    expect(await stage.again(asked, 'payment')).toMatchObject({ status: 'completed' });
  });
});

describe('S86: a charge in time, whose person has closed the window and of which no webhook comes', () => {
  test('is asked about from half a minute after it was opened, more and more seldom', async () => {
    const { stage, check, due, charging } = createBench();
    const asked = await charging();
    await stage.paymentFlow.open(asked);
    expect(await due(asked)).toEqual([]);
    const gaps: number[] = [];
    const end = stage.clock.now() + TTL_MS;
    for (let last = stage.clock.now(); gaps.length < 8 && stage.clock.now() < end; stage.clock.advance(1_000)) {
      if ((await due(asked)).length === 0) continue;
      gaps.push(Math.round((stage.clock.now() - last) / 1_000));
      last = stage.clock.now();
      await check(asked.elicitationId);
    }
    expect(gaps).toEqual([30, 30, 30, 30, 30, 38, 47, 59]);
    expect(stage.scripted.asked.filter(({ verb }) => verb === 'status')).toHaveLength(8);
    stage.scripted.pay(stage.scripted.references()[0] ?? '');
    await check(asked.elicitationId);
    expect(await stage.again(asked, 'payment')).toMatchObject({ status: 'completed' });
    await check(asked.elicitationId);
    stage.clock.advance(TTL_MS);
    expect(await due(asked)).toEqual([]);
  });

  test('is asked about no more once it is over: it is closed instead', async () => {
    const { stage, check, due, charging } = createBench();
    const asked = await charging();
    await stage.paymentFlow.open(asked);
    stage.clock.advance(TTL_MS);
    expect(await due(asked)).toEqual([asked.elicitationId]);
    await check(asked.elicitationId);
    expect(await due(asked)).toEqual([]);
    expect(stage.scripted.asked.map(({ verb }) => verb)).toEqual(['open']);
  });

  test('is written down to be asked about before the processor hears of it', async () => {
    const { stage, due, charging } = createBench();
    const asked = await charging();
    stage.losesNext(stage.stores.payments, 'checkLater');
    await expect(stage.paymentFlow.open(asked)).rejects.toMatchObject({ code: 'store_unavailable' });
    expect(stage.scripted.asked).toEqual([]);
    stage.scripted.failsNext('open');
    await stage.paymentFlow.open(asked);
    stage.clock.advance(MINUTE);
    expect(await due(asked)).toEqual([asked.elicitationId]);
  });
});

describe('a processor that hangs', () => {
  test('keeps nobody else from ending, and is not asked without bound', async () => {
    const { stage, ending, charging, postponed } = createBench();
    const approved = await Promise.all(Array.from({ length: 25 }, (_, n) => charging(`order-${n}`)));
    const other = await stage.confirm();
    let release = () => {};
    const hanging = new Promise<void>(resolve => {
      release = resolve;
    });
    stage.scripted.interrupt(() => hanging);
    stage.clock.advance(TTL_MS);
    for (const { elicitationId } of [...approved, other]) await ending.end(elicitationId);
    expect(await stage.again(other, 'confirmation')).toMatchObject({ status: 'expired' });
    expect(stage.scripted.asked).toHaveLength(16);
    // All of them get their turn again, asked or not.
    expect(postponed).toHaveBeenCalledTimes(25);
    release();
    await ending.idle();
    for (const { elicitationId } of approved) await ending.end(elicitationId);
    await ending.idle();
    for (const each of approved.slice(0, 16))
      expect(await stage.again(each, 'payment')).toMatchObject({ status: 'expired' });
  });

  test('or whose answer meets a store that is away is reported, and no rejection is left unhandled', async () => {
    const { stage, end, charging, onError } = createBench();
    const asked = await charging();
    stage.clock.advance(TTL_MS);
    stage.losesNext(stage.stores.elicitations, 'transition');
    await end(asked.elicitationId);
    expect(onError).toHaveBeenCalledWith(expect.objectContaining({ code: 'store_unavailable' }));
    await end(asked.elicitationId);
    expect(await stage.again(asked, 'payment')).toMatchObject({ status: 'expired' });
    expect(stage.scripted.references()).toHaveLength(1);
  });
});
