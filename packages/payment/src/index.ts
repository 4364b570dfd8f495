export * from './currencies.ts';
export * from './receipt-error.ts';
export * from './receipt-keys.ts';
export * from './receipts.ts';
