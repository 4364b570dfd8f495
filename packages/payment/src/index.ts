export * from './create-passkeys.ts';
export * from './create-processor.ts';
export * from './passkeys.ts';
export * from './processor.ts';
export * from './processor-config.ts';
export * from './receipt-keys.ts';
export * from './receipts.ts';
export * from './stripe-amounts.ts';
