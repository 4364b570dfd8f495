import type { ConnectionId, ElicitationId } from './ids.ts';
import type { Subject } from './subject.ts';

/** The kinds of ask that exist. Each has one request shape and one outcome shape. */
export const kinds = ['authorization'] as const;
export type Kind = (typeof kinds)[number];

/** How the gateway learns that the browser belongs to the subject (design: "Same person"). */
export const identityModes = ['login', 'external', 'loopback'] as const;
export type IdentityMode = (typeof identityModes)[number];

export interface AuthorizationRequest {
  readonly kind: 'authorization';
  readonly provider: string;
  /** Sorted and without repeats. */
  readonly scopes: readonly string[];
  /** RFC 8707. */
  readonly resource?: string;
  /** The account id at the provider that must be connected, if the tool insists on one. */
  readonly expectedAccount?: string;
}

export type ElicitationRequest = AuthorizationRequest;

/** What the MCP server claims about who asked; shown as a claim, never trusted. */
export interface RequestedBy {
  readonly mcpClient?: string;
  readonly tool?: string;
}

export interface AuthorizationOutcome {
  readonly kind: 'authorization';
  readonly connectionId: ConnectionId;
  readonly provider: string;
  /** Granted by the provider, which may differ from what was asked. */
  readonly scopes: readonly string[];
}

export type Outcome = AuthorizationOutcome;

/** Why the user was brought back to the start of an attempt. */
export const troubles = [
  'provider_denied',
  'provider_unavailable',
  'provider_refused',
  'wrong_account',
  'fewer_scopes',
  'start_again',
] as const;
export type Trouble = (typeof troubles)[number];

export const failureCodes = [
  'wrong_person',
  'verification_expired',
  'provider_refused',
  'wrong_account',
  'fewer_scopes',
] as const;
export type FailureCode = (typeof failureCodes)[number];

/** The layout of stored records. A reader refuses a layout it does not know; two releases can share one Redis. */
export const RECORD_LAYOUT = 1;

interface ElicitationBase {
  readonly layout: typeof RECORD_LAYOUT;
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
