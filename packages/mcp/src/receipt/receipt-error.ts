/** Stable. Every code but `keys_unavailable` means: do not act on this receipt. */
export type ReceiptErrorCode =
  /** Not a compact JWS, or too long. */
  | 'malformed'
  /** A JWS, but of another type than a receipt. */
  | 'wrong_type'
  /** Not EdDSA: no other algorithm is ever tried, whatever the header says. */
  | 'wrong_algorithm'
  /** Signed with a key that the gateway does not publish (any more). */
  | 'unknown_key'
  /** The keys could not be fetched: nothing is known about the receipt, try again later. */
  | 'keys_unavailable'
  | 'wrong_signature'
  /** Signed, but not a receipt as this version knows it. */
  | 'invalid_claims'
  | 'wrong_issuer'
  /** For another MCP server. */
  | 'wrong_audience'
  /** The digest is not that of the terms. */
  | 'digest_mismatch'
  // From here on: a true receipt, but not the one that was expected.
  | 'wrong_kind'
  | 'wrong_elicitation'
  | 'wrong_subject'
  | 'wrong_digest'
  | 'wrong_amount'
  | 'wrong_payee'
  | 'wrong_reference'
  | 'wrong_processor'
  /** Paid in the test mode of the processor: no money has moved. `allowTestPayments` accepts it. */
  | 'test_payment'
  /** Approved in a weaker way than was expected. */
  | 'weak_approval'
  /** Approved too long ago, or in the future. */
  | 'wrong_time';

/** A receipt that must not be acted on. Holds nothing of it. */
export class ReceiptError extends Error {
  override readonly name = 'ReceiptError';
  readonly code: ReceiptErrorCode;

  constructor(code: ReceiptErrorCode, options?: ErrorOptions) {
    super(`The receipt was not accepted (${code}).`, options);
    this.code = code;
  }
}
