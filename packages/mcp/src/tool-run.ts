import { setImmediate } from 'node:timers/promises';
import { AskLog, type AskRecord, type CallKey, newCall, type RememberedCall } from './ask-log.ts';
import type { Environment } from './environment.ts';
import {
  CapabilityMissingError,
  ElicitationFailedError,
  FormContentError,
  GatewayError,
  PosternUsageError,
  SubjectUnavailableError,
} from './errors.ts';
import { forever, forHearer, type HandlerEnd } from './for-hearer.ts';
import { mayBePaid } from './gateway-client.ts';
import type { RequestState } from './request-state.ts';
import type { Principal } from './subject.ts';
import { Suspension } from './suspension.ts';
import type { About } from './texts.ts';
import { handlerOf, nameOf, showsForms, type ToolCall } from './tool-call.ts';

/** One run of a tool handler. A retried call is a new run. */
export interface ToolRun<Call extends ToolCall = ToolCall> {
  readonly environment: Environment;
  readonly call: Call;
  readonly argsDigest: string;
  /** Resolved at first use, so a handler without asks needs no user. */
  readonly principal: () => Promise<Principal>;
  /** Verified, and bound to this user, tool and arguments. */
  readonly requestState: RequestState | undefined;
  /** Asks of this run and of earlier runs of the call. */
  readonly log: AskLog;
  readonly progress: Progress;
  /** Verbs of `ctx.gate.try`: a refusal is returned to the handler instead of ending the call. */
  readonly returnsRefusals?: boolean;
}

const HANDLER_ENDED = new DOMException('The tool handler has ended.', 'AbortError');

/** State that changes while a handler runs. */
export class Progress implements HandlerEnd {
  hasEnded = false;
  readonly ended: HandlerEnd['ended'] = Promise.withResolvers();
  /** Set when the handler is suspended, to detect a handler that swallows the suspension. */
  suspension: Suspension | undefined;
  /** Key of the current ask. */
  key: string | undefined;
  /** Keys of asks that ended without an answer: the gateway was unavailable, or the MCP client gave up. */
  readonly interrupted = new Set<string>();
  /** The handler has got a refusal or an error, after which it may have acted otherwise. */
  hasGoneOn = false;
  /** Keys of asks that were refused, or whose payment the handler has paid back. */
  readonly refused = new Set<string>();
  /** Keys of asks whose result may be redeemed although this call did not receive it. */
  readonly unsettled = new Set<string>();
  /** What the handler has asked and not yet heard. A handler that returns meanwhile has gone on without the answer. */
  readonly open = new Set<OpenVerb>();
  /** Refusals that the handler has got and not looked at, with the verb of each. */
  readonly unread = new Map<unknown, OpenVerb>();
  /** The stack of the ask that has ended the handler. */
  endedAt: string | undefined;
  /** Key of the ask that reached its `answerWithinMs`. */
  overdue: string | undefined;
  /** Results of refusals: a handler that returns one ends the call with the refusal. */
  readonly refusals = new WeakSet<object>();
  /** The subject of an ask that the gateway refused because the user muted this MCP server. */
  muted: About | undefined;
  /** Settles when the previous ask has settled. */
  turn: Promise<unknown> = Promise.resolve();
  // Every call makes one, and `AbortSignal.any` takes ten times as long.
  readonly #asking = new AbortController();
  readonly #ofCall: AbortSignal;
  readonly #giveUp = () => this.#asking.abort(this.#ofCall.reason);

  constructor(ofCall: AbortSignal) {
    this.#ofCall = ofCall;
    if (ofCall.aborted) this.#giveUp();
    else ofCall.addEventListener('abort', this.#giveUp, { once: true });
  }

  /** Aborts when the MCP client gives up on the call, or when the handler ends. */
  get signal(): AbortSignal {
    return this.#asking.signal;
  }

  /** The handler has ended. Ends the asks that it no longer awaits, so that their progress is known. */
  async end(): Promise<void> {
    this.hasEnded = true;
    this.ended.resolve();
    this.#ofCall.removeEventListener('abort', this.#giveUp);
    this.#asking.abort(HANDLER_ENDED);
    await this.turn;
  }
}

/** A verb that the handler has called. */
export interface OpenVerb {
  /** Frames of the stack from the handler's call upwards. */
  readonly stack: string;
}

export async function startToolRun<Call extends ToolCall>(
  p: Omit<ToolRun<Call>, 'log' | 'progress'>,
): Promise<ToolRun<Call>> {
  return { ...p, log: await openLog(p), progress: new Progress(p.call.signal) };
}

async function openLog(run: Omit<ToolRun, 'log' | 'progress'>): Promise<AskLog> {
  const { recentCalls, now } = run.environment;
  if (run.requestState !== undefined) {
    const { call, asks } = run.requestState;
    recentCalls.discard(await callKey(run), asks);
    return new AskLog({ ...call, asks }, false);
  }
  // The user is needed here only if something is remembered; whether there is none is for the first ask to say.
  const key = recentCalls.isEmpty ? undefined : await callKey(run).catch(() => undefined);
  const remembered = key && recentCalls.take(key, await paidIn(run, recentCalls.equal(key)));
  return new AskLog({ ...newCall(now()), ...remembered }, remembered !== undefined);
}

/** Of several equal calls, the one whose payment the user has made continues first. */
async function paidIn(
  { environment, call }: Pick<ToolRun, 'environment' | 'call'>,
  calls: readonly RememberedCall[],
): Promise<RememberedCall | undefined> {
  if (calls.length < 2) return undefined;
  for (const remembered of calls)
    for (const { kind, elicitationId } of remembered.asks)
      if (kind === 'payment' && elicitationId !== undefined) {
        const read = environment.client.read(elicitationId, 0, call.signal);
        // The first ask of the run meets the same fault, and reports it.
        if (mayBePaid((await read.catch(() => undefined))?.status)) return remembered;
      }
  return undefined;
}

async function callKey(run: Pick<ToolRun, 'principal' | 'call' | 'argsDigest'>): Promise<CallKey> {
  const { issuer, subject } = await run.principal();
  return { user: JSON.stringify([issuer, subject]), call: JSON.stringify([handlerOf(run.call), run.argsDigest]) };
}

/** Remembers all asks for a repeated call. */
export async function rememberCall(run: ToolRun): Promise<void> {
  const asks = run.log.list();
  if (asks.length > 0) await remember(run, { ...run.log.call, asks });
}

/** Remembers these asks for the next call: the same one, or another with an id of its own. */
export async function rememberForNext(
  run: ToolRun,
  { asks, isCompleted }: { readonly asks: readonly AskRecord[]; readonly isCompleted: boolean },
): Promise<void> {
  if (asks.length > 0) await remember(run, { ...(isCompleted ? {} : run.log.call), asks });
}

async function remember(run: ToolRun, call: RememberedCall): Promise<void> {
  run.environment.recentCalls.remember(await callKey(run), { ...call, showedForms: showsForms(run.call) });
}

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
export async function runSerially<T>({ progress }: ToolRun, work: () => Promise<T>): Promise<T> {
  const turn = progress.turn.then(async () => {
    if (progress.suspension !== undefined) throw progress.suspension;
    progress.key = undefined;
    try {
      const answer = await work();
      if (progress.key !== undefined) progress.interrupted.delete(progress.key);
      return answer;
    } catch (error) {
      if (error instanceof Suspension) progress.suspension = error;
      else if (progress.key !== undefined && !answers.some(kind => error instanceof kind))
        progress.interrupted.add(progress.key);
      throw error;
    }
  });
  progress.turn = turn.catch(() => undefined); // The caller handles the failure; the next ask only waits for the end.
  return await turn;
}

/**
 * The same verb for a handler. Its promise never settles once the handler has ended: the continuation of an ask that the handler did
 * not await must not act, and must not fail outside any request. A rejection counts as handled: a handler that starts several asks
 * and stops at the first failure does not await the others.
 */
export function forHandler<P extends unknown[], T>(
  { progress, environment, call, log }: ToolRun,
  verb: (...parameters: P) => Promise<T>,
): (...parameters: P) => Promise<T> {
  return function asked(...parameters) {
    const open: OpenVerb = { stack: stackAbove(asked) };
    progress.open.add(open);
    if (progress.hasGoneOn) log.noteAnswer();
    const ask = async () => {
      try {
        return await verb(...parameters);
      } catch (thrown) {
        const error = thrown instanceof Suspension ? thrown.copy() : thrown;
        const isOurs = [Suspension, PosternUsageError, GatewayError, SubjectUnavailableError].some(
          kind => error instanceof kind,
        );
        if (isOurs) atHandler(error as Error, open.stack);
        if (error instanceof Suspension) progress.endedAt ??= open.stack;
        else progress.hasGoneOn = true;
        // A handler may turn the error into a result.
        if (!progress.hasEnded) environment.reportMistake(error, nameOf(call));
        throw error;
      }
    };
    return forHearer(progress, async () => {
      try {
        const answer = await ask();
        if (progress.hasEnded) await forever();
        progress.open.delete(open);
        return noted(answer, progress, open);
      } catch (error) {
        // A handler that awaits nothing ends within a turn, with the ask still open. Others may take the error as an answer.
        await setImmediate();
        if (!progress.hasEnded) progress.open.delete(open);
        throw error;
      }
    });
  };
}

/** The same answer. A refusal counts as unread until one of its members is read: an object is true in every `if`. */
function noted<T>(answer: T, progress: Progress, open: OpenVerb): T {
  if (typeof answer !== 'object' || answer === null || !('toToolResult' in answer)) return answer;
  progress.hasGoneOn = true;
  const { unread } = progress;
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
