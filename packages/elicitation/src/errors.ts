/** Every error code of the domain. The codes are part of the HTTP contract and never change their meaning. */
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
  'payment_not_paid',
  'payment_disputed',
  'refund_exceeds_payment',
  'too_many_refunds',
  'daily_limit_reached',
  'not_redeemable',
  'already_redeemed',
  'too_many_elicitations',
  'too_many_open_elicitations',
  'muted',
  'quota_exceeded',
  'store_unavailable',
  'unknown_record_layout',
  'contention',
  'idempotency_key_reused',
] as const;
export type DomainErrorCode = (typeof domainErrorCodes)[number];

/** A refusal that the caller can act on. The message is safe to show and contains no outside text. */
export class DomainError extends Error {
  override name = 'DomainError';
  readonly code: DomainErrorCode;

  constructor(code: DomainErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/**
 * A stored record has a layout that this release does not know, or does not match its layout. It stays unchanged, because another
 * release may know it.
 */
export class UnknownRecordLayoutError extends DomainError {
  override name = 'UnknownRecordLayoutError';
  /** The layout that the record names; absent if it names none. */
  readonly layout: number | undefined;
  constructor(layout?: number) {
    super('unknown_record_layout', 'A stored record has a layout this release cannot read.');
    this.layout = layout;
  }
}

/** Unknown ids and ids of other owners get the same response, which does not reveal whether an id exists. */
export class NotFoundError extends DomainError {
  override name = 'NotFoundError';
  constructor(noun: 'elicitation' | 'connection' | 'credential' | 'payment' = 'elicitation') {
    super('not_found', `No such ${noun}.`);
  }
}

/** The browser belongs to another person than the subject. Show nothing about the elicitation. */
export class WrongPersonError extends DomainError {
  override name = 'WrongPersonError';
  constructor() {
    super('wrong_person', 'This elicitation is for somebody else.');
  }
}

/** Thrown when the transition table has no entry for this event. */
export class IllegalTransitionError extends DomainError {
  override name = 'IllegalTransitionError';
  constructor(from: string, event: string) {
    super('illegal_transition', `A ${from} elicitation cannot ${event}.`);
  }
}

/** The elicitation has ended or expired; it cannot change any more. */
export class AlreadyEndedError extends DomainError {
  override name = 'AlreadyEndedError';
  readonly status: string;
  constructor(status: string) {
    super('already_ended', `The elicitation is already ${status}.`);
    this.status = status;
  }
}

/** The request differs from the one on the page. The user must see it before they agree. */
export class RequestChangedError extends DomainError {
  override name = 'RequestChangedError';
  constructor() {
    super('request_changed', 'Something else is asked than what was agreed to.');
  }
}

/** The user may have paid; only the processor's result ends the elicitation. */
export function paymentInProgress(): DomainError {
  return new DomainError('payment_in_progress', 'The payment is being made.');
}

/** The approval would raise the user's approvals of a day, here `spent`, above the given limit. */
export class DailyLimitError extends DomainError {
  override name = 'DailyLimitError';
  /** Minor units of the other payments of the last 24 hours. */
  readonly spent: number;
  constructor(spent: number) {
    super('daily_limit_reached', 'Together with other payments of the day, this is above the limit.');
    this.spent = spent;
  }
}

/** The subject got too many elicitations in a short time. Retry after `retryAfterMs`. */
export class TooManyElicitationsError extends DomainError {
  override name = 'TooManyElicitationsError';
  readonly retryAfterMs: number;
  constructor(retryAfterMs: number) {
    super('too_many_elicitations', 'Too many new elicitations for this subject.');
    this.retryAfterMs = retryAfterMs;
  }
}

/** The subject has too many open elicitations of this MCP server. The first of them expires after `retryAfterMs`. */
export class TooManyOpenElicitationsError extends DomainError {
  override name = 'TooManyOpenElicitationsError';
  readonly retryAfterMs: number;
  constructor(retryAfterMs: number) {
    super('too_many_open_elicitations', 'Too many open elicitations for this subject.');
    this.retryAfterMs = retryAfterMs;
  }
}

/** The MCP server has reached its storage quota. Some records expire after `retryAfterMs`. */
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

/** The store did not answer in time. Whether the write happened is unknown; a repeat is harmless. */
export class StoreUnavailableError extends DomainError {
  override name = 'StoreUnavailableError';
  constructor(options?: ErrorOptions) {
    super('store_unavailable', 'The store is unavailable.', options);
  }
}

/** Whether another transition, a decision or the expiry came first. The stored status is authoritative, and its page shows it. */
export function isSuperseded(error: unknown): boolean {
  return error instanceof DomainError && (error.code === 'already_ended' || error.code === 'illegal_transition');
}

/** Runs a transition that another may supersede. */
export async function ignoreSuperseded(move: Promise<unknown>): Promise<void> {
  try {
    await move;
  } catch (error) {
    if (!isSuperseded(error)) throw error;
  }
}

/** Another transition was committed first, too many times in a row. */
export function contention(): DomainError {
  return new DomainError('contention', 'The elicitation is changing too fast.');
}
