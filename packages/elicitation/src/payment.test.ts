import { expect, test } from 'vitest';
import { parseElicitationId } from './ids.ts';
import { type Payment, type ReportedRefund, reportedChange } from './payment.ts';

const elicitationId = parseElicitationId(`el_00${'a'.repeat(43)}`);

test('S117: reports that contradict each other are committed at most once each', () => {
  if (elicitationId === undefined) throw new Error('no id');
  const refund = { processorReference: 're_1', minorUnits: 500, createdAt: 1 };
  const refunds: ReportedRefund[] = [
    { ...refund, status: 'pending' },
    { ...refund, status: 'succeeded' },
  ];
  const dispute = { processorReference: 'du_1', currency: 'EUR', minorUnits: 500, createdAt: 1 };
  const disputes = [
    { ...dispute, status: 'open' as const },
    { ...dispute, status: 'lost' as const },
  ];
  let payment: Payment = {
    elicitationId,
    mcpServerId: 'shop',
    processor: 'stripe',
    processorReference: 'pi_1',
    completes: true,
    amount: { currency: 'EUR', minorUnits: 500 },
    version: 1,
    paidAt: 1,
    refunds: [],
    disputes: [],
  };
  for (let commits = 0; commits < 4; commits += 1)
    payment = reportedChange(payment, { refunds, disputes })?.payment ?? payment;
  expect(reportedChange(payment, { refunds, disputes })).toBeUndefined();
  expect(payment).toMatchObject({ refunds: [{ status: 'succeeded' }], disputes: [{ status: 'lost' }] });
  const inDollars = { ...dispute, status: 'lost' as const, currency: 'USD' };
  expect(reportedChange(payment, { disputes: [inDollars] })?.payment.disputes).toEqual([inDollars]);
});
