import type { ApprovalBody } from '@postern/api';
import { idempotencyKey, type TakenOnce } from './answers.ts';
import { GatewayError } from './errors.ts';
import type { Answer } from './resolve.ts';

/** What the user approved, and the proof of it. */
export interface Approved extends TakenOnce {
  /**
   * The gateway's signed record (JWS) of who approved what, when and how. `createReceiptVerifier` checks it, also later and
   * elsewhere.
   */
  readonly receipt: string;
  /** SHA-256 (base64url) of the canonical JSON (RFC 8785) of the kind and the terms that were approved. */
  readonly digest: string;
  readonly approval: ApprovalBody;
}

/** @throws {GatewayError} `invalid_response` where something else was approved than this call asked for */
export function approvedOf(
  { elicitation, result }: Extract<Answer, { action: 'accept' }>,
  outcome: { readonly digest: string; readonly approval: ApprovalBody },
  digest: string,
): Approved {
  const { elicitationId } = elicitation;
  if (outcome.digest !== digest || result === undefined || !('receipt' in result))
    throw new GatewayError('invalid_response', 'The gateway answered for other terms than were asked.');
  return {
    action: 'accept',
    elicitationId,
    idempotencyKey: idempotencyKey(elicitationId),
    receipt: result.receipt,
    digest,
    approval: outcome.approval,
  };
}
