/** What the example of docs/receipts.md takes for granted. */
import type { ReceiptVerifierOptions } from '@postern/mcp';

export declare const keys: NonNullable<ReceiptVerifierOptions['keys']>;
export declare const receipt: string;
