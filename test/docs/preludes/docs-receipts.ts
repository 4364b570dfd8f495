/** Predefined names for the examples of docs/receipts.md. */
import type { ReceiptVerifierOptions } from '@postern/mcp';

export declare const keys: NonNullable<ReceiptVerifierOptions['keys']>;
export declare const receipt: string;
