/**
 * A key management service: wraps and unwraps content keys, and never exports its key-encryption keys. Applications that
 * embed the gateway implement it with their KMS.
 *
 * `context` is a digest of the context of the sealed value, to be authenticated with the wrapped key (the "encryption
 * context" or "additional authenticated data" of the common services). It identifies no user, because such services log it.
 *
 * An exception or a timeout means that the service is unavailable. The value stays intact and can be opened later. Its
 * `fault` says why, if it has one, as `KeyServiceError` has; its message is dropped.
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

const explanations = {
  unreachable: 'it cannot be reached. Check its URL, the network, and that it runs.',
  unknown_host: 'its host name does not resolve. Check its URL and the DNS.',
  untrusted_certificate:
    'its certificate has expired, names another host, or comes from an unknown authority. Check its URL and the CA file.',
  blocked: 'the outbound policy refuses its address. A host with a private address belongs into outbound.privateHosts.',
  timeout: 'it does not respond in time. Check its load and the network.',
  no_credentials: 'the gateway has no credentials for it. Check the token file, or the credentials of the environment.',
  permission_denied:
    'it refuses the credentials of the gateway. Check that they are valid, that the key exists, and that they may encrypt and decrypt with it.',
  key_unusable:
    'it refuses to use this key. Check that the key and its version exist, are enabled, and encrypt and decrypt.',
  sealed: 'it is sealed or in standby. Unseal it.',
  throttled: 'it refuses requests because there are too many. Check its quotas.',
  failed: 'it responds with a server error. Check its log.',
  unusable_response: 'its response is not one of this API. Check the URL, and what answers there.',
  paused: 'it has not responded in time repeatedly. The gateway tries again in a few seconds.',
  overloaded: 'too many requests of the gateway wait for it.',
} as const;

/** Why a key service cannot be used. */
export type KeyServiceFault = keyof typeof explanations;

/** The reason why a key service failed. Contains nothing of the request or the response. */
export class KeyServiceError extends Error {
  override name = 'KeyServiceError';
  readonly fault: KeyServiceFault;

  constructor(fault: KeyServiceFault) {
    super(`The key service cannot be used: ${explanations[fault]}`);
    this.fault = fault;
  }
}

/** Returns why a key service failed, from what it has thrown. */
export function keyServiceFaultOf(error: unknown): KeyServiceFault {
  const fault = error instanceof Error && 'fault' in error ? error.fault : undefined;
  return typeof fault === 'string' && isFault(fault) ? fault : 'failed';
}

const isFault = (text: string): text is KeyServiceFault => Object.hasOwn(explanations, text);
