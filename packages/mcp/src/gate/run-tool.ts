import { randomUUID } from 'node:crypto';
import { denialMeta } from '../eras/plain.ts';
import { asError, CapabilityMissingError, findError, GatewayError, PosternUsageError } from '../errors.ts';
import { digest } from '../run/ask-log.ts';
import { atHandler, runPosternHandler } from '../run/handler.ts';
import { type AskRecord, assertBinding, type RequestState } from '../run/request-state.ts';
import {
  closeAsk,
  type Environment,
  isPaymentMade,
  rememberCall,
  rememberForNext,
  startToolRun,
  type ToolRun,
} from '../run/run.ts';
import {
  declinedToolResult,
  findSuspension,
  handlerOf,
  type LegacySessionCall,
  nameOf,
  type Principal,
  plainToolResult,
  type ToolAnswer,
  type ToolCall,
} from '../run/tool-call.ts';

type UrlElicitationRequired = Extract<ToolAnswer, { type: 'url_elicitation_required' }>;

export type ToolOutcome<Result> = { readonly type: 'result'; readonly result: Result } | ToolAnswer;

/**
 * Runs a tool handler once and converts a suspension to the answer of the call's era.
 *
 * @throws {InvalidRequestStateError} before the handler runs
 * @throws any other error of the handler
 */
export async function runTool<Result>(
  shared: Environment,
  call: ToolCall,
  resolvePrincipal: () => Promise<Principal>,
  handler: (run: ToolRun) => Result | Promise<Result>,
): Promise<ToolOutcome<Result>> {
  const environment = inTraceOf(call, shared);
  let principal: Promise<Principal> | undefined;
  const memoized = () => (principal ??= resolvePrincipal());
  try {
    const argsDigest = digest(call.args);
    const requestState = await openRequestState(environment, call, memoized, argsDigest);
    const runOnce = async () =>
      settle(await startToolRun({ environment, call, argsDigest, principal: memoized, requestState }), handler);

    const outcome = await runOnce();
    if (outcome.type !== 'url_elicitation_required' || call.era !== 'legacy-session') return outcome;
    return await promiseCompletion(environment, call, outcome, runOnce);
  } catch (error) {
    shared.reportMistake(error, nameOf(call));
    throw error;
  }
}

function inTraceOf({ trace }: ToolCall, environment: Environment): Environment {
  const client = trace === undefined ? undefined : environment.tracedClient?.(trace);
  return client === undefined ? environment : { ...environment, client };
}

async function settle<Result>(
  run: ToolRun,
  handler: (run: ToolRun) => Result | Promise<Result>,
): Promise<ToolOutcome<Result>> {
  let result: Result;
  try {
    result = await runPosternHandler(() => handler(run));
  } catch (error) {
    return await settleError(run, error);
  }
  return await settleResult(run, result);
}

/** The handler was suspended or refused, or has failed. */
async function settleError(run: ToolRun, error: unknown): Promise<ToolAnswer> {
  const { handlerState, environment, call, log } = run;
  await handlerState.end();
  const suspension = findSuspension(error);
  if (suspension !== undefined) {
    if (suspension.isRefusal) await endCall(run, 'refusal');
    else if (suspension.answer.type !== 'input_required') await rememberCall(run);
    return suspension.answer;
  }
  await endCall(run, 'error');
  if (handlerState.suspension !== undefined) throw swallowed(run, error);
  const missing = findError(error, CapabilityMissingError);
  if (missing !== undefined) return refusalOf(run, missing);
  const refused = findError(error, GatewayError);
  const about = refused?.code === 'muted' ? handlerState.muted : undefined;
  if (about === undefined) throw error;
  const { mayHaveActed } = log;
  const text = environment.text({ kind: 'muted', about, undoUrl: refused?.undoUrl, mayHaveActed });
  return { type: 'plain', result: declinedToolResult(text, call, denialMeta(run, 'unavailable')) };
}

async function settleResult<Result>(run: ToolRun, result: Result): Promise<ToolOutcome<Result>> {
  const { handlerState, environment, call } = run;
  const { open, unread } = handlerState;
  unread.delete(result);
  const mistakes = [
    ...[...open].map(({ stack }) => mistakeAt(call, stack, 'ask_not_awaited', 'without awaiting what it asked')),
    ...[...unread.values()].map(({ stack }) =>
      mistakeAt(call, stack, 'refusal_ignored', 'without reading the refusal that it got'),
    ),
  ];
  await handlerState.end();
  for (const mistake of mistakes) environment.reportMistake(mistake, nameOf(call));
  const hasFailed = handlerState.suspension !== undefined || mistakes.length > 0;
  const isRefusal = typeof result === 'object' && result !== null && handlerState.refusals.has(result);
  await endCall(run, hasFailed ? 'error' : isRefusal ? 'refusal' : 'result');
  if (hasFailed) throw swallowed(run, mistakes[0]);
  return { type: 'result', result };
}

/**
 * Remembers what the next call needs of this one. A result of the handler uses up the answers that it received. So do a refusal and an
 * error, except for payments: the handler may not have done what the user has paid for. A call that was interrupted while it waited for
 * an answer continues where it was, unless it has a requestState and may return with it.
 */
async function endCall(run: ToolRun, by: 'result' | 'refusal' | 'error'): Promise<void> {
  const { handlerState, requestState, log } = run;
  const { interrupted, unsettled, refused, overdue } = handlerState;
  // The next call waits for the same elicitation, with its own `answerWithinMs`.
  if (overdue !== undefined) log.update(overdue, { askedAt: 0 });
  const hasState = requestState !== undefined;
  if (by === 'error' && !hasState && (interrupted.size > 0 || (log.isRemembered && !log.hasAsked)))
    return await rememberCall(run);
  const payments = log.openPayments({ refused, isUsed: by === 'result' });
  const keys = new Set([...payments, ...unsettled, ...(hasState ? [] : interrupted)]);
  // A refusal by the MCP client was for the call that has ended.
  const kept = log.list().flatMap(({ refused: _, ...record }) => (keys.has(record.key) ? record : []));
  const isPayment = ({ kind }: AskRecord) => kind === 'payment';
  // A result completes a call: no effect of the next one may be taken for a repetition. A call with a payment goes on as the same
  // otherwise, and so does one whose payment this run has not reached.
  const unreached = by === 'result' ? log.unreachedPayments() : [];
  if (kept.length + unreached.length === 0) return;
  const mayComplete = by === 'result' ? unreached.length === 0 : !kept.some(isPayment);
  const signal = AbortSignal.timeout(ANSWER_MS);
  if (!mayComplete) {
    await rememberForNext(run, { asks: kept, isCompleted: false });
    for (const record of unreached)
      await isSettled(run, record, async () => !(await isPaymentMade(run, record, signal)));
    return;
  }
  // No other call could ask for a payment that names this one. If the user is paying, or has paid meanwhile, the call goes on as the same.
  const open: AskRecord[] = [];
  const others: AskRecord[] = [];
  for (const record of kept) {
    const isBound = isPayment(record) && record.namesCall === true && record.isDone === undefined;
    if (!isBound) others.push(record);
    else if (!(await isSettled(run, record, () => closeAsk(run, record, signal)))) open.push(record);
  }
  const isCompleted = open.length === 0;
  await rememberForNext(run, {
    asks: isCompleted ? others.map(record => left(run, record)) : [...open, ...others],
    isCompleted,
  });
}

/** It is redeemed with another key, so that of several copies of a `requestState` one gets the answer. */
function left({ handlerState }: ToolRun, record: AskRecord): AskRecord {
  if (record.isDone || handlerState.unsettled.has(record.key)) return record;
  return { ...record, isLeft: true, redemption: randomUUID() };
}

/** A result waits this long for what the gateway says of its payments, in ms. */
const ANSWER_MS = 10_000;

/** Returns whether a payment that the handler did not wait for cannot move money. Otherwise, the author is told. */
async function isSettled(
  run: ToolRun,
  { elicitationId, isDone }: AskRecord,
  ask: () => Promise<boolean>,
): Promise<boolean> {
  const { environment, call } = run;
  if (isDone) return true;
  try {
    if (await ask()) return true;
    const text = `The payment ${elicitationId} is made or in progress, but ${nameOf(call)} has returned without it. The next equal call gets it.`;
    environment.reportMistake(new PosternUsageError('payment_left', text), nameOf(call));
  } catch (error) {
    // The result of the handler must not be lost.
    environment.onBackgroundError(asError(error));
  }
  return false;
}

function refusalOf(run: ToolRun, { message }: CapabilityMissingError): ToolAnswer {
  return run.call.era === 'modern'
    ? { type: 'capability_missing', message }
    : // Revision 2025-11-25 has no error code for this.
      { type: 'plain', result: plainToolResult(message, denialMeta(run, 'undisclosed')) };
}

/**
 * After −32042 the completion notice must be sent to this session. The watch begins in the turn of the event loop that writes the
 * response, so the notice cannot overtake it. If a parallel call with the same elicitation has already caused the notice, the status
 * is terminal, and running the handler again reads it.
 */
async function promiseCompletion<Result>(
  environment: Environment,
  call: LegacySessionCall,
  answer: UrlElicitationRequired,
  runAgain: () => Promise<ToolOutcome<Result>>,
): Promise<ToolOutcome<Result>> {
  const promise = async ({ elicitation: { elicitationId }, expiresAt }: UrlElicitationRequired) => {
    try {
      await environment.sessionReplica?.promise(call.session, { elicitationId, expiresAt });
    } catch (error) {
      // The notice may be promised only if the other replicas know about it.
      environment.onBackgroundError(asError(error));
      return undefined;
    }
    return environment.completionNotices.watch(call.session, { elicitationId, expiresAt });
  };
  const watch = await promise(answer);
  if (watch?.phase === 'waiting') return answer;
  if (watch === undefined) return { type: 'plain', result: answer.fallback };
  const outcome = await runAgain();
  if (outcome.type !== 'url_elicitation_required') return outcome;
  return (await promise(outcome))?.phase === 'waiting' ? outcome : { type: 'plain', result: outcome.fallback };
}

/** Names the line of the handler that has asked. */
function mistakeAt(
  call: ToolCall,
  stack: string,
  code: 'ask_not_awaited' | 'refusal_ignored',
  what: string,
): PosternUsageError {
  const [, frame = 'at an unknown line'] = stack.split('\n');
  return atHandler(
    new PosternUsageError(
      code,
      `${nameOf(call)} has returned ${what} ${frame.trim()}, so what follows it may have run`,
    ),
    stack,
  );
}

/** A handler that continued would act without the user's answer, and the user would never be asked. */
function swallowed({ handlerState: { endedAt } }: ToolRun, cause: unknown): PosternUsageError {
  const error = new PosternUsageError(
    'suspension_swallowed',
    'The tool handler went on without an answer, so what follows the ask may have run. Await every ask of ctx.gate, rethrow its error (see isElicitationPending()), and read the action of every answer of ctx.gate.try.',
    { cause },
  );
  return endedAt === undefined ? error : atHandler(error, endedAt);
}

async function openRequestState(
  environment: Environment,
  call: ToolCall,
  principal: () => Promise<Principal>,
  args: string,
): Promise<RequestState | undefined> {
  if (call.era !== 'modern' || call.requestState === undefined) return undefined;
  const state = await environment.codec.open(call.requestState);
  const { issuer, subject } = await principal();
  assertBinding(state, { issuer, subject, tool: handlerOf(call), args });
  return state;
}
