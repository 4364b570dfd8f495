export type VaultErrorCode =
  /** Sealed under a key-encryption key that neither the ring nor its key service holds. The message names it. */
  | 'unknown_key'
  /** Altered, truncated, moved to another record, or never sealed by this vault. */
  | 'not_authentic'
  /** The key service failed or did not answer in time; nothing is known about the value. Trying again may succeed. */
  | 'key_service_unavailable'
  /** The ring itself is unusable. */
  | 'invalid_key_ring';

/** Never carries plaintext, key material or the cause, which may hold either. */
export class VaultError extends Error {
  override name = 'VaultError';
  readonly code: VaultErrorCode;
  /** The key that is lost; only with `unknown_key`. */
  readonly kid: string | undefined;

  constructor(code: VaultErrorCode, message: string, kid?: string) {
    super(message);
    this.code = code;
    this.kid = kid;
  }
}

export const unknownKey = (kid: string) => new VaultError('unknown_key', `No key named "${kid}" is configured.`, kid);
export const notAuthentic = () =>
  new VaultError('not_authentic', 'The sealed value does not belong here or was altered.');
