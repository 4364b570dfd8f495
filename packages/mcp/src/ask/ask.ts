import { hash, randomUUID } from 'node:crypto';
import {
  type ElicitationBody,
  type IssueElicitationInput,
  isInert,
  localText,
  plainText,
  type RedeemedElicitationBody,
  TTL_SECONDS,
} from '@postern/api';
import { z } from 'zod/v4';
import { presentInLegacySession, presentStateless } from '../eras/legacy.ts';
import { presentModern, resumeModern } from '../eras/modern.ts';
import { ElicitationFailedError, GatewayError, hasCode, PosternUsageError, parseStrictly } from '../errors.ts';
import { isPaymentUnderWay, isTerminal } from '../gateway/client.ts';
import { beginningOf, differenceOf, GRACE_MS } from '../run/ask-log.ts';
import type { AskRecord } from '../run/request-state.ts';
import {
  type Ask,
  type AskEnd,
  type AskSpec,
  aboutOf,
  assertInTime,
  closeAsk,
  denialMeta,
  isPaymentMade,
  missingCapabilitySchema,
  recordOf,
  type ToolRun,
} from '../run/run.ts';
import { declinedToolResult, nameOf, type PlainToolResult, plainToolResult, Suspension } from '../run/tool-call.ts';
import type { AnswerTo, AskOptions, Cancelled, ConfirmOptions, Declined } from './verbs.ts';

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

/** Returns a name that is safe to display. Omits an unsafe name instead of repairing it. */
export function displayName(name: string | undefined): string | undefined {
  const parsed = name !== undefined && isInert(name) ? displayNameSchema.safeParse(name) : undefined;
  return parsed?.success ? parsed.data : undefined;
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
  { signal, answerWithinMs, missingCapability = run.environment.missingCapability, singleUse }: ConfirmOptions,
): Promise<Ask> {
  const { key, place } = run.log.next(spec.body.kind, spec.terms, run.handlerState.interrupted);
  for (const other of run.log.others({ key, place }, spec.body.kind)) await endOther(run, spec, other, place);
  run.handlerState.key = key;
  const hasNewLimit = run.log.get(key)?.askedAt === 0;
  if (hasNewLimit) run.log.update(key, { askedAt: run.environment.now() });
  return {
    spec,
    key,
    place,
    hasNewLimit,
    signal: signal === undefined ? run.handlerState.signal : AbortSignal.any([run.handlerState.signal, signal]),
    answerWithinMs,
    missingCapability,
    singleUse: singleUse === true,
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
    if (other.isLeft || !(await isPaymentMade(run, other))) return;
  } else if (other.isLeft) {
    // Its page stays: the call of another tool may have the same.
    if (!(await isPaymentMade(run, other))) return run.log.forget(other.key);
  } else if (run.log.isRemembered) {
    run.environment.reportMistake(changed, nameOf(run.call));
    if (await closeAsk(run, other)) return run.log.forget(other.key);
  }
  throw changed;
}

/** The user has accepted. */
export interface Accepted {
  readonly action: 'accept';
  readonly elicitation: ElicitationBody;
  /** For asks that need redemption. */
  readonly result: RedeemedElicitationBody | undefined;
}

/** Maximum number of elicitations that one run tries to redeem. Each lost the race to a concurrent equal call. */
const MAX_ATTEMPTS = 5;

/**
 * Resolves an ask: from the records of this call, by asking the user, then by redeeming the result. If a concurrent equal call has
 * redeemed the result of the same elicitation, this call asks again.
 *
 * @throws {Suspension} when this call has to end before the user has decided, or with a refusal
 * @throws {ElicitationFailedError}
 * @throws {GatewayError}
 */
export async function answer(run: ToolRun, ask: Ask): Promise<AnswerTo<Accepted>> {
  for (let attempt = 1; ; attempt += 1) {
    const end = (await recall(run, ask)) ?? (await askAnew(run, ask));
    if (end.refused !== undefined) run.log.update(ask.key, { refused: end.refused });
    if (end.refused !== undefined || end.elicitation.status !== 'completed') {
      // The user may pay although the MCP client refuses: however the run ends, the next call continues with the payment.
      if (isPaymentUnderWay(end.elicitation)) run.log.noteAnswer();
      if (isTerminal(end.elicitation)) run.handlerState.refused.add(ask.key);
      return toRefusal(run, ask.spec, end);
    }
    const { elicitation } = end;
    // An account is used through its tokens, every other answer at once.
    if (ask.spec.body.kind !== 'authorization') run.log.noteAnswer();
    if (!ask.spec.needsRedemption) return { action: 'accept', elicitation, result: undefined };
    const result = await redeem(run, ask, elicitation, attempt < MAX_ATTEMPTS);
    if (result !== undefined) return { action: 'accept', elicitation, result };
    run.log.forget(ask.key);
  }
}

/** Asks again, because the earlier answer is no longer usable. */
export async function answerAnew(run: ToolRun, ask: Ask): Promise<AnswerTo<Accepted>> {
  run.handlerState.key = ask.key;
  run.log.forget(ask.key);
  return await answer(run, ask);
}

/** Returns how an earlier ask of this call ended, or undefined if the call has to ask. */
async function recall(run: ToolRun, ask: Ask): Promise<AskEnd | undefined> {
  const { call, requestState } = run;
  const record = run.log.get(ask.key);
  if (record?.elicitationId === undefined) return undefined;
  const { elicitationId } = record;
  try {
    if (call.era === 'modern' && requestState?.open === ask.key && record.refused === undefined)
      return await resumeModern({ ...run, call }, ask, elicitationId);
    const elicitation = await run.environment.client.read(elicitationId, 0, ask.signal);
    if (isTerminal(elicitation)) return (await isStale(run, ask, elicitation)) ? undefined : { elicitation };
    if (record.refused !== undefined) return { refused: record.refused, elicitation };
    if (!ask.hasNewLimit) assertInTime(run, ask);
    return await presentToUser(run, ask, elicitation);
  } catch (error) {
    // The gateway has deleted the elicitation. If this call already got the result, asking a second time would be worse than an error.
    if (hasCode(error, 'not_found') && record.isDone === undefined) return undefined;
    throw error;
  }
}

/**
 * Remembered records may be stale: the user may have accepted since, after an ask of another replica. An old refusal must not
 * hide that.
 */
async function isStale(run: ToolRun, { spec, signal }: Ask, elicitation: ElicitationBody): Promise<boolean> {
  if (elicitation.status === 'completed' || !run.log.isRemembered) return false;
  // It is remembered this long only because a payment may be completed late.
  if (Date.parse(elicitation.expiresAt) + GRACE_MS < run.environment.now()) return true;
  if (spec.lasting === undefined) return false;
  const lasting = await spec.lasting(run, signal);
  return lasting.some(({ updatedAt }) => updatedAt > (elicitation.endedAt ?? elicitation.expiresAt));
}

async function askAnew(run: ToolRun, ask: Ask): Promise<AskEnd> {
  const { spec, signal } = ask;
  const elicitation = await issue(run, spec, signal);
  const { elicitationId, expiresAt } = elicitation;
  // A lasting connection or credential also answers the next run, without a record.
  if (spec.needsRedemption || !isTerminal(elicitation)) {
    run.log.set(recordOf(run, ask, { expiresAt: Date.parse(expiresAt), elicitationId }));
  }
  return isTerminal(elicitation) ? { elicitation } : await presentToUser(run, ask, elicitation);
}

async function issue(run: ToolRun, spec: AskSpec, signal: AbortSignal): Promise<ElicitationBody> {
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
    if (hasCode(error, 'muted')) run.handlerState.muted = aboutOf(spec);
    throw error;
  }
}

/** Redeems the result. Returns undefined if another call has redeemed it, or if the payment was paid back. */
async function redeem(
  run: ToolRun,
  { spec, key, signal, singleUse }: Ask,
  elicitation: ElicitationBody,
  mayAskAnew: boolean,
): Promise<RedeemedElicitationBody | undefined> {
  const { log } = run;
  const record = log.get(key);
  if (record === undefined) throw new TypeError('a result without a record');
  const isTyped = spec.body.kind === 'credential' || spec.body.kind === 'form';
  const sealed = isTyped && run.environment.sealedOpener !== undefined;
  let result: RedeemedElicitationBody;
  try {
    result = await run.environment.client.redeem(
      elicitation.elicitationId,
      // No other run knows this key, so none gets the same answer.
      singleUse ? randomUUID() : record.redemption,
      sealed ? { sealed: true } : {},
      signal,
    );
  } catch (error) {
    if (hasCode(error, 'already_redeemed') && record.isDone === undefined && mayAskAnew) return undefined;
    if (hasCode(error, 'payment_refunded') && mayAskAnew) return undefined;
    run.handlerState.unsettled.add(key);
    throw error;
  }
  if (result.kind !== spec.body.kind || result.elicitationId !== elicitation.elicitationId)
    throw new GatewayError('invalid_response', 'The gateway returned the result of another elicitation.');
  log.update(key, { isDone: true });
  return result;
}

/**
 * Presents the ask to the user in the way that the connected MCP client supports.
 *
 * @throws {Suspension} when this call has to end before the user has decided
 * @throws {CapabilityMissingError}
 * @throws {ElicitationTimeoutError}
 */
async function presentToUser(run: ToolRun, ask: Ask, elicitation: ElicitationBody): Promise<AskEnd> {
  const { call } = run;
  if (call.era === 'modern') throw await presentModern({ ...run, call }, ask, elicitation);
  if (call.era === 'legacy-session') return await presentInLegacySession({ ...run, call }, ask, elicitation);
  throw presentStateless({ ...run, call }, ask, elicitation);
}

/**
 * The refusal that a verb returns.
 *
 * @throws {Suspension} unless the handler takes refusals
 * @throws {ElicitationFailedError}
 */
function toRefusal(run: ToolRun, spec: AskSpec, { elicitation, refused }: AskEnd): Declined | Cancelled {
  if (refused !== undefined)
    return refused === 'decline'
      ? refusal(run, spec, { action: 'decline', reason: 'client_declined' }, elicitation)
      : refusal(run, spec, { action: 'cancel', reason: 'client_cancelled' }, elicitation);
  switch (elicitation.status) {
    case 'declined':
      return refusal(run, spec, { action: 'decline', reason: 'declined' }, elicitation);
    case 'cancelled':
    case 'expired':
      return refusal(run, spec, { action: 'cancel', reason: elicitation.status }, elicitation);
    case 'failed':
      throw new ElicitationFailedError(elicitation.failure?.code ?? 'unknown', elicitation.elicitationId);
    default:
      throw new GatewayError('invalid_response', `An elicitation cannot end as ${elicitation.status}.`);
  }
}

export function refusal<R extends Omit<Declined, 'toToolResult'> | Omit<Cancelled, 'toToolResult'>>(
  run: ToolRun,
  spec: AskSpec,
  refused: R,
  elicitation?: ElicitationBody,
): R & { toToolResult(): PlainToolResult } {
  const { environment, call, returnsRefusals } = run;
  const { mayHaveActed } = run.log;
  const toToolResult = () => {
    const text = environment.text({ kind: refused.reason, about: aboutOf(spec, elicitation), mayHaveActed });
    // Only a decision is final. A cancelled or expired ask may be repeated.
    const result =
      refused.action === 'decline'
        ? declinedToolResult(text, call, denialMeta(run, 'unavailable', elicitation))
        : plainToolResult(text);
    run.handlerState.refusals.add(result);
    return result;
  };
  if (!returnsRefusals) throw new Suspension({ type: 'plain', result: toToolResult() }, true);
  return { ...refused, toToolResult };
}

/** Returns the outcome of a completed elicitation of this kind. */
export function outcomeOf<K extends ElicitationBody['kind']>(kind: K, { outcome }: ElicitationBody) {
  if (outcome?.kind !== kind) throw new GatewayError('invalid_response', `There is no outcome of kind ${kind}.`);
  return outcome as Extract<NonNullable<ElicitationBody['outcome']>, { kind: K }>;
}

/** Derived from the elicitation's id, which must stay secret because it opens a page. */
export function idempotencyKey(id: string): string {
  return hash('sha256', `postern/mcp/idempotency-key/v1/${id}`, 'base64url');
}
