import { TTL_SECONDS } from '@postern/api';
import { ElicitationTimeoutError, FormContentError } from '../errors.ts';
import type { Checked } from '../form.ts';
import { assertInTime, type Inquiry, type Run, timeLeft } from '../run.ts';
import { newStep, type Step, stepSchema } from '../steps.ts';
import type { ClientAnswer, FormQuestion, LegacySessionCall, ModernCall } from '../tool-call.ts';
import { hasRoundLeft, inputRequired } from './modern.ts';

/** How a form that the MCP client showed itself ended. Here its answer is the user's: there is no page that knows better. */
export type InBandAnswer<Value> =
  | { readonly action: 'accept'; readonly value: Value; readonly redemption: string }
  | { readonly action: 'decline'; readonly reason: 'declined' }
  | { readonly action: 'cancel'; readonly reason: 'cancelled' | 'expired' };

interface InBandForm<Value> {
  readonly inquiry: Inquiry;
  readonly requestedSchema: FormQuestion['requestedSchema'];
  readonly message: string | undefined;
  readonly check: (content: unknown) => Checked<Value>;
}

/** Contents that do not fit before the question is given up. */
const MAX_MISFITS = 2;

/**
 * Form mode: the MCP client shows the form. Undefined where it cannot, or where the page was opened already.
 *
 * @throws {Suspension} revision 2026-07-28: the answer comes with the retry
 * @throws {FormContentError} after the second content that does not fit
 * @throws {ElicitationTimeoutError}
 */
export async function askInBand<Value>(
  run: Run,
  inquiry: Inquiry,
  question: Pick<InBandForm<Value>, 'requestedSchema' | 'message'>,
  check: (content: unknown) => Checked<Value>,
): Promise<InBandAnswer<Value> | undefined> {
  const { call } = run;
  const steps = await run.steps();
  const known = steps.get(inquiry.key);
  if (known?.elicitationId !== undefined) return undefined;
  const form: InBandForm<Value> = { inquiry, ...question, check };
  const earlier = known === undefined ? undefined : answerOf(known, check);
  if (earlier !== undefined) return earlier;
  if ((known?.misfits ?? 0) >= MAX_MISFITS) throw new FormContentError([]);
  if (call.era === 'legacy-stateless' || !call.declaresForm) return undefined;

  if (known === undefined) {
    const askedAt = run.environment.now();
    const seconds = inquiry.ask.body.ttlSeconds ?? TTL_SECONDS.default;
    steps.set(newStep({ key: inquiry.key, askedAt, expiresAt: askedAt + seconds * 1000 }));
  }
  const answered = call.era === 'modern' ? await askModern({ ...run, call }, form) : await push({ ...run, call }, form);
  // The page takes over, under a step of its own.
  if (answered === undefined) steps.forget(inquiry.key);
  return answered;
}

/** What an earlier run of this call was answered. */
function answerOf<Value>(step: Step, check: InBandForm<Value>['check']): InBandAnswer<Value> | undefined {
  if (step.refused !== undefined) return refused(step.refused);
  if (step.content === undefined) return undefined;
  const checked = check(step.content);
  // A schema that changed its mind, or a release that changed the schema.
  if ('faults' in checked) throw new FormContentError(checked.faults);
  return { action: 'accept', value: checked.value, redemption: step.redemption };
}

async function askModern<Value>(
  run: Run<ModernCall>,
  form: InBandForm<Value>,
): Promise<InBandAnswer<Value> | undefined> {
  const { inquiry } = form;
  const { requestState, call } = run;
  const isAnswer = requestState?.open === inquiry.key && requestState.phase === 'ask';
  const taken = isAnswer && call.clientAnswer !== undefined ? await take(run, form, call.clientAnswer) : undefined;
  if (taken !== undefined && 'action' in taken) return taken;
  if (isAnswer) await assertInTime(run, inquiry);
  if (!hasRoundLeft(run)) return undefined;
  throw await inputRequired(run, inquiry.key, 'ask', { mode: 'form', ...questionOf(run, form, taken?.faults ?? []) });
}

async function push<Value>(
  run: Run<LegacySessionCall>,
  form: InBandForm<Value>,
): Promise<InBandAnswer<Value> | undefined> {
  const { inquiry } = form;
  let faults: FormContentError['faults'] = [];
  for (;;) {
    const answered = await pushOnce(run, inquiry, questionOf(run, form, faults));
    if (answered === 'undeliverable') return undefined;
    if (answered === 'expired') return { action: 'cancel', reason: 'expired' };
    const taken = await take(run, form, answered);
    if ('action' in taken) return taken;
    faults = taken.faults;
  }
}

async function pushOnce(
  run: Run<LegacySessionCall>,
  inquiry: Inquiry,
  question: FormQuestion,
): Promise<ClientAnswer | 'undeliverable' | 'expired'> {
  const step = (await run.steps()).get(inquiry.key);
  const untilExpiry = Math.max(0, (step?.expiresAt ?? 0) - run.environment.now());
  const untilOverdue = await timeLeft(run, inquiry);
  const time = AbortSignal.timeout(Math.min(untilExpiry, untilOverdue));
  try {
    return await run.call.elicitForm(question, AbortSignal.any([inquiry.signal, time]));
  } catch {
    inquiry.signal.throwIfAborted();
    if (!time.aborted) return 'undeliverable';
    if (untilExpiry <= untilOverdue) return 'expired';
    run.progress.overdue = inquiry.key;
    throw new ElicitationTimeoutError(undefined);
  }
}

/** What the MCP client sends is not trusted: it is checked as what a browser sends would be. */
async function take<Value>(
  run: Run,
  { inquiry, check }: InBandForm<Value>,
  { action, content }: ClientAnswer,
): Promise<InBandAnswer<Value> | { readonly faults: FormContentError['faults'] }> {
  const steps = await run.steps();
  if (action !== 'accept') {
    steps.change(inquiry.key, { refused: action });
    return refused(action);
  }
  const checked = check(content);
  const step = steps.get(inquiry.key);
  if (step === undefined) throw new TypeError('an answer without a step');
  if (!('faults' in checked)) {
    steps.change(inquiry.key, { content: stepSchema.shape.content.parse(content ?? {}) });
    return { action: 'accept', value: checked.value, redemption: step.redemption };
  }
  const misfits = (step.misfits ?? 0) + 1;
  steps.change(inquiry.key, { misfits });
  if (misfits >= MAX_MISFITS) throw new FormContentError(checked.faults);
  return { faults: checked.faults };
}

function refused(action: 'decline' | 'cancel') {
  return action === 'decline' ? { action, reason: 'declined' as const } : { action, reason: 'cancelled' as const };
}

function questionOf<Value>(
  run: Run,
  { inquiry, requestedSchema, message }: InBandForm<Value>,
  faults: FormContentError['faults'],
): FormQuestion {
  const { about } = inquiry.ask;
  return { message: run.environment.text({ kind: 'question', about, message, faults }), requestedSchema };
}
