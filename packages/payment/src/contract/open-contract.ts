import type { Amount, Charge } from '@postern/elicitation';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chargeOf, type MakeProcessorWorld, type ProcessorWorld } from './processor-world.ts';

const CROWD = 20;

export function describeOpen(name: string, makeWorld: MakeProcessorWorld): void {
  describe(`${name}: opening a charge`, () => {
    let world: ProcessorWorld;
    let amount: Amount;
    beforeAll(async () => {
      world = await makeWorld();
      [amount = world.impossible] = world.amounts;
    });
    afterAll(() => world[Symbol.asyncDispose]());

    test('returns a URL on the destination host', async () => {
      const { reference, url } = await world.processor.open(chargeOf(amount));
      expect(reference).not.toBe('');
      expect(new URL(url).host).toBe(world.processor.destinationHost);
    });

    test('returns the same charge for the same key, also on another replica and in another language', async () => {
      const ask = chargeOf(amount, { locale: 'de' });
      const first = await world.processor.open(ask);
      expect(await world.processor.open(ask)).toEqual(first);
      expect(await world.replica.open({ ...ask, locale: 'zh-Hans', mcpServerName: 'Renamed' })).toEqual(first);
      expect(world.chargesUnder(ask.key)).toBe(1);
    });

    test('returns another charge for another key', async () => {
      const ask = chargeOf(amount);
      const first = await world.processor.open(ask);
      expect((await world.processor.open({ ...ask, key: `${ask.key}-again` })).reference).not.toBe(first.reference);
    });

    test('opens one charge for concurrent requests with the same key, which may have to retry', async () => {
      const ask = chargeOf(amount);
      const results = await Promise.allSettled(
        Array.from({ length: CROWD }, (_, n) => (n % 2 ? world.replica : world.processor).open(ask)),
      );
      const opened: Charge[] = [];
      for (const result of results) {
        if (result.status === 'fulfilled') opened.push(result.value);
        else expect(result.reason).toMatchObject({ name: 'ProcessorError', code: 'unavailable' });
      }
      const now = await world.processor.open(ask);
      expect(opened).toEqual(opened.map(() => now));
      expect(world.chargesUnder(ask.key)).toBe(1);
    });

    test('opens no second charge while the first request is in progress', async () => {
      const ask = chargeOf(amount);
      const hold = world.hold('open');
      const first = world.processor.open(ask);
      await hold.reached;
      const second = world.replica.open(ask).catch((error: unknown) => error);
      hold.release();
      const charge = await first;
      const answer = await second;
      if (answer instanceof Error) expect(answer).toMatchObject({ code: 'unavailable' });
      else expect(answer).toEqual(charge);
      expect(await world.replica.open(ask)).toEqual(charge);
      expect(world.chargesUnder(ask.key)).toBe(1);
    });

    test.each(['before', 'after'] as const)(
      'finds the same charge on retry if the response was lost %s the effect',
      async when => {
        const ask = chargeOf(amount);
        world.loseAnswer('open', when);
        await expect(world.processor.open(ask)).rejects.toMatchObject({ name: 'ProcessorError', code: 'unavailable' });
        expect(world.chargesUnder(ask.key)).toBe(when === 'after' ? 1 : 0);
        const charge = await world.replica.open(ask);
        expect(await world.processor.open(ask)).toEqual(charge);
        expect(world.chargesUnder(ask.key)).toBe(1);
        expect(await world.pay(charge)).toBe(true);
        expect(world.paymentsOf(ask.elicitationId)).toEqual([amount]);
      },
    );

    test.each(['too_many', 'failure'] as const)('succeeds on retry after %s', async answer => {
      const ask = chargeOf(amount);
      world.answerWith('open', answer);
      await expect(world.processor.open(ask)).rejects.toMatchObject({ code: 'unavailable' });
      await world.processor.open(ask);
      expect(world.chargesUnder(ask.key)).toBe(1);
    });

    test('leaves no payable charge after a refusal', async () => {
      const ask = chargeOf(amount);
      world.answerWith('open', 'refusal');
      await expect(world.processor.open(ask)).rejects.toMatchObject({ name: 'ProcessorError', code: 'refused' });
      expect(world.chargesUnder(ask.key)).toBe(0);
    });

    test('checks amounts at issue, and names the invalid member', async () => {
      for (const each of world.amounts) {
        const { terms } = chargeOf(each);
        expect(world.processor.canTake(terms)).toEqual({ result: 'possible' });
      }
      expect(world.processor.canTake(chargeOf(world.impossible).terms)).toMatchObject({
        result: 'impossible',
        member: 'amount.minorUnits',
      });
    });

    test('refuses an amount that it cannot take exactly, and never rounds it', async () => {
      const ask = chargeOf(world.impossible);
      await expect(world.processor.open(ask)).rejects.toMatchObject({ code: 'refused' });
      expect(world.chargesUnder(ask.key)).toBe(0);
    });
  });
}
