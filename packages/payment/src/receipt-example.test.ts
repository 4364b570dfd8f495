import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { receiptExample } from './testing/receipt-example.ts';

it('docs/receipts.md shows what the command prints', async () => {
  const document = readFileSync(join(import.meta.dirname, '../../../docs/receipts.md'), 'utf8');
  expect(document).toContain(await receiptExample());
});
