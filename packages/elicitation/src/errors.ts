/** Every code a caller of the domain can meet. They are part of the HTTP contract and never change their meaning. */
export const domainErrorCodes = [
  'not_found',
  'wrong_person',
  'illegal_transition',
  'already_ended',
  'request_changed',
  'unknown_provider',
  'provider_not_allowed',
  'kind_not_allowed',
  'issuer_not_allowed',
  'return_url_not_registered',
  'identity_mode_mismatch',
  'verification_unknown',
  'reauthorization_required',
  'processor_not_allowed',
  'currency_not_allowed',
  'amount_over_limit',
  'payment_in_progress',
  'not_redeemable',
  'already_redeemed',
  'too_many_elicitations',
  'quota_exceeded',
  'store_unavailable',
  'unknown_record_layout',
  'contention',
] as const;
export type DomainErrorCode = (typeof domainErrorCodes)[number];

/** A refusal the caller can act on. The message is safe to show and holds no outside text. */
export class DomainError extends Error {
  override name = 'DomainError';
  readonly code: DomainErrorCode;

  constructor(code: DomainErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/**
 * A stored record is of a layout that this release does not know, or does not have the form of its layout. It is left as it is:
 * another release may know it.
 */
export class UnknownRecordLayoutError extends DomainError {
  override name = 'UnknownRecordLayoutError';
  /** What the record says itself; absent where it says nothing. */
  readonly layout: number | undefined;
  constructor(layout?: number) {
    super('unknown_record_layout', 'A stored record has a layout this release cannot read.');
    this.layout = layout;
  }
}

/** Unknown and foreign ids are answered alike, so that nobody learns that an id exists. */
export class NotFoundError extends DomainError {
  override name = 'NotFoundError';
  constructor(noun: 'elicitation' | 'connection' | 'credential' = 'elicitation') {
    super('not_found', `No such ${noun}.`);
  }
}

/** The browser belongs to somebody else than the subject. Nothing about the elicitation may be shown. */
export class WrongPersonError extends DomainError {
  override name = 'WrongPersonError';
  constructor() {
    super('wrong_person', 'This elicitation is for somebody else.');
  }
}

/** The move is not in the table. */
export class IllegalTransitionError extends DomainError {
  override name = 'IllegalTransitionError';
  constructor(from: string, event: string) {
    super('illegal_transition', `A ${from} elicitation cannot ${event}.`);
  }
}

/** It has ended, or its time is over; nothing can be done to it any more. */
export class AlreadyEndedError extends DomainError {
  override name = 'AlreadyEndedError';
  readonly status: string;
  constructor(status: string) {
    super('already_ended', `The elicitation is already ${status}.`);
    this.status = status;
  }
}

/** Something else is asked, or more by now, than what the person was shown. They must see it before they agree. */
export class RequestChangedError extends DomainError {
  override name = 'RequestChangedError';
  constructor() {
    super('request_changed', 'Something else is asked than what was agreed to.');
  }
}

/** What was approved may have been paid; only what the processor says ends it. */
export function paymentInProgress(): DomainError {
  return new DomainError('payment_in_progress', 'The payment is being made.');
}

/** The subject was asked too often in a short time. `retryAfterMs` says when to come back. */
export class TooManyElicitationsError extends DomainError {
  override name = 'TooManyElicitationsError';
  readonly retryAfterMs: number;
  constructor(retryAfterMs: number) {
    super('too_many_elicitations', 'Too many new elicitations for this subject.');
    this.retryAfterMs = retryAfterMs;
  }
}

/** As much is stored for the MCP server as may be. Some of it expires after `retryAfterMs`. */
export class QuotaExceededError extends DomainError {
  override name = 'QuotaExceededError';
  readonly mcpServerId: string;
  readonly retryAfterMs: number;
  constructor(mcpServerId: string, retryAfterMs: number) {
    super('quota_exceeded', 'The storage quota of this MCP server is used up.');
    this.mcpServerId = mcpServerId;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The store did not answer in time or not at all. Whether the write happened is unknown; a repeat is harmless. */
export class StoreUnavailableError extends DomainError {
  override name = 'StoreUnavailableError';
  constructor(options?: ErrorOptions) {
    super('store_unavailable', 'The store is unavailable.', options);
  }
}
