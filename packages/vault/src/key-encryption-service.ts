/**
 * A key management service that keeps key-encryption keys to itself: it wraps and unwraps content keys and never hands its
 * own keys out. Whoever embeds the gateway implements it over their KMS.
 *
 * `context` is a digest of what the sealed value belongs to, to be authenticated with the wrapped key (the "encryption
 * context" or "additional authenticated data" of the common services). It names nobody, because such services log it.
 *
 * Anything thrown, and no answer in time, means that the service is unavailable: the value is intact and opens later.
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
  /** Aborted when nobody waits any longer. */
  readonly signal: AbortSignal;
}

export type WrapResult =
  | { readonly result: 'wrapped'; readonly wrapped: Uint8Array }
  /** The service has no such key (any more). */
  | { readonly result: 'unknown_key' };

export type UnwrapResult =
  | { readonly result: 'unwrapped'; readonly contentKey: Uint8Array }
  /** Altered, wrapped under another key, or wrapped for another context. */
  | { readonly result: 'not_authentic' }
  /** The service has no such key (any more). */
  | { readonly result: 'unknown_key' };
