import { createHash } from 'node:crypto';
import type { ElicitationBody } from '@postern/api';
import { type Ask, aboutOf } from './ask.ts';
import { ElicitationFailedError, GatewayError } from './errors.ts';
import type { Resolution, Run } from './run.ts';
import { type PlainToolResult, plainToolResult } from './tool-result.ts';

/** The user said no (`declined`), or the MCP client did not open the page (`client_declined`). */
export interface Declined {
  readonly action: 'decline';
  readonly reason: 'declined' | 'client_declined';
  /** A plain, honest result for the tool to return. */
  toToolResult(): PlainToolResult;
}

/** Nobody decided: cancelled through the API or in a form of the MCP client, out of time, or dismissed in the MCP client. */
export interface Cancelled {
  readonly action: 'cancel';
  readonly reason: 'cancelled' | 'expired' | 'client_cancelled';
  /** A plain, honest result for the tool to return. */
  toToolResult(): PlainToolResult;
}

/** What every verb answers, told apart by `action`. */
export type AnswerTo<Accepted extends { readonly action: 'accept' }> = Accepted | Declined | Cancelled;

/** What every result that is taken once has. */
export interface TakenOnce {
  readonly action: 'accept';
  readonly elicitationId: string;
  /**
   * Names this one answer, the same in every run that gets it. Do what the answer allows under this name (an
   * `Idempotency-Key`, a unique column): a retried call, a second copy of it, or one made again after a crash gets the same
   * answer and must not do it twice.
   */
  readonly idempotencyKey: string;
}

/** Not the elicitation's id itself, which opens a page and is nobody else's business. */
export function idempotencyKey(id: string): string {
  return createHash('sha256').update(`postern/mcp/idempotency-key/v1/${id}`).digest('base64url');
}

/** @throws {ElicitationFailedError} */
export function toRefusal(run: Run, ask: Ask, resolution: Resolution): Declined | Cancelled {
  if (resolution.by === 'mcp-client')
    return resolution.action === 'decline'
      ? refusal(run, ask, { action: 'decline', reason: 'client_declined' })
      : refusal(run, ask, { action: 'cancel', reason: 'client_cancelled' });
  const { elicitation } = resolution;
  switch (elicitation.status) {
    case 'declined':
      return refusal(run, ask, { action: 'decline', reason: 'declined' }, elicitation);
    case 'cancelled':
    case 'expired':
      return refusal(run, ask, { action: 'cancel', reason: elicitation.status }, elicitation);
    case 'failed':
      throw new ElicitationFailedError(elicitation.failure?.code ?? 'unknown', elicitation.elicitationId);
    default:
      throw new GatewayError('invalid_response', `An elicitation cannot end as ${elicitation.status}.`);
  }
}

export function refusal<R extends Omit<Declined, 'toToolResult'> | Omit<Cancelled, 'toToolResult'>>(
  { environment }: Run,
  ask: Ask,
  refused: R,
  elicitation?: ElicitationBody,
): R & { toToolResult(): PlainToolResult } {
  const text = () => environment.text({ kind: refused.reason, about: aboutOf(ask, elicitation) });
  return { ...refused, toToolResult: () => plainToolResult(text()) };
}

/** The outcome of a completed elicitation, of the kind that was asked for. */
export function outcomeOf<K extends ElicitationBody['kind']>(kind: K, { outcome }: ElicitationBody) {
  if (outcome?.kind !== kind) throw new GatewayError('invalid_response', `There is no outcome of kind ${kind}.`);
  return outcome as Extract<NonNullable<ElicitationBody['outcome']>, { kind: K }>;
}
