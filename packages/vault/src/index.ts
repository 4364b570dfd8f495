export * from './key-encryption-service.ts';
export { createKeyRing, type VaultKey } from './key-ring.ts';
export { kidOf } from './sealed-value.ts';
export { createVault, type SealContext, type Vault } from './vault.ts';
export { VaultError, type VaultErrorCode } from './vault-error.ts';
