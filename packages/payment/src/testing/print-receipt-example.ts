import { receiptExample } from './receipt-example.ts';

process.stdout.write(`${await receiptExample()}\n`);
