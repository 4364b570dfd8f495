import { AskLog, type CallKey } from './ask-log.ts';
import type { Environment } from './environment.ts';
import {
  CapabilityMissingError,
  ElicitationFailedError,
  FormContentError,
  PosternUsageError,
  SubjectUnavailableError,
} from './errors.ts';
import type { RequestState } from './request-state.ts';
import type { Principal } from './subject.ts';
import { Suspension } from './suspension.ts';
import type { About } from './texts.ts';
import type { ToolCall } from './tool-call.ts';

/** One run of a tool handler. A retried call is a new run. */
export interface ToolRun<Call extends ToolCall = ToolCall> {
  readonly environment: Environment;
  readonly call: Call;
  readonly argsDigest: string;
  /** Resolved at first use, so a handler without asks needs no user. */
  readonly principal: () => Promise<Principal>;
  /** Verified, and bound to this user, tool and arguments. */
  readonly requestState: RequestState | undefined;
  /** Asks of this run and of earlier runs of the call. Opened at first use. */
  readonly log: () => Promise<AskLog>;
  readonly progress: Progress;
  /** A refusal ends the call instead of being returned to the handler. */
  readonly isRequired?: boolean;
}

/** State that changes while a handler runs. */
export interface Progress {
  /** Set when the handler is suspended, to detect a handler that swallows the suspension. */
  suspension: Suspension | undefined;
  /** Key of the current ask. */
  key: string | undefined;
  /** Keys of asks that ended without an answer: the gateway was unavailable, or the MCP client gave up. */
  readonly interrupted: Set<string>;
  /** Keys of asks whose result may be redeemed although this call did not receive it. */
  readonly unsettled: Set<string>;
  /** Asks of `require` that have not settled. A handler that ends meanwhile has gone on without the answer. */
  requiredOpen: number;
  /** Key of the ask that reached its `answerWithinMs`. */
  overdue: string | undefined;
  /** The subject of an ask that the gateway refused because the user muted this MCP server. */
  muted: About | undefined;
  /** Settles when the previous ask has settled. */
  turn: Promise<unknown>;
  /** Aborts when the MCP client gives up on the call, or when the handler ends. */
  readonly signal: AbortSignal;
  /** Aborts `signal`, because the handler has ended. */
  readonly end: () => void;
}

const HANDLER_ENDED = new DOMException('The tool handler has ended.', 'AbortError');

export function startToolRun<Call extends ToolCall>(p: Omit<ToolRun<Call>, 'log' | 'progress'>): ToolRun<Call> {
  let log: Promise<AskLog> | undefined;
  // Every call makes one, and `AbortSignal.any` takes ten times as long.
  const asking = new AbortController();
  const { signal } = p.call;
  const giveUp = () => asking.abort(signal.reason);
  if (signal.aborted) giveUp();
  else signal.addEventListener('abort', giveUp, { once: true });
  return {
    ...p,
    log: () => (log ??= openLog(p)),
    progress: {
      suspension: undefined,
      key: undefined,
      interrupted: new Set(),
      unsettled: new Set(),
      requiredOpen: 0,
      overdue: undefined,
      muted: undefined,
      turn: Promise.resolve(),
      signal: asking.signal,
      end() {
        signal.removeEventListener('abort', giveUp);
        asking.abort(HANDLER_ENDED);
      },
    },
  };
}

async function openLog(run: Omit<ToolRun, 'log' | 'progress'>): Promise<AskLog> {
  const { recentCalls } = run.environment;
  if (run.requestState !== undefined) {
    recentCalls.discard(await callKey(run), run.requestState.asks);
    return new AskLog(run.requestState.asks, false);
  }
  const remembered = recentCalls.take(await callKey(run));
  return new AskLog(remembered ?? [], remembered !== undefined);
}

async function callKey(run: Pick<ToolRun, 'principal' | 'call' | 'argsDigest'>): Promise<CallKey> {
  const { issuer, subject } = await run.principal();
  return { user: JSON.stringify([issuer, subject]), call: JSON.stringify([run.call.toolName ?? '', run.argsDigest]) };
}

/** Remembers the records for a repeated call. @param keys records that it may continue with; default: all */
export async function rememberAsks(run: ToolRun, keys?: ReadonlySet<string>): Promise<void> {
  const records = (await run.log()).list().filter(({ key }) => keys === undefined || keys.has(key));
  if (records.length > 0) run.environment.recentCalls.remember(await callKey(run), records);
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
export async function runSerially<T>({ progress, isRequired }: ToolRun, work: () => Promise<T>): Promise<T> {
  if (isRequired) progress.requiredOpen += 1;
  const turn = progress.turn.then(async () => {
    if (progress.suspension !== undefined) throw progress.suspension;
    progress.key = undefined;
    try {
      return await work();
    } catch (error) {
      if (error instanceof Suspension) progress.suspension = error;
      else if (progress.key !== undefined && !answers.some(kind => error instanceof kind))
        progress.interrupted.add(progress.key);
      throw error;
    }
  });
  const settled = () => {
    if (isRequired) progress.requiredOpen -= 1;
  };
  turn.then(settled, settled);
  progress.turn = turn.catch(() => undefined); // The caller handles the failure; the next ask only waits for the end.
  return await turn;
}

/** Ends the asks that the handler no longer awaits, so that their progress is known. */
export async function endAsks({ progress }: ToolRun): Promise<void> {
  progress.end();
  await progress.turn;
}

/**
 * Returns the promise, and marks its rejection as handled. A handler that starts several asks and stops at the first failure does
 * not await the others, whose suspension must not become an unhandled rejection.
 */
export function withHandledRejection<T>(answer: Promise<T>): Promise<T> {
  answer.catch(() => undefined);
  return answer;
}
