import type { ElicitationId, Subject } from './ids.ts';
import type { Approval, Charge, ElicitationRequest, Kind, LocalText, Outcome, RequestOf } from './requests.ts';

/** How the gateway learns that the browser belongs to the subject (design: "Same person"). */
export const identityModes = ['login', 'external', 'loopback'] as const;
export type IdentityMode = (typeof identityModes)[number];

/** What the MCP server claims about the requester; shown as a claim, never trusted. */
export interface RequestedBy {
  readonly mcpClient?: string;
  readonly tool?: string;
}

/** Why an attempt ended without a result and the user may retry. */
export const retryReasons = [
  'provider_denied',
  'provider_unavailable',
  'provider_refused',
  'wrong_account',
  'fewer_scopes',
  'start_again',
  /** The processor's time limit passed, or the user went back. Nothing was paid. */
  'payment_not_finished',
  /** The live check found that the typed values do not work. */
  'credential_rejected',
  /** The live check was impossible. */
  'check_unavailable',
] as const;
export type RetryReason = (typeof retryReasons)[number];

export const failureCodes = [
  'wrong_person',
  'verification_expired',
  'provider_refused',
  'wrong_account',
  'fewer_scopes',
  /** The processor refuses this payment. Nothing was paid. */
  'processor_refused',
  /** The processor reports another payment than the approved one. The operator must refund it. */
  'payment_mismatch',
] as const;
export type FailureCode = (typeof failureCodes)[number];

interface ElicitationBase {
  readonly elicitationId: ElicitationId;
  /** Counts committed transitions, starting at 1. Every write names the version it was decided on. */
  readonly version: number;
  readonly mcpServerId: string;
  readonly identityMode: IdentityMode;
  readonly subject: Subject;
  readonly request: ElicitationRequest;
  readonly message?: LocalText;
  readonly requestedBy?: RequestedBy;
  readonly returnUrl?: string;
  /** The user's language, as the MCP server knows it (BCP 47). */
  readonly locale?: string;
  /** Trace context of the issue request (W3C Trace Context, version 00), if it was traced. Later spans link to it. */
  readonly traceparent?: string;
  /** Epoch milliseconds on the store's clock, like all times here. */
  readonly createdAt: number;
  readonly expiresAt: number;
}

export interface PendingElicitation extends ElicitationBase {
  readonly status: 'pending';
  /** Why the last attempt ended, if there was one. */
  readonly retryReason?: RetryReason;
  /** With `fewer_scopes`: the requested scopes that were not granted. */
  readonly missing?: readonly string[];
}

export interface ActiveElicitation extends ElicitationBase {
  readonly status: 'active';
  /** Digest of the one-time value of the attempt in progress. A response to any other attempt is stale. */
  readonly attempt: string;
  /**
   * For payments that a processor takes: the user has approved. From now on only the processor's result ends it, because the user
   * may have paid.
   */
  readonly approval?: Approval;
  /** Where the user pays, once the processor has returned it. */
  readonly charge?: Charge;
}

export interface VerifyingElicitation extends ElicitationBase {
  readonly status: 'verifying';
  /** Digest of the verification id that the external verifier must present. */
  readonly attempt: string;
}

export interface CompletedElicitation extends ElicitationBase {
  readonly status: 'completed';
  readonly outcome: Outcome;
  readonly endedAt: number;
  /** When the result was redeemed. Absent before that, and for kinds without a result. */
  readonly redeemedAt?: number;
}

export interface FailedElicitation extends ElicitationBase {
  readonly status: 'failed';
  readonly failure: FailureCode;
  readonly endedAt: number;
}

export interface EndedElicitation extends ElicitationBase {
  readonly status: 'declined' | 'cancelled' | 'expired';
  readonly endedAt: number;
}

export type Elicitation =
  | PendingElicitation
  | ActiveElicitation
  | VerifyingElicitation
  | CompletedElicitation
  | FailedElicitation
  | EndedElicitation;

export type ElicitationStatus = Elicitation['status'];
export type TerminalElicitation = CompletedElicitation | FailedElicitation | EndedElicitation;

export function isTerminal(elicitation: Elicitation): elicitation is TerminalElicitation {
  return 'endedAt' in elicitation;
}

export type ElicitationOf<K extends Kind> = Elicitation & { readonly request: RequestOf<K> };

export function isOfKind<K extends Kind>(elicitation: Elicitation, kind: K): elicitation is ElicitationOf<K> {
  return elicitation.request.kind === kind;
}

/** Approved, and sent to a processor or about to be: the user may have paid, even after `expiresAt`. */
export function isCharging(
  elicitation: Elicitation,
): elicitation is ActiveElicitation & ElicitationOf<'payment'> & { readonly approval: Approval } {
  return elicitation.status === 'active' && elicitation.approval !== undefined;
}

/** Whether its completion leaves a result that the MCP server redeems once. A lasting credential is read instead. */
export function isRedeemable(request: ElicitationRequest): boolean {
  switch (request.kind) {
    case 'authorization':
      return false;
    case 'credential':
      return request.retention === 'once';
    default:
      return true;
  }
}

/**
 * Whether this payment completed the elicitation. If a processor reports `paid` and this is false after `settle`, the user paid
 * for nothing, and the operator must refund it.
 */
export function isPaidBy(elicitation: Elicitation, processorReference: string): boolean {
  return (
    elicitation.status === 'completed' &&
    elicitation.outcome.kind === 'payment' &&
    elicitation.outcome.processorReference === processorReference
  );
}

/** Completed with a result that is not redeemed: the user has answered and must not be asked again. */
export function isUnredeemed(elicitation: Elicitation): elicitation is CompletedElicitation {
  return (
    elicitation.status === 'completed' && elicitation.redeemedAt === undefined && isRedeemable(elicitation.request)
  );
}
