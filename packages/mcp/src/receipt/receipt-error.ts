/** Stable. Every code but `keys_unavailable` means: do not act on this receipt. */
export type ReceiptErrorCode =
  /** Not a compact JWS, or too long. */
  | 'malformed'
  /** A JWS, but of another type than a receipt. */
  | 'wrong_type'
  /** Not EdDSA. No other algorithm is accepted. */
  | 'wrong_algorithm'
  /** Signed with a key that the gateway does not publish. */
  | 'unknown_key'
  /** The keys could not be fetched, so the receipt is neither valid nor invalid. Retry later. */
  | 'keys_unavailable'
  | 'wrong_signature'
  /** Signed, but not a receipt that this version understands. */
  | 'invalid_claims'
  | 'wrong_issuer'
  /** For another MCP server. */
  | 'wrong_audience'
  /** The digest does not match the terms. */
  | 'digest_mismatch'
  // The codes below mean: authentic, but not the expected receipt.
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
  /** Approved with a weaker method than expected. */
  | 'weak_approval'
  /** Approved too long ago, or in the future. */
  | 'wrong_time';

/** The receipt must not be used. The error contains nothing from it, and at most the option that it was compared with. */
export class ReceiptError extends Error {
  override readonly name = 'ReceiptError';
  readonly code: ReceiptErrorCode;

  constructor(code: ReceiptErrorCode, { hint, ...options }: ErrorOptions & { readonly hint?: string } = {}) {
    super(`The receipt was not accepted (${code}).${hint === undefined ? '' : ` ${hint}`}`, options);
    this.code = code;
  }
}
