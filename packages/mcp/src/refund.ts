import { type RefundBody, type RefundRequestBody, refundRequestSchema } from '@postern/api';
import { parseTerms } from './ask.ts';
import { digest } from './digest.ts';
import type { ToolRun } from './tool-run.ts';

export interface RefundOptions extends RefundRequestBody {
  /**
   * Names the refund: the same key of the same payment is the same refund. Default: derived from amount and reason, so that a repeated tool
   * call refunds nothing twice. Pass your own to make a second refund of the same amount and reason.
   */
  readonly idempotencyKey?: string;
}

/** `pending`: the processor has not confirmed it yet. `failed`: nothing was paid back. */
export type Refund = RefundBody;

/** @throws {PosternUsageError} `invalid_ask`, before anything is sent */
export async function refund(
  { environment, progress }: ToolRun,
  elicitationId: string,
  { idempotencyKey, ...options }: RefundOptions,
): Promise<Refund> {
  const body = parseTerms('refund', refundRequestSchema, options);
  const key = idempotencyKey ?? digest(['refund', body]);
  progress.mayHaveActed = true;
  return await environment.client.refund(elicitationId, key, body, progress.signal);
}
