export * from './key-encryption-service.ts';
export { createKeyRing, createVault, kidOf, type SealContext, type Vault, type VaultKey } from './vault.ts';
export { VaultError, type VaultErrorCode } from './vault-error.ts';
