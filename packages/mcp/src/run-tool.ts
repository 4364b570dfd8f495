import { digest } from './digest.ts';
import { asError, CapabilityMissingError, ElicitationTimeoutError, PosternUsageError } from './errors.ts';
import { createGateContext, type GateContext } from './gate-context.ts';
import { assertBinding, type RequestState } from './request-state.ts';
import { type Environment, endQuestions, type Run, rememberSteps, startRun } from './run.ts';
import type { Principal } from './subject.ts';
import { findError, findSuspension } from './suspension.ts';
import type { LegacySessionCall, ToolAnswer, ToolCall } from './tool-call.ts';
import { plainToolResult } from './tool-result.ts';

type UrlElicitationRequired = Extract<ToolAnswer, { type: 'url_elicitation_required' }>;

export type ToolOutcome<Result> = { readonly type: 'result'; readonly result: Result } | ToolAnswer;

/**
 * Runs a tool handler once and turns a suspension into the answer of the call's era.
 *
 * @throws {InvalidRequestStateError} before the handler runs
 * @throws whatever else the handler throws
 */
export async function runTool<Result>(
  shared: Environment,
  call: ToolCall,
  resolvePrincipal: () => Promise<Principal>,
  handler: (gate: GateContext) => Result | Promise<Result>,
): Promise<ToolOutcome<Result>> {
  const environment = inTraceOf(call, shared);
  // What the gateway says in the course of this call is not older.
  const startedAt = performance.now();
  let principal: Promise<Principal> | undefined;
  const memoized = () => (principal ??= resolvePrincipal());
  const argsDigest = digest(call.args);
  const requestState = await openRequestState(environment, call, memoized, argsDigest);
  const runOnce = () => settle(startRun({ environment, call, argsDigest, principal: memoized, requestState }), handler);

  const outcome = await runOnce();
  if (outcome.type !== 'url_elicitation_required' || call.era !== 'legacy-session') return outcome;
  return await promiseCompletion({ environment, call, startedAt }, outcome, runOnce);
}

function inTraceOf({ trace }: ToolCall, environment: Environment): Environment {
  const client = trace === undefined ? undefined : environment.tracedClient?.(trace);
  return client === undefined ? environment : { ...environment, client };
}

async function settle<Result>(
  run: Run,
  handler: (gate: GateContext) => Result | Promise<Result>,
): Promise<ToolOutcome<Result>> {
  let result: Result;
  try {
    result = await handler(createGateContext(run));
  } catch (error) {
    await endQuestions(run);
    const suspension = findSuspension(error);
    if (suspension !== undefined) {
      if (suspension.answer.type !== 'input_required') await rememberSteps(run);
      return suspension.answer;
    }
    if (run.progress.suspension !== undefined) throw swallowed(error);
    await rememberInterrupted(run, error);
    const missing = findError(error, CapabilityMissingError);
    if (missing !== undefined) return refusalOf(run.call, missing);
    throw error;
  }
  await endQuestions(run);
  if (run.progress.suspension !== undefined) throw swallowed(undefined);
  // What the handler was given is used up with its result, whatever that says; what it was not given is not.
  if (needsMemory(run)) await rememberSteps(run, run.progress.interrupted);
  return { type: 'result', result };
}

/**
 * A call that failed on the way to an answer is not over: made again, it goes on where it was. One whose handler failed of
 * itself is over, and what it was given is used up.
 */
async function rememberInterrupted(run: Run, error: unknown): Promise<void> {
  const { overdue } = run.progress;
  if (!needsMemory(run)) return;
  // The next call waits for the same elicitation, with time of its own.
  if (overdue !== undefined && findError(error, ElicitationTimeoutError) !== undefined)
    (await run.steps()).forget(overdue);
  await rememberSteps(run);
}

/**
 * What was interrupted is remembered for a call that carries nothing. One that came with a requestState may come with it again, and
 * nothing may go on from both; but a result that may be taken would be lost with this call, and paid for twice.
 */
function needsMemory({ progress, requestState }: Run): boolean {
  return requestState === undefined ? progress.interrupted.size > 0 : progress.unsettled.size > 0;
}

function refusalOf(call: ToolCall, { message }: CapabilityMissingError): ToolAnswer {
  return call.era === 'modern'
    ? { type: 'capability_missing', message }
    : // Revision 2025-11-25 has no error code for this.
      { type: 'plain', result: plainToolResult(message) };
}

interface Called {
  readonly environment: Environment;
  readonly call: LegacySessionCall;
  /** Of `performance.now()`. */
  readonly startedAt: number;
}

/**
 * −32042 obliges us to send the completion notice afterwards, to this session. The watch begins in the same turn of the
 * event loop in which the answer is written, so the notice cannot overtake it. Where the notice already went out (for a
 * parallel call that was answered with the same elicitation), the status is terminal by now and running the handler again
 * reads it.
 */
async function promiseCompletion<Result>(
  { environment, call, startedAt }: Called,
  answer: UrlElicitationRequired,
  runAgain: () => Promise<ToolOutcome<Result>>,
): Promise<ToolOutcome<Result>> {
  const promise = async ({ elicitation: { elicitationId }, expiresAt }: UrlElicitationRequired) => {
    try {
      await environment.sessionReplica?.promise(call.session, { elicitationId, expiresAt });
    } catch (error) {
      // What other replicas do not know of may not be promised.
      environment.onBackgroundError(asError(error));
      return undefined;
    }
    return environment.waiters.watch(call.session, { elicitationId, expiresAt }, startedAt);
  };
  const watch = await promise(answer);
  if (watch?.phase === 'waiting') return answer;
  if (watch === undefined) return { type: 'plain', result: answer.fallback };
  const outcome = await runAgain();
  if (outcome.type !== 'url_elicitation_required') return outcome;
  return (await promise(outcome))?.phase === 'waiting' ? outcome : { type: 'plain', result: outcome.fallback };
}

/** A handler that went on would act without the user's answer, and the user would never see the question. */
function swallowed(cause: unknown): PosternUsageError {
  return new PosternUsageError(
    'suspension_swallowed',
    'The tool handler caught the error by which ctx.gate suspends it. Rethrow it: see isElicitationPending().',
    { cause },
  );
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
  assertBinding(state, { issuer, subject, tool: call.toolName ?? '', args });
  return state;
}
