import { type ElicitationId, type ElicitationService, type Payment, shardIn } from '@postern/elicitation';
import { describe, expect, test, vi } from 'vitest';
import { createElicitationStage, type ElicitationStage } from '../testing/elicitation-stage.ts';
import { Expiry } from './expiry.ts';

const MINUTE = 60_000;
const TTL_MS = 10 * MINUTE;

function createBench(stage: ElicitationStage = createElicitationStage()) {
  const onError = vi.fn();
  const postponed = vi.spyOn(stage.stores.elicitations, 'postpone');
  const expiry = new Expiry({ ...stage, onError });
  return {
    stage,
    onError,
    postponed,
    expiry,
    async expire(elicitationId: ElicitationId): Promise<void> {
      await expiry.expire(elicitationId);
      await expiry.idle();
    },
    async checkCharge(elicitationId: ElicitationId): Promise<void> {
      await expiry.checkCharge(elicitationId);
      await expiry.idle();
    },
    due: async ({ elicitationId }: { readonly elicitationId: ElicitationId }) =>
      (await stage.stores.payments.dueChecks(shardIn(elicitationId), 10)).map(due => due.elicitationId),
    async charging(reference?: string) {
      const asked = await stage.pay(reference === undefined ? {} : { reference });
      const browserSession = await stage.browserSession();
      const person = { visitor: stage.visitor, browserSession, shown: asked.request.digest };
      await stage.approvals.approve(asked, person);
      return stage.again(asked, 'payment');
    },
  };
}

describe('expiry', () => {
  test('expires an elicitation at expiresAt, not before', async () => {
    const { stage, expire } = createBench();
    const asked = await stage.confirm();
    await expire(asked.elicitationId);
    expect(await stage.again(asked, 'confirmation')).toEqual(asked);
    stage.clock.advance(TTL_MS);
    await expire(asked.elicitationId);
    expect(await stage.again(asked, 'confirmation')).toMatchObject({ status: 'expired' });
    expect(stage.scripted.asked).toEqual([]);
  });

  test('ends an approved payment with the status at the processor', async () => {
    const { stage, expire, charging } = createBench();
    const [unpaid, paid] = [await charging('unpaid'), await charging('paid')];
    await stage.paymentFlow.open(paid);
    stage.scripted.pay(stage.scripted.references()[0] ?? '');
    stage.clock.advance(TTL_MS);
    await expire(unpaid.elicitationId);
    await expire(paid.elicitationId);
    expect(await stage.again(unpaid, 'payment')).toMatchObject({ status: 'expired' });
    expect(await stage.again(paid, 'payment')).toMatchObject({ status: 'completed' });
  });

  test('asks the processor again with growing pauses while the result of a payment is unknown', async () => {
    const { stage, expire, charging, postponed } = createBench();
    const asked = await charging();
    await stage.paymentFlow.open(asked);
    const [reference = ''] = stage.scripted.references();
    stage.scripted.becomes(reference, 'processing');
    const delays: (number | undefined)[] = [];
    stage.clock.advance(TTL_MS);
    for (const later of [0, MINUTE, 60 * MINUTE, 24 * 60 * MINUTE]) {
      stage.clock.advance(later);
      await expire(asked.elicitationId);
      delays.push(postponed.mock.lastCall?.[1]);
    }
    expect(delays).toEqual([30_000, 30_000, expect.any(Number), 60 * MINUTE]);
    expect(delays[2]).toBeGreaterThan(15 * MINUTE);
    expect(await stage.again(asked, 'payment')).toMatchObject({ status: 'active' });
    stage.scripted.pay(reference);
    await expire(asked.elicitationId);
    expect(await stage.again(asked, 'payment')).toMatchObject({ status: 'completed' });
  });
});

describe('S86: a charge before its expiry, with the window closed and no webhook', () => {
  test('a charge before its expiry, with the window closed and no webhook, is checked from 30 seconds after it was opened, with growing pauses', async () => {
    const { stage, checkCharge, due, charging } = createBench();
    const asked = await charging();
    await stage.paymentFlow.open(asked);
    expect(await due(asked)).toEqual([]);
    const gaps: number[] = [];
    const end = stage.clock.now() + TTL_MS;
    for (let last = stage.clock.now(); gaps.length < 8 && stage.clock.now() < end; stage.clock.advance(1_000)) {
      if ((await due(asked)).length === 0) continue;
      gaps.push(Math.round((stage.clock.now() - last) / 1_000));
      last = stage.clock.now();
      await checkCharge(asked.elicitationId);
    }
    expect(gaps).toEqual([30, 30, 30, 30, 30, 38, 47, 59]);
    expect(stage.scripted.asked.filter(({ verb }) => verb === 'status')).toHaveLength(8);
    stage.scripted.pay(stage.scripted.references()[0] ?? '');
    await checkCharge(asked.elicitationId);
    expect(await stage.again(asked, 'payment')).toMatchObject({ status: 'completed' });
    await checkCharge(asked.elicitationId);
    stage.clock.advance(TTL_MS);
    expect(await due(asked)).toEqual([]);
  });

  test('a charge before its expiry, with the window closed and no webhook, is closed instead of checked after its expiry', async () => {
    const { stage, checkCharge, due, charging } = createBench();
    const asked = await charging();
    await stage.paymentFlow.open(asked);
    stage.clock.advance(TTL_MS);
    expect(await due(asked)).toEqual([asked.elicitationId]);
    await checkCharge(asked.elicitationId);
    expect(await due(asked)).toEqual([]);
    expect(stage.scripted.asked.map(({ verb }) => verb)).toEqual(['open']);
  });

  test('a charge before its expiry, with the window closed and no webhook, is scheduled for a check before the request to the processor', async () => {
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

describe('a hanging processor', () => {
  test('delays no other expiry, and gets a bounded number of requests', async () => {
    const limits = { openElicitationsPerSubject: 50 };
    const { stage, expiry, charging, postponed } = createBench(createElicitationStage({ mcpServer: { limits } }));
    const approved = await Promise.all(Array.from({ length: 25 }, (_, n) => charging(`order-${n}`)));
    const other = await stage.confirm();
    let release = () => {};
    const hanging = new Promise<void>(resolve => {
      release = resolve;
    });
    stage.scripted.interrupt(() => hanging);
    stage.clock.advance(TTL_MS);
    for (const { elicitationId } of [...approved, other]) await expiry.expire(elicitationId);
    expect(await stage.again(other, 'confirmation')).toMatchObject({ status: 'expired' });
    expect(stage.scripted.asked).toHaveLength(16);
    // All are rescheduled, including those without a request.
    expect(postponed).toHaveBeenCalledTimes(25);
    release();
    await expiry.idle();
    for (const { elicitationId } of approved) await expiry.expire(elicitationId);
    await expiry.idle();
    for (const each of approved.slice(0, 16))
      expect(await stage.again(each, 'payment')).toMatchObject({ status: 'expired' });
  });

  test('a hanging processor delays no payment of another one', async () => {
    const limits = { openElicitationsPerSubject: 50 };
    const { stage, charging } = createBench(createElicitationStage({ mcpServer: { limits } }));
    const approved = await Promise.all(Array.from({ length: 17 }, (_, n) => charging(`order-${n}`)));
    const elsewhere = approved.at(-1)?.elicitationId;
    const { promise: hanging, resolve: release } = Promise.withResolvers<void>();
    const closed: ElicitationId[] = [];
    const service: Pick<ElicitationService, 'find' | 'expire'> = {
      ...stage.service,
      async find(elicitationId) {
        const found = await stage.service.find(elicitationId);
        if (elicitationId !== elsewhere || found?.request.kind !== 'payment') return found;
        return { ...found, request: { ...found.request, processor: 'second' } };
      },
    };
    vi.spyOn(stage.paymentFlow, 'close').mockImplementation(async elicitation => {
      if (elicitation.elicitationId === elsewhere) closed.push(elicitation.elicitationId);
      else await hanging;
      return { state: 'settled', elicitation };
    });
    const expiry = new Expiry({
      ...stage,
      onError: error => expect.fail(String(error)),
      service,
    });
    stage.clock.advance(TTL_MS);
    for (const { elicitationId } of approved) await expiry.expire(elicitationId);
    expect(closed).toEqual([elsewhere]);
    release();
    await expiry.idle();
  });

  test('S182: a hanging processor, or MCP servers with many refunds, delay no refund of another one', async () => {
    const { stage } = createBench();
    const { promise: hanging, resolve: release } = Promise.withResolvers<void>();
    const asked: string[] = [];
    const begun: unknown[] = [];
    // The payment that the id names: `<processor> <MCP server>`.
    vi.spyOn(stage.refunds, 'check').mockImplementation(async (named, begin) => {
      const [processor = '', mcpServerId = ''] = named.split(' ');
      const requests = async () => {
        asked.push(named);
        await hanging;
      };
      begun.push(await begin?.({ processor, mcpServerId } as Payment, requests));
    });
    const expiry = new Expiry({ ...stage, onError: error => expect.fail(String(error)) });
    const check = async (named: string, count: number) => {
      for (let n = 0; n < count; n += 1) await expiry.checkRefunds(named as ElicitationId);
      return asked.filter(each => each === named).length;
    };
    expect(await check('slow many', 40)).toBe(8);
    expect(begun).toEqual([...Array(8).fill(true), ...Array(32).fill(false)]);
    expect(await check('slow other', 40)).toBe(4);
    expect(await check('slow third', 1)).toBe(1);
    expect(await check('second many', 1)).toBe(1);
    for (const named of ['slow third', 'slow fourth', 'slow fifth', 'slow sixth']) await check(named, 40);
    expect(asked.filter(named => named.startsWith('slow '))).toHaveLength(16);
    release();
    await expiry.idle();
    expect(await check('slow many', 8)).toBe(16);
    await expiry.idle();
  });

  test('a hanging processor does not leave a rejection unhandled if the store is unavailable when it responds', async () => {
    const { stage, expire, charging, onError } = createBench();
    const asked = await charging();
    stage.clock.advance(TTL_MS);
    stage.losesNext(stage.stores.elicitations, 'transition');
    await expire(asked.elicitationId);
    expect(onError).toHaveBeenCalledWith(expect.objectContaining({ code: 'store_unavailable' }));
    await expire(asked.elicitationId);
    expect(await stage.again(asked, 'payment')).toMatchObject({ status: 'expired' });
    expect(stage.scripted.references()).toHaveLength(1);
  });
});
