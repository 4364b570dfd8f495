import {
  type ApprovalBody,
  confirmationRequestSchema,
  elicitationIdSchema,
  paymentRequestSchema,
  refundRequestSchema,
  textFor,
} from '@postern/api';
import { z } from 'zod/v4';
import { GatewayError } from '../errors.ts';
import { digestOf, signedTerms } from '../receipt/claims.ts';
import { digest } from '../run/ask-log.ts';
import { runSerially } from '../run/handler.ts';
import type { AskSpec, ToolRun } from '../run/run.ts';
import {
  type Accepted,
  answer,
  askOptionsSchema,
  bodyOptions,
  idempotencyKey,
  openAsk,
  outcomeOf,
  parseTerms,
} from './ask.ts';
import type {
  Approved,
  AskOptions,
  Confirmation,
  ConfirmationTerms,
  ConfirmOptions,
  Payment,
  PaymentTerms,
  Refund,
  RefundOptions,
} from './verbs.ts';

/** @throws {GatewayError} `invalid_response` if the approved terms differ from those of this call @internal */
export function approvedOf(
  { elicitation, result }: Accepted,
  outcome: { readonly digest: string; readonly approval: ApprovalBody },
  digest: string,
): Approved {
  const { elicitationId } = elicitation;
  if (outcome.digest !== digest || result === undefined || !('receipt' in result))
    throw new GatewayError('invalid_response', 'The gateway returned an approval of other terms.');
  return {
    action: 'accept',
    elicitationId,
    idempotencyKey: idempotencyKey(elicitationId),
    receipt: result.receipt,
    digest,
    approval: outcome.approval,
  };
}

export async function confirm(
  run: ToolRun,
  terms: ConfirmationTerms,
  options: ConfirmOptions = {},
): Promise<Confirmation> {
  const { spec, digest } = confirmationSpec(terms, options);
  return await runSerially(run, async () => {
    const answered = await answer(run, await openAsk(run, spec, options));
    if (answered.action !== 'accept') return answered;
    return approvedOf(answered, outcomeOf('confirmation', answered.elicitation), digest);
  });
}

const confirmOptionsSchema = askOptionsSchema.extend({ singleUse: z.literal(true).optional() });

/** @throws {PosternUsageError} `invalid_ask`, before anything is sent @internal */
export function confirmationSpec(asked: ConfirmationTerms, options: ConfirmOptions): { spec: AskSpec; digest: string } {
  const request = typeof asked === 'string' ? { title: asked } : asked;
  const confirmation = parseTerms('confirm', confirmationRequestSchema, request);
  const { title, danger } = confirmation;
  const terms = signedTerms(confirmation);
  return {
    digest: digestOf('confirmation', terms),
    spec: {
      about: { kind: 'confirmation', title: textFor(title, options.locale), danger },
      // Without the arguments: what a run keeps of its terms may be named in an error.
      terms,
      body: { kind: 'confirmation', confirmation, ...bodyOptions('confirm', options, confirmOptionsSchema) },
      needsRedemption: true,
    },
  };
}

export async function pay(run: ToolRun, terms: PaymentTerms, options: AskOptions = {}): Promise<Payment> {
  const { spec, digest } = paymentSpec(terms, options);
  return await runSerially(run, async () => {
    const answered = await answer(run, await openAsk(run, spec, options));
    if (answered.action !== 'accept') return answered;
    const outcome = outcomeOf('payment', answered.elicitation);
    const { processor, processorReference, mode } = outcome;
    return { ...approvedOf(answered, outcome, digest), processor, processorReference, mode };
  });
}

/** @throws {PosternUsageError} `invalid_ask`, before anything is sent @internal */
export function paymentSpec(request: PaymentTerms, options: AskOptions): { spec: AskSpec; digest: string } {
  const payment = parseTerms('pay', paymentRequestSchema, request);
  const { processor, ...terms } = payment;
  const { payee, amount, reference } = terms;
  return {
    digest: digestOf('payment', terms),
    spec: {
      about: { kind: 'payment', payee: payee.name, amount, reference },
      terms: payment,
      body: { kind: 'payment', payment, ...bodyOptions('pay', options) },
      needsRedemption: true,
    },
  };
}

const idSchema = z.object({ elicitationId: elicitationIdSchema.min(1) });
const optionsSchema = refundRequestSchema.extend({ idempotencyKey: z.string().min(1).optional() });

/** @throws {PosternUsageError} `invalid_ask`, before anything is sent */
export async function refund(
  { environment, log, handlerState }: ToolRun,
  elicitationId: string,
  options: RefundOptions,
): Promise<Refund> {
  parseTerms('refund', idSchema, { elicitationId });
  const { idempotencyKey, ...body } = parseTerms('refund', optionsSchema, options);
  const key = idempotencyKey ?? digest(['refund', body]);
  log.noteAnswer();
  const made = await environment.client.refund(elicitationId, key, body, handlerState.signal);
  // It pays for nothing any more, so no later call continues with it.
  if (body.minorUnits === undefined && made.status !== 'failed')
    for (const record of log.list()) if (record.elicitationId === elicitationId) handlerState.refused.add(record.key);
  return made;
}
