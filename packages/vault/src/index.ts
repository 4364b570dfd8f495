export * from './key-encryption-service.ts';
export { createKeyRing, type KeyRing, type LocalKey, type ServiceKey, type VaultKey } from './key-ring.ts';
export { kidOf } from './sealed-value.ts';
export * from './vault.ts';
export { VaultError, type VaultErrorCode } from './vault-error.ts';
