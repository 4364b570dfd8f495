export type PasskeyErrorCode =
  /** The response proves nothing; `reason` says why, for the operator. Start again with a new challenge. */
  | 'invalid'
  /** It is of a passkey that this person does not have here (any more). */
  | 'unknown_passkey';

export type PasskeyErrorReason =
  /** Not the JSON of a WebAuthn response. */
  | 'malformed'
  /** Made for another ceremony: other terms, another elicitation, another time. */
  | 'challenge'
  /** Made on another page, or on ours inside a frame of another site. */
  | 'origin'
  /** An attestation that was not asked for. */
  | 'attestation'
  /** The names of the passkey inside and outside the signed data differ. */
  | 'credential_id'
  /** The authenticator holds it for somebody else. */
  | 'user_handle'
  /** Signature, RP id, user presence or verification, algorithm, counter, or the encoding of one of them. */
  | 'rejected';

/** Holds nothing of the response. */
export class PasskeyError extends Error {
  override readonly name = 'PasskeyError';
  readonly code: PasskeyErrorCode;
  readonly reason: PasskeyErrorReason | undefined;

  constructor(code: 'unknown_passkey');
  constructor(code: 'invalid', reason: PasskeyErrorReason);
  constructor(code: PasskeyErrorCode, reason?: PasskeyErrorReason) {
    super(reason === undefined ? 'The passkey is not known.' : `The passkey response was refused (${reason}).`);
    this.code = code;
    this.reason = reason;
  }
}
