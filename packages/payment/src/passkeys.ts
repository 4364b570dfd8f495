import { hash } from 'node:crypto';
import { isIP } from 'node:net';
import type { NewPasskey, Passkey, Subject } from '@postern/elicitation';
import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/server';

/** A verified assertion. This package keeps no state: `PasskeyStore.use` checks the signature counter. */
export interface VerifiedAssertion {
  readonly passkeyId: string;
  readonly signCount: number;
  readonly backedUp: boolean;
}

/**
 * WebAuthn ceremonies for approvals. The caller provides the challenge (`passkeyChallenge`) and ensures that it is used once. The methods
 * are pure functions of their parameters.
 *
 * User verification is always required, because user presence is only a touch, which any person at the device can give.
 */
export interface Passkeys {
  /** Options for `navigator.credentials.create`. Passkeys in `existing` are not registered again. */
  registrationOptions(p: {
    readonly subject: Subject;
    /** Name of the account in the list of the user's authenticator. */
    readonly displayName: string;
    readonly challenge: Uint8Array;
    readonly existing: readonly Passkey[];
  }): Promise<PublicKeyCredentialCreationOptionsJSON>;
  /**
   * A registration approves nothing: without attestation, nothing is signed over the challenge. An assertion must follow.
   *
   * @throws PasskeyError `invalid`
   */
  verifyRegistration(p: {
    readonly response: unknown;
    readonly challenge: Uint8Array;
    readonly subject: Subject;
  }): Promise<NewPasskey>;
  /** Options for `navigator.credentials.get`. */
  assertionOptions(p: {
    readonly challenge: Uint8Array;
    readonly passkeys: readonly Passkey[];
  }): Promise<PublicKeyCredentialRequestOptionsJSON>;
  /**
   * @param p.passkeys only those of the user who must approve
   * @throws PasskeyError `unknown_passkey` if the passkey is not in the list, otherwise `invalid`
   */
  verifyAssertion(p: {
    readonly response: unknown;
    readonly challenge: Uint8Array;
    readonly passkeys: readonly Passkey[];
  }): Promise<VerifiedAssertion>;
}

export interface RelyingParty {
  /** The domain that passkeys are bound to. Changing it makes all existing passkeys unusable. */
  readonly rpId: string;
  readonly rpName: string;
  /** Scheme, host and port of the page, compared exactly. */
  readonly origin: string;
}

/**
 * Returns the domain to which passkeys of a public URL are bound. Undefined for an IP address, which cannot have passkeys (WebAuthn section
 * 5.1.3).
 */
export function passkeyRpIdOf(publicUrl: string): string | undefined {
  const { hostname } = new URL(publicUrl);
  return hostname.startsWith('[') || isIP(hostname) !== 0 ? undefined : hostname;
}

const MIN_NONCE_BYTES = 16;
const MAX_NONCE_BYTES = 32;
const DIGEST = /^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/;

/**
 * Returns the challenge of a passkey ceremony: nonce ‖ digest of the terms ‖ SHA-256 of the elicitation id. The authenticator thereby signs
 * these terms and this elicitation, verifiably (PSD2 RTS Art. 5, dynamic linking). The last 64 bytes have fixed positions, so different
 * inputs never give the same challenge.
 *
 * @param p.nonce fresh random bytes, 16 to 32 (WebAuthn section 13.4.3)
 * @param p.digest SHA-256 in base64url, as in the request
 * @throws RangeError for a nonce or digest of the wrong length
 */
export function passkeyChallenge(p: {
  readonly nonce: Uint8Array;
  readonly digest: string;
  readonly elicitationId: string;
}): Uint8Array<ArrayBuffer> {
  if (p.nonce.byteLength < MIN_NONCE_BYTES || p.nonce.byteLength > MAX_NONCE_BYTES)
    throw new RangeError('The nonce of a challenge has 16 to 32 bytes.');
  if (!DIGEST.test(p.digest)) throw new RangeError('The digest of a challenge is a SHA-256 in base64url.');
  const digest = Buffer.from(p.digest, 'base64url');
  return new Uint8Array(Buffer.concat([p.nonce, digest, hash('sha256', p.elicitationId, 'buffer')]));
}

export type PasskeyErrorCode =
  /** The response is rejected for `reason`. Retry with a new challenge. */
  | 'invalid'
  /** The user does not have this passkey. */
  | 'unknown_passkey';

export type PasskeyErrorReason =
  /** Not the JSON of a WebAuthn response. */
  | 'malformed'
  /** Created for another ceremony: other terms, another elicitation, or another time. */
  | 'challenge'
  /** Created on another origin, or on our page in a frame of another site. */
  | 'origin'
  /** Contains an attestation that was not requested. */
  | 'attestation'
  /** The credential ids inside and outside the signed data differ. */
  | 'credential_id'
  /** The authenticator stores it for another user. */
  | 'user_handle'
  /** Signature, RP id, user presence or verification, algorithm, counter, or the encoding of one of them. */
  | 'rejected';

/** Contains no part of the response. */
export class PasskeyError extends Error {
  override readonly name = 'PasskeyError';
  readonly code: PasskeyErrorCode;
  readonly reason: PasskeyErrorReason | undefined;

  constructor(code: 'unknown_passkey');
  constructor(code: 'invalid', reason: PasskeyErrorReason);
  constructor(code: PasskeyErrorCode, reason?: PasskeyErrorReason) {
    super(reason === undefined ? 'The passkey is unknown.' : `The passkey response was rejected (${reason}).`);
    this.code = code;
    this.reason = reason;
  }
}
