import { TTL_SECONDS } from '@postern/api';
import { type Ask, assertInTime, isUnanswered, recordOf, timeLeft } from '../ask.ts';
import { type AskRecord, askRecordSchema } from '../ask-log.ts';
import { ElicitationTimeoutError, FormContentError } from '../errors.ts';
import { type Checked, schemaFor } from '../form-schema.ts';
import { type ClientAnswer, type FormAsk, type LegacySessionCall, type ModernCall, showsForms } from '../tool-call.ts';
import type { ToolRun } from '../tool-run.ts';
import { hasRoundLeft, inputRequired } from './modern.ts';

/** How a form shown by the MCP client ended. The MCP client's answer counts as the user's, because there is no page. */
export type InBandAnswer<Value> =
  | { readonly action: 'accept'; readonly value: Value; readonly redemption: string }
  | { readonly action: 'decline'; readonly reason: 'declined' }
  | { readonly action: 'cancel'; readonly reason: 'cancelled' | 'expired' };

interface InBandForm<Value> {
  readonly ask: Ask;
  readonly requestedSchema: FormAsk['requestedSchema'];
  readonly message: string | undefined;
  readonly check: (content: unknown) => Promise<Checked<Value>>;
}

/** Number of invalid contents after which the ask fails. */
const MAX_MISFITS = 2;

/**
 * Form mode: the MCP client shows the form. Returns undefined if it cannot, if its revision does not know such a form, or if the page was
 * already opened.
 *
 * @throws {Suspension} revision 2026-07-28: the answer comes with the retry
 * @throws {FormContentError} after the second invalid content
 * @throws {ElicitationTimeoutError}
 */
export async function askInBand<Value>(
  run: ToolRun,
  ask: Ask,
  formAsk: Pick<InBandForm<Value>, 'requestedSchema' | 'message'>,
  check: (content: unknown) => Promise<Checked<Value>>,
): Promise<InBandAnswer<Value> | undefined> {
  const { call, log } = run;
  const remembered = log.get(ask.key);
  const isLink = remembered?.elicitationId !== undefined;
  // A client that shows forms itself does not continue with the link that another one got.
  if (isLink && !(log.isOfPages && showsForms(call) && (await isUnanswered(run, remembered)))) return undefined;
  if (isLink) log.forget(ask.key);
  const known = isLink ? undefined : remembered;
  const earlier = known === undefined ? undefined : await answerOf(known, check);
  if (earlier !== undefined) return earlier;
  if ((known?.misfits ?? 0) >= MAX_MISFITS) throw new FormContentError([]);
  if (!showsForms(call)) return undefined;
  const requestedSchema = schemaFor(call.era === 'modern' ? undefined : call.revision, formAsk.requestedSchema);
  if (requestedSchema === undefined) return undefined;
  const form: InBandForm<Value> = { ask, requestedSchema, message: formAsk.message, check };

  if (known === undefined) {
    const seconds = ask.spec.body.ttlSeconds ?? TTL_SECONDS.default;
    log.set(recordOf(run, ask, { expiresAt: run.environment.now() + seconds * 1000 }));
  }
  const answered = call.era === 'modern' ? await askModern({ ...run, call }, form) : await push({ ...run, call }, form);
  // The page takes over, with a new record.
  if (answered === undefined) log.forget(ask.key);
  return answered;
}

/** Returns the answer that an earlier run of this call received. */
async function answerOf<Value>(
  record: AskRecord,
  check: InBandForm<Value>['check'],
): Promise<InBandAnswer<Value> | undefined> {
  if (record.refused !== undefined) return refused(record.refused);
  if (record.content === undefined) return undefined;
  const checked = await check(record.content);
  // The handler's schema has changed since.
  if ('faults' in checked) throw new FormContentError(checked.faults);
  return { action: 'accept', value: checked.value, redemption: record.redemption };
}

async function askModern<Value>(
  run: ToolRun<ModernCall>,
  form: InBandForm<Value>,
): Promise<InBandAnswer<Value> | undefined> {
  const { ask } = form;
  const { requestState, call } = run;
  const isAnswer = requestState?.open === ask.key && requestState.phase === 'ask';
  const taken = isAnswer && call.clientAnswer !== undefined ? await take(run, form, call.clientAnswer) : undefined;
  if (taken !== undefined && 'action' in taken) return taken;
  if (isAnswer) assertInTime(run, ask);
  if (!hasRoundLeft(run)) return undefined;
  throw await inputRequired(run, ask.key, 'ask', { mode: 'form', ...formAskOf(run, form, taken?.faults ?? []) });
}

async function push<Value>(
  run: ToolRun<LegacySessionCall>,
  form: InBandForm<Value>,
): Promise<InBandAnswer<Value> | undefined> {
  const { ask } = form;
  let faults: FormContentError['faults'] = [];
  for (;;) {
    const answered = await pushOnce(run, ask, formAskOf(run, form, faults));
    if (answered === 'undeliverable') return undefined;
    if (answered === 'expired') return { action: 'cancel', reason: 'expired' };
    const taken = await take(run, form, answered);
    if ('action' in taken) return taken;
    faults = taken.faults;
  }
}

async function pushOnce(
  run: ToolRun<LegacySessionCall>,
  ask: Ask,
  formAsk: FormAsk,
): Promise<ClientAnswer | 'undeliverable' | 'expired'> {
  const record = run.log.get(ask.key);
  const untilExpiry = Math.max(0, (record?.expiresAt ?? 0) - run.environment.now());
  const untilOverdue = timeLeft(run, ask);
  const time = AbortSignal.timeout(Math.min(untilExpiry, untilOverdue));
  try {
    return await run.call.elicitForm(formAsk, AbortSignal.any([ask.signal, time]));
  } catch {
    ask.signal.throwIfAborted();
    if (!time.aborted) return 'undeliverable';
    if (untilExpiry <= untilOverdue) return 'expired';
    run.progress.overdue = ask.key;
    throw new ElicitationTimeoutError(undefined);
  }
}

/** Validates the content like input from a browser, because the MCP client is not trusted. */
async function take<Value>(
  run: ToolRun,
  { ask, check }: InBandForm<Value>,
  { action, content }: ClientAnswer,
): Promise<InBandAnswer<Value> | { readonly faults: FormContentError['faults'] }> {
  const { log } = run;
  if (action !== 'accept') {
    log.update(ask.key, { refused: action });
    return refused(action);
  }
  const checked = await check(content);
  const record = log.get(ask.key);
  if (record === undefined) throw new TypeError('an answer without a record');
  if (!('faults' in checked)) {
    log.update(ask.key, { content: askRecordSchema.shape.content.parse(content ?? {}) });
    return { action: 'accept', value: checked.value, redemption: record.redemption };
  }
  const misfits = (record.misfits ?? 0) + 1;
  log.update(ask.key, { misfits });
  if (misfits >= MAX_MISFITS) throw new FormContentError(checked.faults);
  return { faults: checked.faults };
}

function refused(action: 'decline' | 'cancel') {
  return action === 'decline' ? { action, reason: 'declined' as const } : { action, reason: 'cancelled' as const };
}

function formAskOf<Value>(
  run: ToolRun,
  { ask, requestedSchema, message }: InBandForm<Value>,
  faults: FormContentError['faults'],
): FormAsk {
  const { about } = ask.spec;
  return { message: run.environment.text({ kind: 'question', about, message, faults }), requestedSchema };
}
