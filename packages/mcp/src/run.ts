import type { ElicitationBody, IssueElicitationInput } from '@postern/api';
import { type Ask, displayName } from './ask.ts';
import type { EventBus } from './bus/event-bus.ts';
import type { CompletionWaiters } from './completion-waiters.ts';
import { digest } from './digest.ts';
import {
  CapabilityMissingError,
  ElicitationFailedError,
  ElicitationTimeoutError,
  FormContentError,
  PosternUsageError,
  SubjectUnavailableError,
} from './errors.ts';
import type { GatewayClient } from './gateway-client.ts';
import type { CallKey, RecentCalls } from './recent-calls.ts';
import type { RequestState, RequestStateCodec } from './request-state.ts';
import type { SealedOpener } from './sealed-delivery.ts';
import type { SessionReplica } from './shared-sessions.ts';
import { Steps } from './steps.ts';
import type { Principal } from './subject.ts';
import { Suspension } from './suspension.ts';
import type { TextFunction } from './texts.ts';
import type { ToolCall } from './tool-call.ts';
import type { TraceContext } from './trace-context.ts';

/** What every call of one gate shares. */
export interface Environment {
  readonly client: GatewayClient;
  /** The same for a call that belongs to a trace. */
  readonly tracedClient?: (trace: TraceContext) => GatewayClient;
  /** Present where secrets are delivered sealed. */
  readonly sealedOpener: SealedOpener | undefined;
  /** For requests to the APIs of providers. */
  readonly fetch: typeof fetch;
  readonly allowHttp: boolean;
  readonly codec: RequestStateCodec;
  readonly recentCalls: RecentCalls;
  /** Undefined: for the end of an elicitation the gateway is asked to wait. */
  readonly bus: EventBus | undefined;
  readonly waiters: CompletionWaiters;
  /** Present where MCP sessions move between replicas. */
  readonly sessionReplica: SessionReplica | undefined;
  readonly text: TextFunction;
  readonly holdMs: number;
  readonly maxRounds: number;
  readonly legacy: 'url-required-error' | 'push';
  readonly missingCapability: 'plain' | 'error';
  readonly assumeUrlCapability: boolean;
  readonly onBackgroundError: (error: Error) => void;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** One run of a tool handler. A retried call is a new run. */
export interface Run<Call extends ToolCall = ToolCall> {
  readonly environment: Environment;
  readonly call: Call;
  readonly argsDigest: string;
  /** Resolved at the first use: a handler that asks for nothing needs no user. */
  readonly principal: () => Promise<Principal>;
  /** Verified, and bound to this user, tool and arguments. */
  readonly requestState: RequestState | undefined;
  /** What this call has asked in this run and in those before it. Found at the first use, as the user is. */
  readonly steps: () => Promise<Steps>;
  readonly progress: Progress;
}

/** What changes while a handler runs. */
export interface Progress {
  /** Set when the handler was suspended, to notice that it went on regardless. */
  suspension: Suspension | undefined;
  /** Key of the question whose turn it is. */
  key: string | undefined;
  /** Keys of questions that ended in what is no answer: the gateway was away, or the MCP client gave up. */
  readonly interrupted: Set<string>;
  /** Those of them whose result may be taken without this call having got it. */
  readonly unsettled: Set<string>;
  /** The step that was waited for long enough. */
  overdue: string | undefined;
  /** Settles when the question before has. */
  turn: Promise<unknown>;
  /** Aborted with the end of the handler, which leaves nobody to answer. */
  readonly ended: AbortController;
}

/** One question of a run. */
export interface Inquiry {
  readonly ask: Ask;
  /** Of its step. */
  readonly key: string;
  readonly signal: AbortSignal;
  readonly timeoutMs: number | undefined;
}

/** How a question ended for this run. */
export type Resolution =
  | { readonly by: 'gateway'; readonly elicitation: ElicitationBody }
  /** The MCP client said no. That ends this attempt; the elicitation itself goes on. */
  | { readonly by: 'mcp-client'; readonly action: 'decline' | 'cancel' };

export function startRun<Call extends ToolCall>(p: Omit<Run<Call>, 'steps' | 'progress'>): Run<Call> {
  let steps: Promise<Steps> | undefined;
  return {
    ...p,
    steps: () => (steps ??= findSteps(p)),
    progress: {
      suspension: undefined,
      key: undefined,
      interrupted: new Set(),
      unsettled: new Set(),
      overdue: undefined,
      turn: Promise.resolve(),
      ended: new AbortController(),
    },
  };
}

async function findSteps(run: Omit<Run, 'steps' | 'progress'>): Promise<Steps> {
  const { recentCalls } = run.environment;
  if (run.requestState !== undefined) {
    recentCalls.discard(await callKey(run), run.requestState.steps);
    return new Steps(run.requestState.steps, false);
  }
  const remembered = recentCalls.take(await callKey(run));
  return new Steps(remembered ?? [], remembered !== undefined);
}

async function callKey(run: Pick<Run, 'principal' | 'call' | 'argsDigest'>): Promise<CallKey> {
  const { issuer, subject } = await run.principal();
  return { user: digest([issuer, subject]), call: digest([run.call.toolName ?? '', run.argsDigest]) };
}

/** For the call that is made again. @param keys of those that it may go on with; default: all */
export async function rememberSteps(run: Run, keys?: ReadonlySet<string>): Promise<void> {
  const steps = (await run.steps()).list().filter(({ key }) => keys === undefined || keys.has(key));
  if (steps.length > 0) run.environment.recentCalls.remember(await callKey(run), steps);
}

/** Errors that are the end of a question: the next call asks anew. */
const answers = [
  CapabilityMissingError,
  ElicitationFailedError,
  FormContentError,
  PosternUsageError,
  SubjectUnavailableError,
];

/**
 * Questions of one run are asked one after the other, as a person answers them, so that the steps are complete whenever they
 * are written down. Notes a suspension before it leaves, so that a handler that swallows it is found out.
 */
export async function inTurn<T>({ progress }: Run, work: () => Promise<T>): Promise<T> {
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
  progress.turn = turn.catch(() => undefined); // The failure is the caller's; the next question only waits for its end.
  return await turn;
}

/** Ends the questions that the handler left behind, so that it is known how far they got. */
export async function endQuestions({ progress }: Run): Promise<void> {
  progress.ended.abort();
  await progress.turn;
}

/**
 * Whoever waits for the answer gets the failure. A handler that asked several things at once and stopped at the first waits for
 * the others no longer; that they are suspended as well must not end the process as an unhandled rejection.
 */
export function asked<T>(answer: Promise<T>): Promise<T> {
  answer.catch(() => undefined);
  return answer;
}

export async function openInquiry(
  run: Run,
  ask: Ask,
  { signal, timeoutMs }: { readonly signal?: AbortSignal; readonly timeoutMs?: number },
): Promise<Inquiry> {
  const key = (await run.steps()).nextKey(ask.digest);
  run.progress.key = key;
  return {
    ask,
    key,
    signal: AbortSignal.any([run.call.signal, run.progress.ended.signal, ...(signal === undefined ? [] : [signal])]),
    timeoutMs,
  };
}

/** Milliseconds that this call may still wait for the answer. */
export async function timeLeft(run: Run, { key, timeoutMs }: Inquiry): Promise<number> {
  const step = (await run.steps()).get(key);
  if (timeoutMs === undefined || step === undefined) return Number.POSITIVE_INFINITY;
  return Math.max(0, step.askedAt + timeoutMs - run.environment.now());
}

/** @throws {ElicitationTimeoutError} when this call has waited for the answer as long as it wants to */
export async function assertInTime(run: Run, inquiry: Inquiry): Promise<void> {
  // The gateway waits in whole seconds.
  if ((await timeLeft(run, inquiry)) >= 1000) return;
  run.progress.overdue = inquiry.key;
  throw new ElicitationTimeoutError((await run.steps()).get(inquiry.key)?.elicitationId);
}

export async function issue(run: Run, ask: Ask, signal: AbortSignal): Promise<ElicitationBody> {
  const tool = displayName(run.call.toolName);
  const mcpClient = displayName(run.call.mcpClientName);
  const body: IssueElicitationInput = {
    ...ask.body,
    subject: (await run.principal()).input,
    ...(tool === undefined && mcpClient === undefined
      ? {}
      : {
          requestedBy: { ...(tool === undefined ? {} : { tool }), ...(mcpClient === undefined ? {} : { mcpClient }) },
        }),
  };
  return await run.environment.client.issue(body, signal);
}
