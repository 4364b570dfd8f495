import type { Amount, Charge } from '@postern/elicitation';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chargeOf, type MakeProcessorWorld, type ProcessorWorld } from './processor-world.ts';

export function describeStatus(name: string, makeWorld: MakeProcessorWorld): void {
  describe(`${name}: what has become of a charge`, () => {
    let world: ProcessorWorld;
    let amount: Amount;
    beforeAll(async () => {
      world = await makeWorld();
      [amount = world.impossible] = world.amounts;
    });
    afterAll(() => world[Symbol.asyncDispose]());

    async function opened(of = amount): Promise<{ charge: Charge; elicitationId: string }> {
      const ask = chargeOf(of);
      return { charge: await world.processor.open(ask), elicitationId: ask.elicitationId };
    }
    const status = ({ reference }: Charge) => world.replica.status(reference);
    const close = ({ reference }: Charge) => world.processor.close(reference);

    test('it covers a currency with no, with two and with three decimals', () => {
      const decimals = ({ currency }: Amount) => ({ JPY: 0, KRW: 0, EUR: 2, USD: 2, KWD: 3, BHD: 3 })[currency];
      expect(world.amounts.map(decimals)).toEqual([0, 2, 3]);
    });

    test('what was paid is what was asked for, in the same minor units', async () => {
      for (const each of world.amounts) {
        const { charge, elicitationId } = await opened(each);
        expect(await status(charge)).toEqual({ state: 'open' });
        expect(await world.pay(charge)).toBe(true);
        expect(await status(charge)).toMatchObject({ state: 'paid', amount: each });
        expect(world.paymentsOf(elicitationId)).toEqual([each]);
      }
    });

    test('a paid charge has a name and is not paid twice', async () => {
      const { charge, elicitationId } = await opened();
      await world.pay(charge);
      expect(await world.pay(charge)).toBe(false);
      const paid = await status(charge);
      expect(paid).toMatchObject({ state: 'paid', processorReference: expect.stringMatching(/./) });
      expect(await status(charge)).toEqual(paid);
      expect(world.paymentsOf(elicitationId)).toHaveLength(1);
    });

    test('money that is on its way is neither paid nor closed, until it has come', async () => {
      const { charge } = await opened();
      await world.payLater(charge);
      expect(await status(charge)).toEqual({ state: 'processing' });
      expect(await close(charge)).toEqual({ state: 'processing' });
      await world.settleLater(charge, 'succeeded');
      expect(await status(charge)).toMatchObject({ state: 'paid', amount });
    });

    test('money that does not come leaves the charge closed', async () => {
      const { charge, elicitationId } = await opened();
      await world.payLater(charge);
      await world.settleLater(charge, 'failed');
      expect(await status(charge)).toEqual({ state: 'closed' });
      expect(await close(charge)).toEqual({ state: 'closed' });
      expect(world.paymentsOf(elicitationId)).toEqual([]);
    });

    test('a charge whose time has run out is closed', async () => {
      const { charge } = await opened();
      await world.runOut(charge);
      expect(await status(charge)).toEqual({ state: 'closed' });
      expect(await close(charge)).toEqual({ state: 'closed' });
      expect(await world.pay(charge)).toBe(false);
    });

    test('closed before it is paid: it cannot be paid any more, and the key brings no new charge', async () => {
      const ask = chargeOf(amount);
      const charge = await world.processor.open(ask);
      expect(await close(charge)).toEqual({ state: 'closed' });
      expect(await world.pay(charge)).toBe(false);
      expect(await close(charge)).toEqual({ state: 'closed' });
      expect(await status(charge)).toEqual({ state: 'closed' });
      expect((await world.processor.open(ask)).reference).toBe(charge.reference);
      expect(world.chargesUnder(ask.key)).toBe(1);
      expect(world.paymentsOf(ask.elicitationId)).toEqual([]);
    });

    test('closed after it was paid: it stays paid', async () => {
      const { charge } = await opened();
      await world.pay(charge);
      expect(await close(charge)).toMatchObject({ state: 'paid', amount });
      expect(await status(charge)).toMatchObject({ state: 'paid' });
    });

    test('closed and paid at once: the answer is what happened', async () => {
      for (let round = 0; round < 10; round += 1) {
        const { charge, elicitationId } = await opened();
        const [isTaken, answer] = await Promise.all([world.pay(charge), close(charge)]);
        expect(answer.state).toBe(isTaken ? 'paid' : 'closed');
        expect(world.paymentsOf(elicitationId)).toHaveLength(isTaken ? 1 : 0);
      }
    });

    test.each(['before', 'after'] as const)(
      'the answer of a close lost %s the effect: asking again tells',
      async when => {
        const { charge } = await opened();
        world.loseAnswer('close', when);
        await expect(close(charge)).rejects.toMatchObject({ name: 'ProcessorError', code: 'unavailable' });
        expect(await status(charge)).toEqual({ state: when === 'after' ? 'closed' : 'open' });
        expect(await close(charge)).toEqual({ state: 'closed' });
        expect(await world.pay(charge)).toBe(false);
      },
    );

    test.each(['too_many', 'failure', 'refusal'] as const)('%s instead of an answer tells nothing', async answer => {
      const { charge } = await opened();
      await world.pay(charge);
      world.answerWith('status', answer);
      await expect(status(charge)).rejects.toMatchObject({ name: 'ProcessorError', code: 'unavailable' });
      expect(await status(charge)).toMatchObject({ state: 'paid' });
    });

    test('an unknown reference is not taken for a closed charge', async () => {
      const unknown = 'unknownreference1';
      await expect(world.processor.status(unknown)).rejects.toMatchObject({ code: 'unavailable' });
      await expect(world.processor.close(unknown)).rejects.toMatchObject({ code: 'unavailable' });
    });
  });
}
