import type { Elicitation } from '@postern/elicitation';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ContractStores, crowd, type MakeStores } from './contract-stores.ts';
import { answer, approve, askFor, charge } from './kind-samples.ts';
import { created, moved, operation, somebody } from './samples.ts';

/** PaymentStore: what is remembered of a payment after its elicitation has gone. */
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

    test('remembers the payment that counts, in the commit that completes its elicitation', async () => {
      const current = await charging();
      expect(await noted(current)).toBeUndefined();
      await moved(stores.elicitations, current, answer(current));
      expect(await noted(current)).toBe('counted');
      expect(await noted(current, 'pi_2')).toBeUndefined();
    });

    test('remembers no payment of a move that came second', async () => {
      const current = await charging();
      await moved(stores.elicitations, current, { events: ['decline'], next: { status: 'declined' } });
      const late = { current, operationId: operation(), ...answer(current) };
      expect(await stores.elicitations.transition(late)).toMatchObject({ result: 'conflict' });
      expect(await noted(current)).toBeUndefined();
    });

    test('remembers no payment of a confirmation', async () => {
      const current = await created(stores.elicitations, askFor('confirmation', somebody()));
      await moved(stores.elicitations, current, answer(current));
      expect(await noted(current, '')).toBeUndefined();
    });

    test('remembers a payment that was reported, and never instead of one that counts', async () => {
      const current = await charging();
      await crowd(() => stores.payments.noteReported(current.elicitationId, 'pi_other'));
      expect(await noted(current, 'pi_other')).toBe('reported');
      await moved(stores.elicitations, current, answer(current));
      await stores.payments.noteReported(current.elicitationId, 'pi_1');
      expect(await noted(current)).toBe('counted');
      expect(await noted(current, 'pi_other')).toBe('reported');
    });
  });
}
