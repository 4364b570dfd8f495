import type { ElicitationBody, RedeemedElicitationBody } from '@postern/api';
import { isTerminal } from './elicitation-status.ts';
import { pursue } from './eras/pursue.ts';
import { GatewayError } from './errors.ts';
import { assertInTime, type Inquiry, issue, type Resolution, type Run } from './run.ts';
import { newStep, type Step } from './steps.ts';

/** The answer to a question; `result` is what was redeemed, once the user said yes to what leaves a result. */
export type Answer =
  | {
      readonly action: 'accept';
      readonly elicitation: ElicitationBody;
      readonly result: RedeemedElicitationBody | undefined;
    }
  | { readonly action: 'refused'; readonly resolution: Resolution };

/** Elicitations that one run tries to redeem before it gives up: each was taken by an equal call at the same moment. */
const MAX_ATTEMPTS = 5;

/**
 * The way of every question to its answer: from what this call already knows, by asking the user, and then by taking the
 * result. Where an equal call at the same time met the same elicitation and was faster, what was approved is not for this
 * call, and it asks anew.
 *
 * @throws {Suspension} when this call has to end before the user has decided
 * @throws {GatewayError}
 */
export async function answer(run: Run, inquiry: Inquiry): Promise<Answer> {
  for (let attempt = 1; ; attempt += 1) {
    const resolution = (await recall(run, inquiry)) ?? (await askAnew(run, inquiry));
    if (resolution.by === 'mcp-client') (await run.steps()).change(inquiry.key, { refused: resolution.action });
    if (resolution.by === 'mcp-client' || resolution.elicitation.status !== 'completed')
      return { action: 'refused', resolution };
    const { elicitation } = resolution;
    if (!inquiry.ask.leavesResult) return { action: 'accept', elicitation, result: undefined };
    const result = await redeem(run, inquiry, elicitation, attempt < MAX_ATTEMPTS);
    if (result !== undefined) return { action: 'accept', elicitation, result };
    (await run.steps()).forget(inquiry.key);
  }
}

/** Asks although there was an answer, because it is of no use any more. */
export async function answerAnew(run: Run, inquiry: Inquiry): Promise<Answer> {
  run.progress.key = inquiry.key;
  (await run.steps()).forget(inquiry.key);
  return await answer(run, inquiry);
}

/** How the question that this very call asked before stands now. */
async function recall(run: Run, inquiry: Inquiry): Promise<Resolution | undefined> {
  const { call, requestState } = run;
  const step = (await run.steps()).get(inquiry.key);
  if (step?.elicitationId === undefined) return undefined;
  const { elicitationId } = step;
  try {
    if (call.era === 'modern' && requestState?.open === inquiry.key && step.refused === undefined)
      return await pursue(run, inquiry, { isRetry: true, elicitationId });
    const elicitation = await run.environment.client.read(elicitationId, 0, inquiry.signal);
    if (isTerminal(elicitation))
      return (await isStale(run, inquiry, elicitation)) ? undefined : { by: 'gateway', elicitation };
    if (step.refused !== undefined) return { by: 'mcp-client', action: step.refused };
    await assertInTime(run, inquiry);
    return await pursue(run, inquiry, { isRetry: false, elicitation });
  } catch (error) {
    // Forgotten with time. What this call has had cannot be had again, and asking a second time would be worse than saying so.
    if (hasCode(error, 'not_found') && step.isDone === undefined) return undefined;
    throw error;
  }
}

/**
 * What this process remembers may be old: another replica may have asked again since, and the user may have agreed. An old
 * refusal must not hide that.
 */
async function isStale(run: Run, { ask, signal }: Inquiry, elicitation: ElicitationBody): Promise<boolean> {
  if (elicitation.status === 'completed' || ask.lasting === undefined || !(await run.steps()).areRemembered)
    return false;
  const lasting = await ask.lasting(run, signal);
  return lasting.some(({ updatedAt }) => updatedAt > (elicitation.endedAt ?? elicitation.expiresAt));
}

async function askAnew(run: Run, inquiry: Inquiry): Promise<Resolution> {
  const { ask, key, signal } = inquiry;
  const elicitation = await issue(run, ask, signal);
  const { elicitationId, expiresAt } = elicitation;
  // What lasts answers the next run as well as this one.
  if (ask.leavesResult || !isTerminal(elicitation)) {
    const step: Step = newStep({
      key,
      askedAt: run.environment.now(),
      expiresAt: Date.parse(expiresAt),
      elicitationId,
    });
    (await run.steps()).set(step);
  }
  if (isTerminal(elicitation)) return { by: 'gateway', elicitation };
  return await pursue(run, inquiry, { isRetry: false, elicitation });
}

/** The result, or undefined where another call has it. */
async function redeem(
  run: Run,
  { ask, key, signal }: Inquiry,
  elicitation: ElicitationBody,
  mayAskAnew: boolean,
): Promise<RedeemedElicitationBody | undefined> {
  const steps = await run.steps();
  const step = steps.get(key);
  if (step === undefined) throw new TypeError('a result without a step');
  const isTyped = ask.body.kind === 'credential' || ask.body.kind === 'form';
  const sealed = isTyped && run.environment.sealedOpener !== undefined;
  let result: RedeemedElicitationBody;
  try {
    result = await run.environment.client.redeem(
      elicitation.elicitationId,
      step.redemption,
      sealed ? { sealed: true } : {},
      signal,
    );
  } catch (error) {
    if (hasCode(error, 'already_redeemed') && step.isDone === undefined && mayAskAnew) return undefined;
    run.progress.unsettled.add(key);
    throw error;
  }
  if (result.kind !== ask.body.kind || result.elicitationId !== elicitation.elicitationId)
    throw new GatewayError('invalid_response', 'The gateway gave the result of something else.');
  steps.change(key, { isDone: true });
  return result;
}

export function hasCode(error: unknown, code: GatewayError['code']): boolean {
  return error instanceof GatewayError && error.code === code;
}
