/**
 * A key management service: wraps and unwraps content keys, and never exports its key-encryption keys. Applications that
 * embed the gateway implement it with their KMS.
 *
 * `context` is a digest of the context of the sealed value, to be authenticated with the wrapped key (the "encryption
 * context" or "additional authenticated data" of the common services). It identifies no user, because such services log it.
 *
 * An exception or a timeout means that the service is unavailable. The value stays intact and can be opened later.
 */
export interface KeyEncryptionService {
  wrap(
    kid: string,
    contentKey: Uint8Array<ArrayBuffer>,
    context: string,
    options: KeyServiceOptions,
  ): Promise<WrapResult>;
  unwrap(
    kid: string,
    wrapped: Uint8Array<ArrayBuffer>,
    context: string,
    options: KeyServiceOptions,
  ): Promise<UnwrapResult>;
}

export interface KeyServiceOptions {
  /** Aborted when the caller no longer waits. */
  readonly signal: AbortSignal;
}

export type WrapResult =
  | { readonly result: 'wrapped'; readonly wrapped: Uint8Array }
  /** The service does not have this key. */
  | { readonly result: 'unknown_key' };

export type UnwrapResult =
  | { readonly result: 'unwrapped'; readonly contentKey: Uint8Array }
  /** Altered, wrapped under another key, or wrapped for another context. */
  | { readonly result: 'not_authentic' }
  /** The service does not have this key. */
  | { readonly result: 'unknown_key' };
