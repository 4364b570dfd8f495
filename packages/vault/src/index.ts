export * from './key-ring.ts';
export * from './vault.ts';
export * from './vault-error.ts';
