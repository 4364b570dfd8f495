import type { Amount, Charge } from '@postern/elicitation';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chargeOf, type MakeProcessorWorld, type ProcessorWorld } from './processor-world.ts';

export function describeStatus(name: string, makeWorld: MakeProcessorWorld): void {
  describe(`${name}: the status of a charge`, () => {
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

    test('the amounts of this suite have no, two and three decimals', () => {
      const decimals = ({ currency }: Amount) => ({ JPY: 0, KRW: 0, EUR: 2, USD: 2, KWD: 3, BHD: 3 })[currency];
      expect(world.amounts.map(decimals)).toEqual([0, 2, 3]);
    });

    test('a paid charge has the requested amount, in the same minor units', async () => {
      for (const each of world.amounts) {
        const { charge, elicitationId } = await opened(each);
        expect(await status(charge)).toEqual({ state: 'open' });
        expect(await world.pay(charge)).toBe(true);
        expect(await status(charge)).toMatchObject({ state: 'paid', amount: each });
        expect(world.paymentsOf(elicitationId)).toEqual([each]);
      }
    });

    test('a paid charge has a processor reference and cannot be paid twice', async () => {
      const { charge, elicitationId } = await opened();
      await world.pay(charge);
      expect(await world.pay(charge)).toBe(false);
      const paid = await status(charge);
      expect(paid).toMatchObject({ state: 'paid', processorReference: expect.stringMatching(/./) });
      expect(await status(charge)).toEqual(paid);
      expect(world.paymentsOf(elicitationId)).toHaveLength(1);
    });

    test('a charge is processing until a later settlement succeeds', async () => {
      const { charge } = await opened();
      await world.payLater(charge);
      expect(await status(charge)).toEqual({ state: 'processing' });
      expect(await close(charge)).toEqual({ state: 'processing' });
      await world.settleLater(charge, 'succeeded');
      expect(await status(charge)).toMatchObject({ state: 'paid', amount });
    });

    test('a charge is closed if a later settlement fails', async () => {
      const { charge, elicitationId } = await opened();
      await world.payLater(charge);
      await world.settleLater(charge, 'failed');
      expect(await status(charge)).toEqual({ state: 'closed' });
      expect(await close(charge)).toEqual({ state: 'closed' });
      expect(world.paymentsOf(elicitationId)).toEqual([]);
    });

    test('an expired charge is closed', async () => {
      const { charge } = await opened();
      await world.runOut(charge);
      expect(await status(charge)).toEqual({ state: 'closed' });
      expect(await close(charge)).toEqual({ state: 'closed' });
      expect(await world.pay(charge)).toBe(false);
    });

    test('a charge closed before the payment stays closed, and its key opens no new charge', async () => {
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

    test('a paid charge stays paid after a close', async () => {
      const { charge } = await opened();
      await world.pay(charge);
      expect(await close(charge)).toMatchObject({ state: 'paid', amount });
      expect(await status(charge)).toMatchObject({ state: 'paid' });
    });

    test('concurrent close and payment give the status of the one that took effect', async () => {
      for (let round = 0; round < 10; round += 1) {
        const { charge, elicitationId } = await opened();
        const [isTaken, answer] = await Promise.all([world.pay(charge), close(charge)]);
        expect(answer.state).toBe(isTaken ? 'paid' : 'closed');
        expect(world.paymentsOf(elicitationId)).toHaveLength(isTaken ? 1 : 0);
      }
    });

    test.each(['before', 'after'] as const)(
      'a retry returns the correct status if the response to a close was lost %s the effect',
      async when => {
        const { charge } = await opened();
        world.loseAnswer('close', when);
        await expect(close(charge)).rejects.toMatchObject({ name: 'ProcessorError', code: 'unavailable' });
        expect(await status(charge)).toEqual({ state: when === 'after' ? 'closed' : 'open' });
        expect(await close(charge)).toEqual({ state: 'closed' });
        expect(await world.pay(charge)).toBe(false);
      },
    );

    test.each(['too_many', 'failure', 'refusal'] as const)('the status is unavailable after %s', async answer => {
      const { charge } = await opened();
      await world.pay(charge);
      world.answerWith('status', answer);
      await expect(status(charge)).rejects.toMatchObject({ name: 'ProcessorError', code: 'unavailable' });
      expect(await status(charge)).toMatchObject({ state: 'paid' });
    });

    test('the status of an unknown reference is unavailable, not closed', async () => {
      const unknown = 'unknownreference1';
      await expect(world.processor.status(unknown)).rejects.toMatchObject({ code: 'unavailable' });
      await expect(world.processor.close(unknown)).rejects.toMatchObject({ code: 'unavailable' });
    });
  });
}
