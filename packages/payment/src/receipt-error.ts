/**
 * Why there is no receipt or no key. Part of nothing outside: an operator reads it at start, or in the log of a request that
 * became an internal error.
 */
export type ReceiptErrorCode =
  /** A configured key is not what it must be. */
  | 'invalid_key'
  /** Two keys have one name. */
  | 'duplicate_kid'
  /** There is no first key, or it is a public one, which cannot sign. */
  | 'no_signing_key'
  /** The record is of another kind, of another MCP server, or its request and its outcome are about different things. */
  | 'unsuitable_record'
  /** The digest that was approved is not that of the terms in the record. */
  | 'digest_mismatch';

/** The message names a kid or an elicitation at most, never a key. */
export class ReceiptError extends Error {
  override readonly name = 'ReceiptError';
  readonly code: ReceiptErrorCode;

  constructor(code: ReceiptErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
