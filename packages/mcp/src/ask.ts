import {
  type ElicitationBody,
  type IssueElicitationInput,
  isInert,
  type LocalText,
  localText,
  plainText,
  TTL_SECONDS,
} from '@postern/api';
import { z } from 'zod/v4';
import { type AskRecord, beginningOf, differenceOf, newRecord } from './ask-log.ts';
import { ElicitationTimeoutError, hasCode, PosternUsageError } from './errors.ts';
import { mayBePaid } from './gateway-client.ts';
import { type MissingCapability, missingCapabilitySchema } from './options.ts';
import { parseStrictly } from './parse-strictly.ts';
import type { About } from './texts.ts';
import { nameOf } from './tool-call.ts';
import type { ToolRun } from './tool-run.ts';

/** Options of every verb. */
export interface AskOptions {
  /** One line of plain text (300 characters), or one per language, quoted on the page as coming from this MCP server. */
  readonly message?: LocalText;
  /** Time limit for the user in seconds, 10 to 86,400. Default: the gateway's. */
  readonly ttlSeconds?: number;
  /** Link target on the last page; must be registered at the gateway. */
  readonly returnUrl?: string;
  /** Language of the user as a BCP 47 tag, such as `de`. A choice that the user made on a page of the gateway comes first. */
  readonly locale?: string;
  /** Stops waiting. The elicitation stays open. Does not apply to later requests of the answer, such as those of `fetch`. */
  readonly signal?: AbortSignal;
  /**
   * How long the user may take, in milliseconds, from when this call first asked. While there is no answer after this time, the verb
   * throws `ElicitationTimeoutError`. The elicitation stays open, and an answer that the call already has counts. Default: as long
   * as the MCP client retries.
   */
  readonly answerWithinMs?: number;
  /** The response to an MCP client that cannot open links, for this ask. Default: the option of the gate. */
  readonly missingCapability?: MissingCapability;
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

export const askOptionsSchema = z.strictObject({
  message: localText(300).optional(),
  ttlSeconds: z.int().min(TTL_SECONDS.min).max(TTL_SECONDS.max).optional(),
  returnUrl: z.url().max(2048).optional(),
  locale: z
    .string()
    .regex(/^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8}){0,7}$/, 'Must be a BCP 47 tag such as de-DE')
    .max(35)
    .optional(),
  signal: z.instanceof(AbortSignal).optional(),
  answerWithinMs: z.int().min(0).optional(),
  missingCapability: missingCapabilitySchema.optional(),
});

/**
 * Members of the issue request, from the options of a verb.
 *
 * @param schema of the verb's options
 * @throws {PosternUsageError} `invalid_ask`, before anything is sent
 */
export function bodyOptions(
  verb: string,
  options: AskOptions,
  schema: z.ZodType<z.infer<typeof askOptionsSchema>> = askOptionsSchema,
) {
  const { message, ttlSeconds, returnUrl, locale } = parseTerms(verb, schema, options);
  return { message, ttlSeconds, returnUrl, locale };
}

/** @throws {PosternUsageError} `invalid_ask` */
export function parseTerms<T>(verb: string, schema: z.ZodType<T>, value: unknown): T {
  return parseStrictly('invalid_ask', verb, schema, value);
}

const displayNameSchema = plainText(80);

/** Facts for texts about the ask, with the provider's display name once the gateway has returned it. */
export function aboutOf({ about }: AskSpec, elicitation?: Pick<ElicitationBody, 'authorization'>): About {
  const providerName = elicitation?.authorization?.providerName;
  return about.kind === 'authorization' && providerName !== undefined ? { ...about, providerName } : about;
}

/** Returns a name that is safe to display. Omits an unsafe name instead of repairing it. */
export function displayName(name: string | undefined): string | undefined {
  const parsed = name !== undefined && isInert(name) ? displayNameSchema.safeParse(name) : undefined;
  return parsed?.success ? parsed.data : undefined;
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
}

/** How an ask ended for this run. */
export interface AskEnd {
  readonly elicitation: ElicitationBody;
  /** The MCP client refused. That ends this attempt; the elicitation stays open. */
  readonly refused?: 'decline' | 'cancel';
}

/**
 * Opens an ask at the next place of the run. An earlier run of the same call may have asked with other terms here: then the handler asks
 * something new in every run, would never get an answer, and might charge the user for each.
 *
 * @throws {PosternUsageError} `terms_changed`
 */
export async function openAsk(
  run: ToolRun,
  spec: AskSpec,
  { signal, answerWithinMs, missingCapability = run.environment.missingCapability }: AskOptions,
): Promise<Ask> {
  const { key, place } = run.log.next(spec.body.kind, spec.terms, run.progress.interrupted);
  for (const other of run.log.others({ key, place }, spec.body.kind)) await endOther(run, spec, other, place);
  run.progress.key = key;
  const hasNewLimit = run.log.get(key)?.askedAt === 0;
  if (hasNewLimit) run.log.update(key, { askedAt: run.environment.now() });
  return {
    spec,
    key,
    place,
    hasNewLimit,
    signal: signal === undefined ? run.progress.signal : AbortSignal.any([run.progress.signal, signal]),
    answerWithinMs,
    missingCapability,
  };
}

/**
 * A call that carries its state is the same call, so other terms are a mistake of the handler. What is only remembered may have been left
 * by another call with the same arguments: the old ask is cancelled and this call begins anew, unless money has moved or may move. What a
 * call has left open with its result is no sign of a mistake.
 */
async function endOther(run: ToolRun, spec: AskSpec, other: AskRecord, place: number): Promise<void> {
  const changed = new PosternUsageError(
    'terms_changed',
    `${nameOf(run.call)} asks with other terms than in an earlier run of the same call: ` +
      `${differenceOf(other.terms, beginningOf(spec.terms))}. Every run must ask the same: use ctx.gate.id() and ctx.gate.now().`,
  );
  if (other.place !== place) {
    // A payment, which this run may still ask for. So it is not cancelled, and an active one counts, although only its cancellation
    // would tell whether it is being charged.
    if (other.isLeft || !(await isMade(run, other))) return;
  } else if (other.isLeft) {
    // Its page stays: the call of another tool may have the same.
    if (!(await isMade(run, other))) return run.log.forget(other.key);
  } else if (run.log.isRemembered) {
    run.environment.reportMistake(changed, nameOf(run.call));
    if (await closeAsk(run, other)) return run.log.forget(other.key);
  }
  throw changed;
}

/** Whether a payment is made, or may be at any moment. */
export async function isMade(run: ToolRun, other: AskRecord, signal?: AbortSignal): Promise<boolean> {
  return other.kind === 'payment' && mayBePaid(await statusOf(run, other, signal));
}

type Status = ElicitationBody['status'] | undefined;

/** Undefined for a form that the MCP client showed, and for an elicitation that the gateway has deleted. */
async function statusOf(
  { environment, progress }: ToolRun,
  { elicitationId }: AskRecord,
  signal = progress.signal,
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
export async function closeAsk(run: ToolRun, other: AskRecord, signal = run.progress.signal): Promise<boolean> {
  if (other.elicitationId === undefined) return true;
  try {
    await run.environment.client.cancel(other.elicitationId, signal);
    return true;
  } catch (error) {
    if (hasCode(error, 'not_found')) return true;
    if (hasCode(error, 'payment_in_progress')) return false;
    if (!hasCode(error, 'already_ended') && !hasCode(error, 'illegal_transition')) throw error;
    return !(await isMade(run, other, signal));
  }
}

/** Whether the page that another MCP client of the user got has no answer yet. The page stays, because the user may have it open. */
export async function isUnanswered(run: ToolRun, other: AskRecord): Promise<boolean> {
  const status = await statusOf(run, other);
  return status === undefined || status === 'pending';
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
  run.progress.overdue = ask.key;
  throw new ElicitationTimeoutError(run.log.get(ask.key)?.elicitationId);
}

export async function issue(run: ToolRun, spec: AskSpec, signal: AbortSignal): Promise<ElicitationBody> {
  const tool = displayName(run.call.toolName);
  const mcpClient = displayName(run.call.mcpClientName);
  const body: IssueElicitationInput = {
    ...spec.body,
    subject: (await run.principal()).input,
    requestedBy: tool === undefined && mcpClient === undefined ? undefined : { tool, mcpClient },
  };
  const provider = body.kind === 'authorization' ? body.authorization.provider : undefined;
  run.environment.gateCheck.expect(body.kind, provider);
  try {
    return await run.environment.client.issue(body, signal);
  } catch (error) {
    // A handler may catch the error and continue without the answer.
    if (hasCode(error, 'muted')) run.progress.muted = aboutOf(spec);
    throw error;
  }
}
