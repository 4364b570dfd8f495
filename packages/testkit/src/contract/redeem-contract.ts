import { type Elicitation, isTerminal, shardIn } from '@postern/elicitation';
import { describe, expect, test } from 'vitest';
import { CROWD, crowd, eventsIn, suite } from './contract-stores.ts';
import { answer, approve, askFor, redeemable, type Sample } from './kind-samples.ts';
import { ask, cancel, complete, created, engage, expire, moved, somebody, TTL_MS } from './samples.ts';

/**
 * ElicitationStore.redeem: one idempotency key takes the result. Also, which repeated requests return an elicitation with an
 * unredeemed result.
 */
export const describeRedeem = suite('redeem', stores => {
  const pending = (sample: Sample, person = somebody()) => created(stores.elicitations, askFor(sample, person));
  async function completed(sample: Sample, person = somebody()): Promise<Elicitation> {
    const start = await pending(sample, person);
    const open = sample === 'payment' ? await moved(stores.elicitations, start, approve) : start;
    return moved(stores.elicitations, open, answer(open));
  }
  const redeem = ({ elicitationId }: Elicitation, redemption: string) =>
    stores.elicitations.redeem({ elicitationId, redemption });
  const read = ({ elicitationId }: Elicitation) => stores.elicitations.read(elicitationId);

  /** The sealed result, for kinds with typed values. */
  const sealedOf = (sample: Sample) => (sample === 'once' || sample === 'form' ? { sealed: 'sealed-result' } : {});

  test.each(redeemable)('%s: the first key gets the result, and so do its repeats', async sample => {
    const elicitation = await completed(sample);
    stores.clock.advance(1_000);
    const redeemed = { ...elicitation, redeemedAt: stores.clock.now() };
    const first = await redeem(elicitation, 'one');
    expect(first).toEqual({ result: 'redeemed', elicitation: redeemed, ...sealedOf(sample), isFirst: true });
    expect(await read(elicitation)).toEqual(redeemed);
    stores.clock.advance(1_000);
    expect(await redeem(elicitation, 'one')).toEqual({ ...first, isFirst: false });
    expect(await read(elicitation)).toEqual(redeemed);
  });

  test.each(redeemable)('%s: another key gets nothing', async sample => {
    const elicitation = await completed(sample);
    await redeem(elicitation, 'one');
    const redeemed = await read(elicitation);
    stores.clock.advance(1_000);
    for (const redemption of ['two', 'on', 'one ', 'ONE'])
      expect(await redeem(elicitation, redemption)).toEqual({ result: 'spent', elicitation: redeemed });
    expect(await redeem(elicitation, 'one')).toMatchObject({ result: 'redeemed', isFirst: false });
  });

  test('a redemption is no transition, and is not announced', async () => {
    const elicitation = await completed('confirmation');
    const shard = shardIn(elicitation.elicitationId);
    const before = await eventsIn(stores, shard);
    await redeem(elicitation, 'one');
    expect(await read(elicitation)).toMatchObject({ status: 'completed', version: elicitation.version });
    expect(await eventsIn(stores, shard)).toEqual(before);
  });

  test.each(redeemable)('%s: nothing can be redeemed before completion', async sample => {
    const elicitation = await pending(sample);
    expect(await redeem(elicitation, 'one')).toEqual({ result: 'unredeemable', elicitation });
    const ended = await moved(stores.elicitations, elicitation, cancel);
    expect(await redeem(elicitation, 'one')).toEqual({ result: 'unredeemable', elicitation: ended });
  });

  test('returns nothing while charging', async () => {
    const charging = await moved(stores.elicitations, await pending('payment'), approve);
    expect(await redeem(charging, 'one')).toEqual({ result: 'unredeemable', elicitation: charging });
  });

  test('redeems after expiresAt an elicitation that was completed before', async () => {
    const elicitation = await completed('form');
    stores.clock.set(elicitation.expiresAt + TTL_MS);
    expect(await redeem(elicitation, 'one')).toMatchObject({ result: 'redeemed', sealed: 'sealed-result' });
  });

  test('redeems neither a connection nor a lasting credential', async () => {
    const active = await moved(stores.elicitations, await created(stores.elicitations, ask(somebody())), engage);
    const connected = await moved(stores.elicitations, active, complete(active));
    for (const elicitation of [connected, await completed('lasting')]) {
      expect(await redeem(elicitation, 'one')).toEqual({ result: 'unredeemable', elicitation });
      expect(await read(elicitation)).toEqual(elicitation);
    }
  });

  test('reports an unknown elicitation as missing', async () => {
    const { elicitation } = askFor('form', somebody());
    const { elicitationId } = elicitation;
    expect(await stores.elicitations.redeem({ elicitationId, redemption: 'one' })).toEqual({ result: 'missing' });
  });

  test('a repeated completion does not undo a redemption', async () => {
    const elicitation = await pending('form');
    const move = { current: elicitation, operationId: 'completion', ...answer(elicitation) };
    await stores.elicitations.transition(move);
    await redeem(elicitation, 'one');
    expect(await stores.elicitations.transition(move)).toEqual({
      result: 'applied',
      elicitation: await read(elicitation),
    });
    expect(await redeem(elicitation, 'two')).toMatchObject({ result: 'spent' });
  });

  test('one of many concurrent keys redeems the result', async () => {
    for (const names of [2, CROWD]) {
      const elicitation = await completed('form');
      const results = await crowd(nth => redeem(elicitation, `name-${nth % names}`));
      const redeemed = results.filter(({ result }) => result === 'redeemed');
      const winners = new Set(results.flatMap(({ result }, nth) => (result === 'redeemed' ? [nth % names] : [])));
      expect(winners.size).toBe(1);
      expect(redeemed).toHaveLength(CROWD / names);
      expect(redeemed.filter(each => each.result === 'redeemed' && each.isFirst)).toHaveLength(1);
      expect(results.filter(({ result }) => result === 'spent')).toHaveLength(CROWD - CROWD / names);
    }
  });

  describe('a repeated request', () => {
    const again = (sample: Sample, { subject, elicitationId }: Elicitation, seen = {}) => {
      const found = stores.elicitations.create(askFor(sample, subject, { seen }));
      return found.then(result => (result.result === 'open' ? result.elicitationId === elicitationId : result.result));
    };

    test.each(redeemable)(
      '%s: returns the elicitation with an unredeemed result, even after expiresAt',
      async sample => {
        const elicitation = await completed(sample);
        expect(await again(sample, elicitation)).toBe(true);
        stores.clock.set(elicitation.expiresAt + 1);
        expect(await again(sample, elicitation)).toBe(true);
        await redeem(elicitation, 'one');
        expect(await again(sample, elicitation)).toBe('created');
      },
    );

    test('does not return an unredeemed elicitation that the caller rejects', async () => {
      const elicitation = await completed('form');
      expect(await again('form', elicitation, { openId: elicitation.elicitationId })).toBe('created');
    });

    test('redeeming a replaced elicitation does not free the request', async () => {
      const first = await completed('form');
      const request = askFor('form', first.subject, { seen: { openId: first.elicitationId } });
      const second = await created(stores.elicitations, request);
      await redeem(first, 'one');
      expect(await again('form', second)).toBe(true);
    });

    test.each(redeemable)('%s: creates a new elicitation after any other end', async sample => {
      const cancelled = await moved(stores.elicitations, await pending(sample), cancel);
      expect(await again(sample, cancelled)).toBe('created');
      const over = await pending(sample);
      stores.clock.set(over.expiresAt);
      expect(await again(sample, await moved(stores.elicitations, over, expire))).toBe('created');
    });

    test('a typed lasting credential does not prevent a request for another', async () => {
      const elicitation = await completed('lasting');
      expect(isTerminal(elicitation)).toBe(true);
      const credential = (await stores.credentials.list(elicitation.subject))[0];
      expect(await again('lasting', elicitation, { answer: credential })).toBe('created');
    });

    test('concurrent with a redemption, each request returns the old elicitation or the single new one', async () => {
      const elicitation = await completed('confirmation');
      const results = await crowd(nth =>
        nth === CROWD / 2
          ? redeem(elicitation, 'one').then(() => undefined)
          : stores.elicitations.create(askFor('confirmation', elicitation.subject)),
      );
      const met = results.filter(each => each !== undefined);
      const made = met.flatMap(each => (each.result === 'created' ? [each.elicitation.elicitationId] : []));
      expect(made.length).toBeLessThanOrEqual(1);
      const found = met.flatMap(each => (each.result === 'open' ? [each.elicitationId] : []));
      expect(found).toHaveLength(CROWD - 1 - made.length);
      for (const id of found) expect([elicitation.elicitationId, ...made]).toContain(id);
    });
  });
});
