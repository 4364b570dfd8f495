import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import {
  CapabilityMissingError,
  ElicitationFailedError,
  FormContentError,
  GatewayError,
  PosternUsageError,
  SubjectUnavailableError,
} from '../errors.ts';
import type { HandlerEnd, HandlerState, OpenVerb, ToolRun } from './run.ts';
import { nameOf, Suspension } from './tool-call.ts';

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
export function atHandler<E extends Error>(error: E, stack: string): E {
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

/** Runs a handler. Its frame in an asynchronous stack shows that the handler awaits the frames above it, so no other function may have its name. */
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
