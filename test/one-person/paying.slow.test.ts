import { overAFile } from '../support/world-store.ts';

overAFile([
  ['e2e/payment.test.ts', 'only for the user of a paid charge'],
  ['e2e/payees.test.ts'],
  ['e2e/approved-terms.test.ts'],
  ['e2e/tampered-charge.test.ts'],
  ['e2e/payment-attempts.test.ts'],
  ['e2e/payment-endings.slow.test.ts'],
  ['e2e/payment-failures.slow.test.ts', 'a replica with a revoked key'],
  ['e2e/payment-races.slow.test.ts'],
  ['e2e/payment-webhooks.test.ts'],
  ['e2e/passkey.browser.test.ts', 'S211'],
  ['e2e/receipts.test.ts', 'from the history', 'answers everyone else'],
  ['e2e/refunds.test.ts', 'S167'],
]);
