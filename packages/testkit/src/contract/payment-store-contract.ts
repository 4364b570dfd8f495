import { type Elicitation, shardOf } from '@postern/elicitation';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ContractStores, crowd, type MakeStores } from './contract-stores.ts';
import { answer, approve, askFor, charge } from './kind-samples.ts';
import { created, MINUTE, moved, operation, somebody } from './samples.ts';

/** PaymentStore: records of payments that outlive their elicitations. */
export function describePaymentStore(name: string, makeStores: MakeStores): void {
  describe(`${name}: payments`, () => {
    let stores: ContractStores;
    beforeAll(async () => {
      stores = await makeStores();
    });
    afterAll(() => stores[Symbol.asyncDispose]());

    const charging = async () =>
      moved(stores.elicitations, await created(stores.elicitations, askFor('payment', somebody())), approve, charge);
    const noted = ({ elicitationId }: Elicitation, reference = 'pi_1') =>
      stores.payments.read(elicitationId, reference);

    test('stores a completed payment in the commit that completes its elicitation', async () => {
      const current = await charging();
      expect(await noted(current)).toBeUndefined();
      await moved(stores.elicitations, current, answer(current));
      expect(await noted(current)).toBe('counted');
      expect(await noted(current, 'pi_2')).toBeUndefined();
    });

    test('stores no payment of a superseded transition', async () => {
      const current = await charging();
      await moved(stores.elicitations, current, { events: ['decline'], next: { status: 'declined' } });
      const late = { current, operationId: operation(), ...answer(current) };
      expect(await stores.elicitations.transition(late)).toMatchObject({ result: 'conflict' });
      expect(await noted(current)).toBeUndefined();
    });

    test('stores no payment of a confirmation', async () => {
      const current = await created(stores.elicitations, askFor('confirmation', somebody()));
      await moved(stores.elicitations, current, answer(current));
      expect(await noted(current, '')).toBeUndefined();
    });

    test('lists a payment after its delay, oldest first, until it is postponed or dropped', async () => {
      const person = somebody();
      const [first, second] = [askFor('payment', person).elicitation, askFor('payment', person).elicitation];
      const due = async () => {
        const ours: readonly string[] = [first.elicitationId, second.elicitationId];
        const found = await stores.payments.dueChecks(shardOf(person), 1_000);
        return found.filter(elicitationId => ours.includes(elicitationId));
      };
      await stores.payments.checkLater(second.elicitationId, 2 * MINUTE);
      await stores.payments.checkLater(first.elicitationId, MINUTE);
      expect(await due()).toEqual([]);
      stores.clock.advance(MINUTE);
      expect(await due()).toEqual([first.elicitationId]);
      stores.clock.advance(MINUTE);
      expect(await due()).toEqual([first.elicitationId, second.elicitationId]);
      expect(await stores.payments.dueChecks(shardOf(person), 1)).toHaveLength(1);
      await stores.payments.checkLater(first.elicitationId, MINUTE);
      expect(await due()).toEqual([second.elicitationId]);
      await stores.payments.dropCheck(second.elicitationId);
      await stores.payments.dropCheck(second.elicitationId);
      stores.clock.advance(MINUTE);
      expect(await due()).toEqual([first.elicitationId]);
    });

    test('stores a reported payment, but never replaces a completed one', async () => {
      const current = await charging();
      await crowd(() => stores.payments.recordReported(current.elicitationId, 'pi_other'));
      expect(await noted(current, 'pi_other')).toBe('reported');
      await moved(stores.elicitations, current, answer(current));
      await stores.payments.recordReported(current.elicitationId, 'pi_1');
      expect(await noted(current)).toBe('counted');
      expect(await noted(current, 'pi_other')).toBe('reported');
    });
  });
}
