export * from './currencies.ts';
export * from './passkey-challenge.ts';
export * from './passkey-error.ts';
export * from './passkeys.ts';
export * from './receipt-error.ts';
export * from './receipt-keys.ts';
export * from './receipts.ts';
