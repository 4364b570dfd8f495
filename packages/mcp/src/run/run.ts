import type { ElicitationBody, IssueElicitationInput } from '@postern/api';
import { z } from 'zod/v4';
import { asError, ElicitationTimeoutError, GatewayError, hasCode } from '../errors.ts';
import { type GatewayClient, isPaymentUnderWay, isTerminal, mayBePaid, type TraceContext } from '../gateway/client.ts';
import type { GateCheck } from '../gateway/gate-check.ts';
import type { SealedOpener } from '../gateway/sealed-delivery.ts';
import type { WaitingReads } from '../gateway/waiting-reads.ts';
import type { Reporter } from '../mistakes.ts';
import type { About, TextFunction } from '../texts.ts';
import {
  AskLog,
  beginningOf,
  type CallKey,
  newCall,
  newRecord,
  type RecentCalls,
  type RememberedCall,
} from './ask-log.ts';
import type { AskRecord, RequestState, RequestStateCodec } from './request-state.ts';
import {
  AUTHORIZATION_META_KEY,
  type CompletionNotices,
  handlerOf,
  type Principal,
  type Remediation,
  type SessionReplica,
  type Suspension,
  showsForms,
  type ToolCall,
  type UrlElicitation,
} from './tool-call.ts';

/** The response to an MCP client that cannot open links: a result with the link, or a refusal. */
export type MissingCapability = z.infer<typeof missingCapabilitySchema>;
export const missingCapabilitySchema = z.enum(['plain', 'error']);

/** Shared by all calls of one gate. */
export interface Environment extends Reporter {
  /** The user of a call that names none. Undefined: such a call has no user. */
  readonly defaultPrincipal: Principal | undefined;
  /** For calls that do not arrive over HTTP, if no gateway is named. */
  readonly personal?: Environment;
  readonly client: GatewayClient;
  readonly gateCheck: GateCheck;
  /** Returns a client that propagates a trace. */
  readonly tracedClient?: ((trace: TraceContext) => GatewayClient) | undefined;
  /** Present if secrets are delivered sealed. */
  readonly sealedOpener: SealedOpener | undefined;
  /** For requests to the APIs of providers. */
  readonly fetch: typeof fetch;
  readonly allowHttp: boolean;
  readonly codec: RequestStateCodec;
  readonly recentCalls: RecentCalls;
  readonly waitingReads: WaitingReads;
  readonly completionNotices: CompletionNotices;
  /** Present if MCP sessions move between replicas. */
  readonly sessionReplica: SessionReplica | undefined;
  readonly text: TextFunction;
  readonly holdMs: number;
  readonly maxRounds: number;
  readonly missingCapability: MissingCapability;
  readonly assumeUrlCapability: boolean;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** A call that is about to run. */
interface OpenedCall<Call extends ToolCall = ToolCall> {
  readonly environment: Environment;
  readonly call: Call;
  readonly argsDigest: string;
  /** Resolved at first use, so a handler without asks needs no user. */
  readonly principal: () => Promise<Principal>;
  /** Verified, and bound to this user, tool and arguments. */
  readonly requestState: RequestState | undefined;
}

/** One run of a tool handler. A retried call is a new run. */
export interface ToolRun<Call extends ToolCall = ToolCall> extends OpenedCall<Call> {
  /** Asks of this run and of earlier runs of the call. */
  readonly log: AskLog;
  readonly handlerState: HandlerState;
  /** Verbs of `ctx.gate.try`: a refusal is returned to the handler instead of ending the call. */
  readonly returnsRefusals?: boolean;
}

const HANDLER_ENDED = new DOMException('The tool handler has ended.', 'AbortError');

/** State that changes while a handler runs. */
export class HandlerState implements HandlerEnd {
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

  /** The handler has ended. Ends the asks that it no longer awaits, so that their state is known. */
  async end(): Promise<void> {
    this.hasEnded = true;
    this.ended.resolve();
    this.#ofCall.removeEventListener('abort', this.#giveUp);
    this.#asking.abort(HANDLER_ENDED);
    await this.turn;
  }
}

/** Whether a handler has ended, and when it does. */
export interface HandlerEnd {
  hasEnded: boolean;
  readonly ended: { readonly promise: Promise<void>; readonly resolve: () => void };
}

/** A verb that the handler has called. */
export interface OpenVerb {
  /** Frames of the stack from the handler's call upwards. */
  readonly stack: string;
}

export async function startToolRun<Call extends ToolCall>(opened: OpenedCall<Call>): Promise<ToolRun<Call>> {
  return { ...opened, log: await openLog(opened), handlerState: new HandlerState(opened.call.signal) };
}

async function openLog(opened: OpenedCall): Promise<AskLog> {
  const { recentCalls, now } = opened.environment;
  if (opened.requestState !== undefined) {
    const { call, asks } = opened.requestState;
    recentCalls.discard(await callKey(opened), asks);
    return new AskLog({ ...call, asks }, false);
  }
  // The user is needed here only if something is remembered; whether there is none is for the first ask to say.
  const key = recentCalls.isEmpty ? undefined : await callKey(opened).catch(() => undefined);
  const remembered = key && recentCalls.take(key, await paidIn(opened, recentCalls.equal(key)));
  return new AskLog({ ...newCall(now()), ...remembered }, remembered !== undefined);
}

/** Of several equal calls, the one whose payment the user has made continues first. */
async function paidIn(
  { environment, call }: OpenedCall,
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

async function callKey({ principal, call, argsDigest }: OpenedCall): Promise<CallKey> {
  const { issuer, subject } = await principal();
  return { user: JSON.stringify([issuer, subject]), call: JSON.stringify([handlerOf(call), argsDigest]) };
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

type Body<B> = B extends unknown ? Omit<B, 'subject' | 'requestedBy'> : never;

/** The content of an ask. */
export interface AskSpec {
  /** For texts before the gateway responds. */
  readonly about: About;
  /** What the user is asked for. Message, lifetime and return URL do not count. */
  readonly terms: object;
  readonly body: Body<IssueElicitationInput>;
  /** Whether completion leaves a result to redeem once. If not, it leaves a connection or credential that lasts. */
  readonly needsRedemption: boolean;
  /** Lists the connections or credentials that would answer it now. A newer one makes an older refusal stale. */
  readonly lasting?:
    | ((run: ToolRun, signal: AbortSignal) => Promise<readonly { readonly updatedAt: string }[]>)
    | undefined;
}

/** One ask of a run. */
export interface Ask {
  readonly spec: AskSpec;
  /** Key of its record. */
  readonly key: string;
  readonly place: number;
  readonly signal: AbortSignal;
  readonly answerWithinMs: number | undefined;
  /** The time limit of an earlier call is over, and that of this one begins. */
  readonly hasNewLimit: boolean;
  readonly missingCapability: MissingCapability;
  /** Only this run gets the result. */
  readonly singleUse: boolean;
}

/** How an ask ended for this run. */
export interface AskEnd {
  readonly elicitation: ElicitationBody;
  /** The MCP client refused. That ends this attempt; the elicitation stays open. */
  readonly refused?: 'decline' | 'cancel';
}

/** Facts for texts about the ask, with the provider's display name once the gateway has returned it. */
export function aboutOf({ about }: AskSpec, elicitation?: Pick<ElicitationBody, 'authorization'>): About {
  const providerName = elicitation?.authorization?.providerName;
  return about.kind === 'authorization' && providerName !== undefined ? { ...about, providerName } : about;
}

/** The record of an ask that this run begins. */
export function recordOf(
  { environment, log }: ToolRun,
  { key, place, spec }: Ask,
  p: { readonly expiresAt: number; readonly elicitationId?: string },
): AskRecord {
  const { kind } = spec.body;
  const namesCall = log.isNamedIn(spec.terms) ? { namesCall: true as const } : {};
  return newRecord({
    key,
    place,
    kind,
    terms: beginningOf(spec.terms),
    askedAt: environment.now(),
    ...namesCall,
    ...p,
  });
}

/** Remaining wait time of this call, in milliseconds. */
export function timeLeft(run: ToolRun, { key, answerWithinMs }: Ask): number {
  const record = run.log.get(key);
  if (answerWithinMs === undefined || record === undefined) return Number.POSITIVE_INFINITY;
  return Math.max(0, record.askedAt + answerWithinMs - run.environment.now());
}

/** @throws {ElicitationTimeoutError} once this call has waited for `answerWithinMs` */
export function assertInTime(run: ToolRun, ask: Ask): void {
  // The gateway waits in whole seconds.
  if (timeLeft(run, ask) >= 1000) return;
  run.handlerState.overdue = ask.key;
  throw new ElicitationTimeoutError(run.log.get(ask.key)?.elicitationId);
}

/** Seconds between progress notifications. MCP clients reset their timeout, a minute or less, on progress. */
const PROGRESS_SECONDS = 10;
/** Maximum delay of responses before the hold ends, in milliseconds. Keeps a 45 s hold below a 60 s timeout. */
const SLACK_MS = 8_000;

/**
 * Waits for a terminal status for `holdMs`, or for the ask's `answerWithinMs`, and returns the last status that was read. The wait is
 * split into slices, with a progress notification before each.
 *
 * @throws the signal's reason when the MCP client gave up; the elicitation stays open
 * @throws {GatewayError}
 */
export async function hold(
  run: ToolRun,
  ask: Ask,
  elicitationId: string,
  /** Milliseconds of `holdMs` that this request has already waited. */
  waitedMs = 0,
): Promise<ElicitationBody> {
  const { spec, signal } = ask;
  const { client, waitingReads } = run.environment;
  const holdMs = Math.max(0, Math.min(run.environment.holdMs - waitedMs, timeLeft(run, ask)));
  const slices = cut(Math.floor(holdMs / 1000), run.call.reportProgress === undefined ? 55 : PROGRESS_SECONDS);
  const deadline = AbortSignal.timeout(holdMs + SLACK_MS);
  const either = AbortSignal.any([signal, deadline]);
  let latest: ElicitationBody | undefined;
  using watch = waitingReads.watch(client, elicitationId);
  try {
    if (run.call.reportProgress !== undefined) {
      // Report no progress after the user has finished. This record also has the provider's display name.
      latest = await client.read(elicitationId, 0, either);
      if (isTerminal(latest)) return latest;
    }
    for (const [index, seconds] of slices.entries()) {
      await report(run, index + 1, spec, latest);
      latest = (await watch.wait(seconds, either)) ?? latest;
      if (latest !== undefined && isTerminal(latest)) return latest;
    }
    return latest ?? (await client.read(elicitationId, 0, either));
  } catch (error) {
    if (signal.aborted || !deadline.aborted) throw error;
    if (latest !== undefined) return latest;
    throw new GatewayError('timeout', 'The gateway did not respond in time.', { cause: error });
  }
}

/** A failed notification must not fail the call. */
async function report(
  run: ToolRun,
  progress: number,
  spec: AskSpec,
  latest: ElicitationBody | undefined,
): Promise<void> {
  try {
    await run.call.reportProgress?.(progress, run.environment.text({ kind: 'waiting', about: aboutOf(spec, latest) }));
  } catch (error) {
    run.environment.onBackgroundError(asError(error));
  }
}

function cut(total: number, size: number): number[] {
  const slices: number[] = [];
  for (let left = total; left > 0; left -= size) slices.push(Math.min(left, size));
  return slices;
}

/** Whether a payment is made, or may be at any moment. */
export async function isPaymentMade(run: ToolRun, other: AskRecord, signal?: AbortSignal): Promise<boolean> {
  return other.kind === 'payment' && mayBePaid(await statusOf(run, other, signal));
}

type Status = ElicitationBody['status'] | undefined;

/** Undefined for a form that the MCP client showed, and for an elicitation that the gateway has deleted. */
async function statusOf(
  { environment, handlerState }: ToolRun,
  { elicitationId }: AskRecord,
  signal = handlerState.signal,
): Promise<Status> {
  if (elicitationId === undefined) return undefined;
  try {
    return (await environment.client.read(elicitationId, 0, signal)).status;
  } catch (error) {
    if (hasCode(error, 'not_found')) return undefined;
    throw error;
  }
}

/** Cancels an elicitation that no call asks for any more. @returns false for a payment that is paid, or whose outcome is open */
export async function closeAsk(run: ToolRun, other: AskRecord, signal = run.handlerState.signal): Promise<boolean> {
  if (other.elicitationId === undefined) return true;
  try {
    await run.environment.client.cancel(other.elicitationId, signal);
    return true;
  } catch (error) {
    if (hasCode(error, 'not_found')) return true;
    if (hasCode(error, 'payment_in_progress')) return false;
    if (!hasCode(error, 'already_ended') && !hasCode(error, 'illegal_transition')) throw error;
    return !(await isPaymentMade(run, other, signal));
  }
}

/** Whether the page that another MCP client of the user got has no answer yet. The page stays, because the user may have it open. */
export async function isUnanswered(run: ToolRun, other: AskRecord): Promise<boolean> {
  const status = await statusOf(run, other);
  return status === undefined || status === 'pending';
}

/**
 * SEP-2643's envelope. It claims that the call was not performed, not even in part. So there is none once the handler may have acted, and
 * none while a payment is under way.
 */
export function denialMeta(
  { log }: ToolRun,
  remediation: Remediation,
  elicitation?: ElicitationBody,
): { [AUTHORIZATION_META_KEY]: object } | undefined {
  if (log.mayHaveActed || (elicitation !== undefined && isPaymentUnderWay(elicitation))) return undefined;
  const hints = remediation === 'available' ? { remediationHints: [{ type: 'url' }] } : {};
  return { [AUTHORIZATION_META_KEY]: { reason: 'insufficient_authorization', remediation, ...hints } };
}

/** What an MCP client in URL mode is asked, in any era. */
export function urlElicitation(run: ToolRun, spec: AskSpec, elicitation: ElicitationBody): UrlElicitation {
  const { elicitationId, url, matchCode } = elicitation;
  return {
    elicitationId,
    url,
    message: run.environment.text({ kind: 'ask', about: aboutOf(spec, elicitation), matchCode }),
  };
}
