import { type ConfirmationRequestInput, confirmationRequestSchema } from '@postern/api';
import { type AnswerTo, outcomeOf, toRefusal } from './answers.ts';
import { type Approved, approvedOf } from './approved.ts';
import { type Ask, type AskOptions, askDigest, bodyOptions, parseAsk } from './ask.ts';
import { digestOf } from './receipt/receipt-claims.ts';
import { answer } from './resolve.ts';
import { inTurn, openInquiry, type Run } from './run.ts';

/** What the user says yes to: a short sentence, or with facts and a level of danger. */
export type ConfirmationTerms = string | ConfirmationRequestInput;

/** The user has said yes. */
export type ConfirmationAccepted = Approved;

export type Confirmation = AnswerTo<ConfirmationAccepted>;

export async function confirm(run: Run, terms: ConfirmationTerms, options: AskOptions = {}): Promise<Confirmation> {
  const { ask, digest } = createConfirmationAsk(terms, options);
  return await inTurn(run, async () => {
    const answered = await answer(run, await openInquiry(run, ask, options));
    if (answered.action !== 'accept') return toRefusal(run, ask, answered.resolution);
    return approvedOf(answered, outcomeOf('confirmation', answered.elicitation), digest);
  });
}

/** @throws {PosternUsageError} `invalid_ask`, before anything is sent */
export function createConfirmationAsk(terms: ConfirmationTerms, options: AskOptions): { ask: Ask; digest: string } {
  const request = typeof terms === 'string' ? { title: terms } : terms;
  const confirmation = parseAsk('confirm', confirmationRequestSchema, request);
  const { title, danger } = confirmation;
  return {
    digest: digestOf('confirmation', confirmation),
    ask: {
      about: { kind: 'confirmation', title, danger },
      digest: askDigest('confirmation', confirmation),
      body: { kind: 'confirmation', confirmation, ...bodyOptions('confirm', options) },
      leavesResult: true,
    },
  };
}
