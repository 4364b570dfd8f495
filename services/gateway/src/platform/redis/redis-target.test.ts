import { expect, test } from 'vitest';
import { retentionOf } from './redis-target.ts';

test.each([
  { retentionDays: 4, endedHours: 24 * 90, days: 91 },
  { retentionDays: 400, endedHours: 24, days: 400 },
])('S116: an elicitation never outlives the record of what was paid back: $days days', ({ days, ...p }) => {
  const retention = { endedHours: p.endedHours, countDays: 1, auditDays: 1, operatorAuditDays: 1 };
  const of = { retention, payment: { retentionDays: p.retentionDays } };
  const rest = { audit: { stream: false, retained: 1 }, events: { retained: 1, retainedDays: 1 } };
  expect(retentionOf({ ...rest, ...of })).toMatchObject({ paymentRetentionMs: days * 86_400_000 });
});
