import { type PaymentRequestInput, paymentRequestSchema } from '@postern/api';
import { type AnswerTo, outcomeOf, toRefusal } from './answers.ts';
import { type Approved, approvedOf } from './approved.ts';
import { type Ask, type AskOptions, askDigest, bodyOptions, parseAsk } from './ask.ts';
import { digestOf } from './receipt/receipt-claims.ts';
import { answer } from './resolve.ts';
import { inTurn, openInquiry, type Run } from './run.ts';

/** Payee, amount in minor units, items that add up to it, your reference; and the processor, where several are configured. */
export type PaymentTerms = PaymentRequestInput;

/** The user has approved the payment; with a processor, it is paid. */
export interface PaymentAccepted extends Approved {
  /** `none`: nothing is paid yet, the approval allows you to charge. */
  readonly processor: string;
  /** The processor's own name for the payment. */
  readonly processorReference: string | undefined;
  /** As the processor says. `test`: no money has moved. Undefined without a processor. */
  readonly mode: 'live' | 'test' | undefined;
}

export type Payment = AnswerTo<PaymentAccepted>;

export async function pay(run: Run, terms: PaymentTerms, options: AskOptions = {}): Promise<Payment> {
  const { ask, digest } = createPaymentAsk(terms, options);
  return await inTurn(run, async () => {
    const answered = await answer(run, await openInquiry(run, ask, options));
    if (answered.action !== 'accept') return toRefusal(run, ask, answered.resolution);
    const outcome = outcomeOf('payment', answered.elicitation);
    const { processor, processorReference, mode } = outcome;
    return { ...approvedOf(answered, outcome, digest), processor, processorReference, mode };
  });
}

/** @throws {PosternUsageError} `invalid_ask`, before anything is sent */
export function createPaymentAsk(request: PaymentTerms, options: AskOptions): { ask: Ask; digest: string } {
  const payment = parseAsk('pay', paymentRequestSchema, request);
  const { processor, ...terms } = payment;
  const { payee, amount, reference } = terms;
  return {
    digest: digestOf('payment', terms),
    ask: {
      about: { kind: 'payment', payee: payee.name, amount, reference },
      digest: askDigest('payment', payment),
      body: { kind: 'payment', payment, ...bodyOptions('pay', options) },
      leavesResult: true,
    },
  };
}
