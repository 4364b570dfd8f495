import type { KeyServiceFault } from './key-encryption-service.ts';

export type VaultErrorCode =
  /** Sealed under a key-encryption key that the ring does not hold. The message names it. */
  | 'unknown_key'
  /** The value was altered, truncated, moved to another record, or never sealed by this vault. */
  | 'not_authentic'
  /** The key service failed, timed out or does not have the key. The state of the value is unknown, and a retry may succeed. */
  | 'key_service_unavailable'
  /** The key ring is unusable. */
  | 'invalid_key_ring';

/** Contains neither plaintext nor key material, and no cause, which could contain them. */
export class VaultError extends Error {
  override name = 'VaultError';
  readonly code: VaultErrorCode;
  /** Name of the key; only with `unknown_key` and `key_service_unavailable`. */
  readonly kid: string | undefined;
  /** Why the key service failed; only with `key_service_unavailable`. */
  readonly fault: KeyServiceFault | undefined;

  constructor(code: VaultErrorCode, message: string, about: { kid?: string; fault?: KeyServiceFault } = {}) {
    super(message);
    this.code = code;
    this.kid = about.kid;
    this.fault = about.fault;
  }
}

export const unknownKey = (kid: string) =>
  new VaultError('unknown_key', `No key named "${kid}" is configured.`, { kid });
export const notAuthentic = () =>
  new VaultError('not_authentic', 'The sealed value was altered or belongs to another context.');
