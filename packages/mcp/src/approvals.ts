import {
  type ApprovalBody,
  type ConfirmationRequestInput,
  confirmationRequestSchema,
  type PaymentRequestInput,
  paymentRequestSchema,
  textFor,
} from '@postern/api';
import { type Accepted, type AnswerTo, answer, idempotencyKey, outcomeOf, type TakenOnce } from './answer.ts';
import { type AskOptions, type AskSpec, bodyOptions, openAsk, parseTerms } from './ask.ts';
import { GatewayError } from './errors.ts';
import { digestOf } from './receipt/receipt-claims.ts';
import { runSerially, type ToolRun } from './tool-run.ts';

/** A user's approval, with proof. */
export interface Approved extends TakenOnce {
  /**
   * The gateway's signed record (JWS) of the approver, the terms, the time and the method. `createReceiptVerifier` verifies it
   * offline at any time.
   */
  readonly receipt: string;
  /** SHA-256 (base64url) of the canonical JSON (RFC 8785) of the kind and the terms that were approved. */
  readonly digest: string;
  readonly approval: ApprovalBody;
}

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

/** The content of a confirmation: a title, or a title with an action for the button, facts and a level of danger. */
export type ConfirmationTerms = string | ConfirmationRequestInput;

/** The user has confirmed. */
export type ConfirmationAccepted = Approved;

export type Confirmation = AnswerTo<ConfirmationAccepted>;

export async function confirm(run: ToolRun, terms: ConfirmationTerms, options: AskOptions = {}): Promise<Confirmation> {
  const { spec, digest } = confirmationSpec(terms, options);
  return await runSerially(run, async () => {
    const answered = await answer(run, await openAsk(run, spec, options));
    if (answered.action !== 'accept') return answered;
    return approvedOf(answered, outcomeOf('confirmation', answered.elicitation), digest);
  });
}

/** @throws {PosternUsageError} `invalid_ask`, before anything is sent @internal */
export function confirmationSpec(terms: ConfirmationTerms, options: AskOptions): { spec: AskSpec; digest: string } {
  const request = typeof terms === 'string' ? { title: terms } : terms;
  const confirmation = parseTerms('confirm', confirmationRequestSchema, request);
  const { title, danger } = confirmation;
  return {
    digest: digestOf('confirmation', confirmation),
    spec: {
      about: { kind: 'confirmation', title: textFor(title, options.locale), danger },
      terms: confirmation,
      body: { kind: 'confirmation', confirmation, ...bodyOptions('confirm', options) },
      needsRedemption: true,
    },
  };
}

/** Payee, amount in minor units, items that add up to it, your reference; and the processor, if several are configured. */
export type PaymentTerms = PaymentRequestInput;

/** The user has approved the payment; with a processor, it is paid. */
export interface PaymentAccepted extends Approved {
  /** `none`: nothing is paid yet, the approval allows you to charge. */
  readonly processor: string;
  /** The payment's reference at the processor. */
  readonly processorReference: string | undefined;
  /** As reported by the processor. `test`: no money has moved. Undefined without a processor. */
  readonly mode: 'live' | 'test' | undefined;
}

export type Payment = AnswerTo<PaymentAccepted>;

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
