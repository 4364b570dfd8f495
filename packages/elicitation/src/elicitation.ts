import type { ElicitationId } from './ids.ts';
import type { NextElicitation } from './ports.ts';
import type { Approval, Charge, ElicitationRequest, Kind, Outcome, RequestOf } from './requests.ts';
import type { Subject } from './subject.ts';

/** How the gateway learns that the browser belongs to the subject (design: "Same person"). */
export const identityModes = ['login', 'external', 'loopback'] as const;
export type IdentityMode = (typeof identityModes)[number];

/** What the MCP server claims about who asked; shown as a claim, never trusted. */
export interface RequestedBy {
  readonly mcpClient?: string;
  readonly tool?: string;
}

/** Why the user was brought back to the start of an attempt. */
export const troubles = [
  'provider_denied',
  'provider_unavailable',
  'provider_refused',
  'wrong_account',
  'fewer_scopes',
  'start_again',
  /** The time at the processor ran out, or the person went back; nothing was paid. */
  'payment_not_finished',
  /** The live check says that what was typed does not work. */
  'credential_rejected',
  /** The live check could not be made. */
  'check_unavailable',
] as const;
export type Trouble = (typeof troubles)[number];

export const failureCodes = [
  'wrong_person',
  'verification_expired',
  'provider_refused',
  'wrong_account',
  'fewer_scopes',
  /** The processor will not take this payment. Nothing was paid. */
  'processor_refused',
  /** The processor says that something else was paid than was approved. Somebody must pay it back. */
  'payment_mismatch',
] as const;
export type FailureCode = (typeof failureCodes)[number];

/**
 * The layouts of stored elicitations that this release reads. It writes the one that it is told to: two releases can share one
 * Redis, and what one of them writes the other has to read. A layout that a reader does not know is refused, never guessed at.
 */
export const recordLayouts = [1, 2] as const;
export type RecordLayout = (typeof recordLayouts)[number];

/** What is written unless another is asked for; and the only layout of everything else that is stored. */
export const RECORD_LAYOUT = 1 satisfies RecordLayout;

interface ElicitationBase {
  readonly layout: RecordLayout;
  readonly elicitationId: ElicitationId;
  /** Counts committed moves, starting at 1; every write names the version it was decided on. */
  readonly version: number;
  readonly mcpServerId: string;
  readonly identityMode: IdentityMode;
  readonly subject: Subject;
  readonly request: ElicitationRequest;
  readonly message?: string;
  readonly requestedBy?: RequestedBy;
  readonly returnUrl?: string;
  /** Where in a trace it was issued (W3C Trace Context, version 00), if it was traced: what happens later refers to it. */
  readonly traceparent?: string;
  /** Epoch milliseconds on the store's clock, as are all times here. */
  readonly createdAt: number;
  readonly expiresAt: number;
}

export interface PendingElicitation extends ElicitationBase {
  readonly status: 'pending';
  /** Why the last attempt came back, if there was one. */
  readonly trouble?: Trouble;
  /** With `fewer_scopes`: what was asked and not granted. */
  readonly missing?: readonly string[];
}

export interface ActiveElicitation extends ElicitationBase {
  readonly status: 'active';
  /** Digest of the one-time value of the attempt in progress; an answer to any other attempt is stale. */
  readonly attempt: string;
  /**
   * For payments that a processor takes: the person has approved. From here on only what the processor says ends it, because it
   * may have been paid.
   */
  readonly approval?: Approval;
  /** Where it is paid, once the processor has said so. */
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
  /** When its result was redeemed; absent until then, and for kinds without one. */
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

/** Approved, and a processor has been or is about to be told: it may have been paid, whatever the time says. */
export function isCharging(
  elicitation: Elicitation,
): elicitation is ActiveElicitation & ElicitationOf<'payment'> & { readonly approval: Approval } {
  return elicitation.status === 'active' && elicitation.approval !== undefined;
}

/** Whether completing it leaves a result that its MCP server redeems once. A lasting credential is read instead. */
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
 * Whether this payment of the processor is the one the elicitation was completed by. When a processor says `paid` and this is
 * false after `settle`, money was taken that nothing is given for: somebody must pay it back.
 */
export function isPaidBy(elicitation: Elicitation, processorReference: string): boolean {
  return (
    elicitation.status === 'completed' &&
    elicitation.outcome.kind === 'payment' &&
    elicitation.outcome.processorReference === processorReference
  );
}

/** The processor's name for the payment that a move completes an elicitation with. */
export function paymentIn(next: NextElicitation): string | undefined {
  return next.status === 'completed' && next.outcome.kind === 'payment' ? next.outcome.processorReference : undefined;
}

/** Completed, and its result still waits for its MCP server: the person has answered and must not be asked again. */
export function isUnredeemed(elicitation: Elicitation): elicitation is CompletedElicitation {
  return (
    elicitation.status === 'completed' && elicitation.redeemedAt === undefined && isRedeemable(elicitation.request)
  );
}
