export type VaultErrorCode =
  /** Sealed under a key-encryption key that the ring does not hold. */
  | 'unknown_key'
  /** Altered, truncated, moved to another record, or never sealed by this vault. */
  | 'not_authentic'
  /** The ring itself is unusable. */
  | 'invalid_key_ring';

/** Never carries plaintext, key material or the cause, which may hold either. */
export class VaultError extends Error {
  override name = 'VaultError';
  readonly code: VaultErrorCode;

  constructor(code: VaultErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
