import { AlreadyEndedError } from '@postern/elicitation';
import { describe, expect, test } from 'vitest';
import { createAsksStage } from '../testing/asks-stage.ts';

/** A payment that a person has approved, and the processor that is to take it. */
async function createBench() {
  const stage = createAsksStage();
  const { paymentFlow, scripted } = stage;
  const bench = {
    ...{ stage, flow: paymentFlow, scripted },
    async approve(reference = 'order-1001') {
      const asked = await stage.pay({ reference });
      const browserSession = await stage.browserSession();
      await stage.approvalFlow(asked, { visitor: stage.visitor, browserSession, shown: asked.request.digest });
      return stage.again(asked, 'payment');
    },
    status: async () => (await stage.again(approved, 'payment')).status,
    refunds: () => stage.eventsNamed('payment.refund_needed'),
    /** The reference of the charge, which exists. */
    async opened(): Promise<string> {
      await paymentFlow.open(await stage.again(approved, 'payment'));
      return scripted.references().at(-1) ?? '';
    },
    current: () => stage.again(approved, 'payment'),
  };
  const approved = await bench.approve();
  return { ...bench, approved };
}

const hear = (
  { flow, scripted }: Awaited<ReturnType<typeof createBench>>,
  reference: string,
  elicitationId: string,
) => {
  scripted.calls({ reference, elicitationId });
  return flow.hear(scripted.processor, { body: new Uint8Array(), headers: {} });
};

describe('one approval is one charge', () => {
  test('however many go on with it at once', async () => {
    const { flow, scripted, approved } = await createBench();
    const results = await Promise.all(Array.from({ length: 50 }, () => flow.open(approved)));
    expect(new Set(results.map(({ state }) => state))).toEqual(new Set(['open']));
    expect(scripted.references()).toHaveLength(1);
    expect(new Set(scripted.asked.map(({ of }) => of)).size).toBe(1);
  });

  test.each(['failsNext', 'losesNext'] as const)(
    'when the processor does not answer (%s), asked again under the same name',
    async fault => {
      const { flow, scripted, approved, current } = await createBench();
      scripted[fault]('open');
      expect(await flow.open(approved)).toEqual({ state: 'unavailable' });
      expect(await current()).toMatchObject({ status: 'active' });
      expect(await flow.open(approved)).toMatchObject({ state: 'open' });
      expect(scripted.references()).toHaveLength(1);
      expect((await current()) as object).toHaveProperty('charge.reference', 'cs_1');
    },
  );

  test('when its name could not be written down', async () => {
    const { stage, flow, scripted, approved } = await createBench();
    stage.losesNext(stage.stores.elicitations, 'transition');
    await expect(flow.open(approved)).rejects.toThrow(expect.objectContaining({ code: 'store_unavailable' }));
    expect(await flow.open(approved)).toMatchObject({ state: 'open', charge: { reference: 'cs_1' } });
    expect(scripted.references()).toHaveLength(1);
  });

  test('a second approval, after the first was not paid, is another one', async () => {
    const bench = await createBench();
    const first = await bench.opened();
    bench.scripted.becomes(first, 'closed');
    await bench.flow.check(await bench.current());
    expect(await bench.current()).toMatchObject({ status: 'pending', trouble: 'payment_not_finished' });
    await bench.approve();
    const second = await bench.opened();
    expect(second).not.toBe(first);
    bench.scripted.pay(second);
    await bench.flow.check(await bench.current());
    expect(await bench.current()).toMatchObject({ outcome: { processorReference: `pi_${second}` } });
    expect(bench.refunds()).toEqual([]);
  });
});

describe('what the processor says', () => {
  test.each([
    ['open', 'open', 'active'],
    ['processing', 'processing', 'active'],
    ['closed', 'settled', 'pending'],
  ] as const)('%s', async (says, state, status) => {
    const bench = await createBench();
    bench.scripted.becomes(await bench.opened(), says);
    expect(await bench.flow.check(await bench.current())).toMatchObject({ state });
    expect(await bench.status()).toBe(status);
  });

  test('S69: paid, once and in the mode of the processor, however often it is asked', async () => {
    const bench = await createBench();
    bench.scripted.pay(await bench.opened());
    const charging = await bench.current();
    await Promise.all(Array.from({ length: 20 }, () => bench.flow.check(charging)));
    expect(await bench.current()).toMatchObject({
      ...{ status: 'completed', outcome: { processorReference: 'pi_cs_1', mode: 'test' } },
    });
    expect(bench.stage.eventsNamed('elicitation.completed')).toHaveLength(1);
    expect(bench.refunds()).toEqual([]);
  });

  test.each([{ minorUnits: 2489 }, { minorUnits: 24_900 }, { currency: 'USD' }])(
    'something else was paid (%j): it counts for nothing, and somebody is told',
    async change => {
      const bench = await createBench();
      bench.scripted.pay(await bench.opened(), change);
      await bench.flow.check(await bench.current());
      expect(await bench.current()).toMatchObject({ status: 'failed', failure: 'payment_mismatch' });
      expect(bench.refunds()).toMatchObject([{ processorReference: 'pi_cs_1', reason: 'mismatch' }]);
    },
  );

  test('it takes no such payment: it fails, and nothing is charged', async () => {
    const bench = await createBench();
    bench.scripted.failsNext('open', 'refused');
    await bench.flow.open(bench.approved);
    expect(await bench.current()).toMatchObject({ status: 'failed', failure: 'processor_refused' });
    expect(bench.scripted.references()).toEqual([]);
  });

  test('S71: names the error code, status and request of the processor in the log', async () => {
    const bench = await createBench();
    const details = { processorCode: 'told_to', processorStatus: 403, processorRequestId: 'req_told' };
    const reference = await bench.opened();
    bench.scripted.failsNext('status');
    await bench.flow.check(await bench.current());
    bench.scripted.failsNext('status');
    await hear(bench, reference, bench.approved.elicitationId.replace(/.{4}$/, 'AAAA'));
    expect(bench.stage.eventsNamed('payment.processor_unavailable')).toMatchObject([details, details]);
    bench.scripted.failsNext('open', 'refused');
    await bench.flow.open(await bench.approve('order-2'));
    expect(bench.stage.eventsNamed('payment.refused')).toMatchObject([details]);
  });

  test('a processor that is not configured any more leaves it open', async () => {
    const { stage, approved, status } = await createBench();
    stage.processors.clear();
    expect(await stage.paymentFlow.close(approved, 'expire')).toEqual({ state: 'unavailable' });
    expect(await status()).toBe('active');
    expect(stage.eventsNamed('payment.processor_unavailable')).toMatchObject([{ code: 'not_configured' }]);
  });
});

describe('taking it back', () => {
  test.each([
    ['decline', 'declined'],
    ['cancel', 'cancelled'],
    ['expire', 'expired'],
  ] as const)('%s: closed at the processor first', async (as, status) => {
    const bench = await createBench();
    const reference = await bench.opened();
    if (as === 'expire') bench.stage.clock.advance(600_000);
    await bench.flow.close(await bench.current(), as);
    expect(await bench.status()).toBe(status);
    expect(bench.scripted.asked.filter(({ verb }) => verb === 'close')).toEqual([{ verb: 'close', of: reference }]);
  });

  test.each(['decline', 'cancel', 'expire'] as const)('%s: too late once it is paid', async as => {
    const bench = await createBench();
    bench.scripted.pay(await bench.opened());
    if (as === 'expire') bench.stage.clock.advance(600_000);
    await bench.flow.close(await bench.current(), as);
    expect(await bench.status()).toBe('completed');
  });

  test.each(['decline', 'expire'] as const)('%s: not while nobody knows', async as => {
    const bench = await createBench();
    await bench.opened();
    bench.stage.clock.advance(600_000);
    for (const fault of ['failsNext', 'losesNext'] as const) {
      bench.scripted[fault]('close');
      expect(await bench.flow.close(await bench.current(), as)).toEqual({ state: 'unavailable' });
      expect(await bench.status()).toBe('active');
    }
    await bench.flow.close(await bench.current(), as);
    expect(['declined', 'expired']).toContain(await bench.status());
  });

  test('by the MCP server: refused while it is being paid, while nobody knows, and once it is paid', async () => {
    const bench = await createBench();
    const reference = await bench.opened();
    const cancel = async () => bench.flow.cancel(await bench.current());
    bench.scripted.failsNext('close');
    await expect(cancel()).rejects.toThrow(expect.objectContaining({ code: 'upstream_unavailable' }));
    bench.scripted.becomes(reference, 'processing');
    await expect(cancel()).rejects.toThrow(expect.objectContaining({ code: 'payment_in_progress' }));
    bench.scripted.pay(reference);
    await expect(cancel()).rejects.toThrow(AlreadyEndedError);
    expect(await bench.status()).toBe('completed');
  });

  test('before the processor was ever reached: nobody can be paying', async () => {
    const bench = await createBench();
    expect(await bench.flow.cancel(bench.approved)).toMatchObject({ status: 'cancelled' });
    expect(await bench.scripted.processor.status('cs_1')).toEqual({ state: 'closed' });
  });

  test('while somebody else opens the charge: who comes second leads nobody there', async () => {
    const bench = await createBench();
    let isFirst = true;
    bench.scripted.interrupt(async verb => {
      if (verb !== 'open' || !isFirst) return;
      isFirst = false;
      await bench.flow.close(bench.approved, 'decline');
    });
    expect(await bench.flow.open(bench.approved)).toMatchObject({ state: 'settled' });
    expect(await bench.status()).toBe('declined');
    expect(bench.scripted.references()).toHaveLength(1);
    expect(await bench.scripted.processor.status('cs_1')).toEqual({ state: 'closed' });
  });
});

describe('a webhook', () => {
  test('is a hint to ask, and nothing more', async () => {
    const bench = await createBench();
    const reference = await bench.opened();
    expect(await hear(bench, reference, bench.approved.elicitationId)).toBe(true);
    expect(await bench.status()).toBe('active');
    bench.scripted.pay(reference);
    for (let n = 0; n < 3; n += 1) expect(await hear(bench, reference, bench.approved.elicitationId)).toBe(true);
    expect(await bench.status()).toBe('completed');
    expect(bench.refunds()).toEqual([]);
  });

  test('that cannot be followed up is to come again', async () => {
    const bench = await createBench();
    const reference = await bench.opened();
    bench.scripted.pay(reference);
    bench.scripted.failsNext('status');
    expect(await hear(bench, reference, bench.approved.elicitationId)).toBe(false);
    expect(await hear(bench, reference, bench.approved.elicitationId)).toBe(true);
    expect(await bench.status()).toBe('completed');
  });

  test('about another charge, paid all the same: it completes nothing, and somebody is told', async () => {
    const bench = await createBench();
    await bench.opened();
    const other = await bench.approve('order-2');
    await bench.flow.open(other);
    const [, stray = ''] = bench.scripted.references();
    bench.scripted.pay(stray);
    expect(await hear(bench, stray, bench.approved.elicitationId)).toBe(true);
    expect(await bench.status()).toBe('active');
    expect(bench.refunds()).toMatchObject([{ processorReference: `pi_${stray}`, reason: 'active' }]);
  });

  test.each(['counted', 'mismatch'] as const)(
    'S68: asks nobody to pay back again when it is repeated after the elicitation was forgotten (%s)',
    async what => {
      const bench = await createBench();
      const reference = await bench.opened();
      bench.scripted.pay(reference, what === 'mismatch' ? { minorUnits: 1 } : {});
      await hear(bench, reference, bench.approved.elicitationId);
      const before = bench.refunds();
      expect(before).toHaveLength(what === 'mismatch' ? 1 : 0);
      bench.stage.clock.advance(3 * 24 * 3_600_000);
      expect(await bench.stage.service.find(bench.approved.elicitationId)).toBeUndefined();
      expect(await hear(bench, reference, bench.approved.elicitationId)).toBe(true);
      expect(bench.refunds()).toEqual(before);
    },
  );

  test('S68: reports once a payment for an elicitation that is gone', async () => {
    const bench = await createBench();
    const reference = await bench.opened();
    await bench.flow.cancel(await bench.current());
    bench.scripted.pay(reference);
    bench.stage.clock.advance(2 * 24 * 3_600_000);
    for (let n = 0; n < 3; n += 1) await hear(bench, reference, bench.approved.elicitationId);
    expect(bench.refunds()).toMatchObject([{ processorReference: `pi_${reference}`, reason: 'unknown_elicitation' }]);
  });

  test('S68: ignores a charge that names no gateway and no elicitation of this one', async () => {
    const bench = await createBench();
    const reference = await bench.opened();
    bench.scripted.pay(reference);
    const elicitationId = bench.approved.elicitationId.replace(/.{4}$/, 'AAAA');
    bench.scripted.calls({ reference, elicitationId, namesGateway: false });
    const asked = bench.scripted.asked.length;
    expect(await bench.flow.hear(bench.scripted.processor, { body: new Uint8Array(), headers: {} })).toBe(true);
    expect(bench.refunds()).toEqual([]);
    expect(bench.scripted.asked).toHaveLength(asked);
  });

  test('about nothing that is known and nothing that was paid is nobody’s trouble', async () => {
    const bench = await createBench();
    const reference = await bench.opened();
    for (const about of ['x', bench.approved.elicitationId.replace(/.{4}$/, 'AAAA')])
      expect(await hear(bench, reference, about)).toBe(true);
    expect(bench.refunds()).toEqual([]);
  });
});

test('S36: terms that were altered in the store are not charged', async () => {
  const { flow, scripted, approved } = await createBench();
  const amount = { currency: 'EUR', minorUnits: 9_900 };
  const altered = { ...approved, request: { ...approved.request, terms: { ...approved.request.terms, amount } } };
  await expect(flow.open(altered)).rejects.toThrow(TypeError);
  expect(scripted.references()).toEqual([]);
});
