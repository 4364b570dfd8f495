import { elicitationIdSchema, type RefundBody, type RefundRequestBody, refundRequestSchema } from '@postern/api';
import { z } from 'zod/v4';
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

const idSchema = z.object({ elicitationId: elicitationIdSchema.min(1) });
const optionsSchema = refundRequestSchema.extend({ idempotencyKey: z.string().min(1).optional() });

/** @throws {PosternUsageError} `invalid_ask`, before anything is sent */
export async function refund(
  { environment, log, progress }: ToolRun,
  elicitationId: string,
  options: RefundOptions,
): Promise<Refund> {
  parseTerms('refund', idSchema, { elicitationId });
  const { idempotencyKey, ...body } = parseTerms('refund', optionsSchema, options);
  const key = idempotencyKey ?? digest(['refund', body]);
  log.noteAnswer();
  const made = await environment.client.refund(elicitationId, key, body, progress.signal);
  // It pays for nothing any more, so no later call continues with it.
  if (body.minorUnits === undefined && made.status !== 'failed')
    for (const record of log.list()) if (record.elicitationId === elicitationId) progress.refused.add(record.key);
  return made;
}
