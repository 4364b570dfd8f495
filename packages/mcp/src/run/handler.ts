import { randomUUID } from 'node:crypto';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import {
  asError,
  CapabilityMissingError,
  ElicitationFailedError,
  FormContentError,
  findError,
  GatewayError,
  PosternUsageError,
  SubjectUnavailableError,
} from '../errors.ts';
import { digest } from './ask-log.ts';
import { type AskRecord, assertBinding, type RequestState } from './request-state.ts';
import {
  closeAsk,
  denialMeta,
  type Environment,
  type HandlerEnd,
  type HandlerState,
  isPaymentMade,
  type OpenVerb,
  rememberCall,
  rememberForNext,
  startToolRun,
  type ToolRun,
} from './run.ts';
import {
  declinedToolResult,
  findSuspension,
  handlerOf,
  type LegacySessionCall,
  nameOf,
  type Principal,
  plainToolResult,
  Suspension,
  type ToolAnswer,
  type ToolCall,
} from './tool-call.ts';

/** Errors that end an ask: the next call asks again. */
const answers = [
  CapabilityMissingError,
  ElicitationFailedError,
  FormContentError,
  PosternUsageError,
  SubjectUnavailableError,
];

/**
 * Runs the asks of a run one after another, so that the log is complete whenever it is saved. Records a suspension before it is
 * thrown, to detect a handler that swallows it.
 */
export async function runSerially<T>({ handlerState }: ToolRun, work: () => Promise<T>): Promise<T> {
  const turn = handlerState.turn.then(async () => {
    if (handlerState.suspension !== undefined) throw handlerState.suspension;
    handlerState.key = undefined;
    try {
      const answer = await work();
      if (handlerState.key !== undefined) handlerState.interrupted.delete(handlerState.key);
      return answer;
    } catch (error) {
      if (error instanceof Suspension) handlerState.suspension = error;
      else if (handlerState.key !== undefined && !answers.some(kind => error instanceof kind))
        handlerState.interrupted.add(handlerState.key);
      throw error;
    }
  });
  handlerState.turn = turn.catch(() => undefined); // The caller handles the failure; the next ask only waits for the end.
  return await turn;
}

/**
 * The same verb for a handler. Its promise never settles once the handler has ended: the continuation of an ask that the handler did
 * not await must not act, and must not fail outside any request. A rejection counts as handled: a handler that starts several asks
 * and stops at the first failure does not await the others.
 */
export function forHandler<P extends unknown[], T>(
  { handlerState, environment, call, log }: ToolRun,
  verb: (...parameters: P) => Promise<T>,
): (...parameters: P) => Promise<T> {
  return function asked(...parameters) {
    const open: OpenVerb = { stack: stackAbove(asked) };
    handlerState.open.add(open);
    if (handlerState.hasGoneOn) log.noteAnswer();
    const ask = async () => {
      try {
        return await verb(...parameters);
      } catch (thrown) {
        const error = thrown instanceof Suspension ? thrown.copy() : thrown;
        const isOurs = [Suspension, PosternUsageError, GatewayError, SubjectUnavailableError].some(
          kind => error instanceof kind,
        );
        if (isOurs) atHandler(error as Error, open.stack);
        if (error instanceof Suspension) {
          handlerState.endedAt ??= open.stack;
          throw error;
        }
        handlerState.hasGoneOn = true;
        // A handler may turn the error into a result.
        if (!handlerState.hasEnded) environment.reportMistake(error, nameOf(call));
        throw error;
      }
    };
    return forHearer(handlerState, async () => {
      try {
        const answer = await ask();
        if (handlerState.hasEnded) await forever();
        handlerState.open.delete(open);
        return noted(answer, handlerState, open);
      } catch (error) {
        // A handler that awaits nothing ends within a turn, with the ask still open. Others may take the error as an answer.
        await setImmediate();
        if (!handlerState.hasEnded) handlerState.open.delete(open);
        throw error;
      }
    });
  };
}

/** The same answer. A refusal counts as unread until one of its members is read: an object is true in every `if`. */
function noted<T>(answer: T, handlerState: HandlerState, open: OpenVerb): T {
  if (typeof answer !== 'object' || answer === null || !('toToolResult' in answer)) return answer;
  handlerState.hasGoneOn = true;
  const { unread } = handlerState;
  const read = () => unread.delete(refusal);
  const refusal: object = new Proxy(answer, {
    get(target, name) {
      // A promise that resolves to it looks for `then`.
      if (name !== 'then') read();
      return Reflect.get(target, name) as unknown;
    },
    has(target, name) {
      read();
      return Reflect.has(target, name);
    },
    ownKeys(target) {
      read();
      return Reflect.ownKeys(target);
    },
    getOwnPropertyDescriptor(target, name) {
      read();
      return Reflect.getOwnPropertyDescriptor(target, name);
    },
  });
  unread.set(refusal, open);
  return refusal as T;
}

/** The stack above a function, or nothing where the program keeps stacks from being read. */
function stackAbove(below: (...parameters: never[]) => unknown): string {
  const at: { stack?: unknown } = {};
  try {
    Error.captureStackTrace(at, below);
    return String(at.stack ?? '');
  } catch {
    return '';
  }
}

/** Gives an error the stack of the handler's call of the verb. */
function atHandler<E extends Error>(error: E, stack: string): E {
  error.stack = stack.replace(/^[^\n]*/, () => `${error.name}: ${error.message}`);
  return error;
}

/**
 * Runs work for a handler. Its error is delivered only where the handler awaits it: where it does not, as in `items.forEach(async …)`, the
 * error would end the process.
 */
export function forHearer<T>(handlerState: HandlerEnd, work: () => Promise<T>): Promise<T> {
  // Something other than `await` waits, such as `then` or a compiled `await`.
  let isChained = false;
  const hear = async () => {
    try {
      return await work();
    } catch (error) {
      if (!(await isHeard(handlerState, isChained))) promise.catch(() => undefined);
      throw error;
    }
  };
  const promise = hear();
  const { then } = promise;
  Object.defineProperty(promise, 'then', {
    value(...handlers: Parameters<typeof then>) {
      isChained = true;
      return then.apply(promise, handlers);
    },
  });
  return promise;
}

/** A promise of its own each time: a shared one would keep all that waits for it. */
const forever = () => new Promise<never>(() => undefined);

/** Milliseconds for which an error waits for the end of a handler that does not seem to await it. */
const UNHEARD_MS = 2000;

/**
 * Returns whether something awaits an error of the gate. An `await` is found in the asynchronous stack. What is not found waits for the
 * end of the handler, for a short time. Never returns once the handler has ended. To be awaited by the function whose promise the handler
 * has, which must have no other reaction: the stack does not go on beyond two.
 *
 * @param isChained whether something else than `await` waits, which the stack may not show
 */
async function isHeard(handlerState: HandlerEnd, isChained: boolean): Promise<boolean> {
  const isAwaiting = isAwaited() || isChained;
  if (!isAwaiting && (await seesAwaits())) {
    const time = new AbortController();
    await Promise.race([
      handlerState.ended.promise,
      sleep(UNHEARD_MS, undefined, { signal: time.signal }).catch(() => {}),
    ]);
    time.abort();
  }
  if (handlerState.hasEnded) await forever();
  return isAwaiting;
}

/** Runs a handler. Its frame in an asynchronous stack shows that the handler awaits the frames above it, so no other function may have its name. @internal */
export async function runPosternHandler<T>(handler: () => T | Promise<T>): Promise<T> {
  return await handler();
}

/** True also where the stack cannot be read: programs may have frozen or replaced what reads it. */
function isAwaited(): boolean {
  const { stackTraceLimit, prepareStackTrace } = Error;
  const at: { stack?: unknown } = {};
  try {
    Error.stackTraceLimit = 1000;
    try {
      Error.prepareStackTrace = (_error, sites) => sites.map(site => site.getFunctionName());
      Error.captureStackTrace(at);
      return !Array.isArray(at.stack) || at.stack.includes(runPosternHandler.name);
    } finally {
      Error.stackTraceLimit = stackTraceLimit;
      Error.prepareStackTrace = prepareStackTrace;
    }
  } catch {
    return true;
  }
}

/** Whether this runtime has asynchronous stacks. */
async function seesAwaits(): Promise<boolean> {
  return await runPosternHandler(async () => {
    await undefined;
    return isAwaited();
  });
}

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
