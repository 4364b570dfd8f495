import { parseElicitationId } from '@postern/elicitation';
import { expect, test } from 'vitest';
import { decodePayment, encodePayment } from './payment-record.ts';

test('a dispute that an earlier release stored has the currency of its payment', () => {
  const elicitationId = parseElicitationId(`el_00${'a'.repeat(43)}`);
  if (elicitationId === undefined) throw new Error('no id');
  const dispute = {
    processorReference: 'du_1',
    currency: 'USD',
    minorUnits: 540,
    status: 'open',
    createdAt: 1,
  } as const;
  const stored = encodePayment({
    ...{ mcpServerId: 'shop', processor: 'stripe', processorReference: 'pi_1', completes: true },
    ...{ amount: { currency: 'EUR', minorUnits: 500 }, disputes: [dispute] },
  });
  expect(decodePayment(elicitationId, 1, `1000 ${stored}`).disputes).toEqual([dispute]);
  const earlier = stored.replace('"currency":"USD",', '');
  expect(decodePayment(elicitationId, 1, `1000 ${earlier}`).disputes).toEqual([{ ...dispute, currency: 'EUR' }]);
});
