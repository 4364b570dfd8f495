import {
  defaultText,
  type FormRequestInput,
  formRequestSchema,
  type LocalText,
  localText,
  looksSecret,
  parseFormContent,
  type RequestedSchema,
  schemaWithTexts,
  TTL_SECONDS,
  textFor,
} from '@postern/api';
import { z } from 'zod/v4';
import { hasRoundLeft, inputRequired } from '../eras/modern.ts';
import { ElicitationTimeoutError, FormContentError } from '../errors.ts';
import { typedOf } from '../gateway/sealed-delivery.ts';
import { forHandler, runSerially } from '../run/handler.ts';
import { type AskRecord, askRecordSchema } from '../run/request-state.ts';
import { type Ask, type AskSpec, assertInTime, isUnanswered, recordOf, type ToolRun, timeLeft } from '../run/run.ts';
import {
  type ClientAnswer,
  type FormAsk,
  type LegacySessionCall,
  type ModernCall,
  showsForms,
} from '../run/tool-call.ts';
import { answer, askOptionsSchema, bodyOptions, idempotencyKey, openAsk, parseTerms, refusal } from './ask.ts';
import {
  type Checked,
  type FormOutput,
  type FormSchema,
  hasPatterns,
  schemaFor,
  toRequestedSchema,
  validated,
} from './form-schema.ts';
import type { AskOptions, Form, FormOptions, FormVerb, OneValue, YesNoVerb } from './verbs.ts';

export function createFormVerb(run: ToolRun): FormVerb & YesNoVerb {
  async function one<Value>(
    question: LocalText,
    field: z.ZodType<Value>,
    options: AskOptions = {},
  ): Promise<OneValue<Value>> {
    parseTerms('form', z.object({ question: localText(120) }), { question });
    const schema = z.object({ value: field.meta({ title: defaultText(question) }) });
    const texts = typeof question === 'string' ? {} : { texts: { value: { title: question } } };
    const answered = await form(run, schema, { ...options, title: question, ...texts });
    if (answered.action !== 'accept') return answered;
    const { content, ...rest } = answered;
    // TypeScript does not derive the output type from the type parameter.
    return { ...rest, value: (content as { value: Value }).value };
  }

  const verb = <Schema extends FormSchema>(schema: Schema, options?: FormOptions) => form(run, schema, options);
  return Object.assign(forHandler(run, verb) as FormVerb, {
    text: forHandler(run, (question: LocalText, options?: AskOptions) => one(question, z.string().min(1), options)),
    yesNo: forHandler(run, (question: LocalText, options?: AskOptions) => one(question, z.boolean(), options)),
    // The options are those of the question.
    choice: forHandler(run, (question: LocalText, options: readonly string[], askOptions?: AskOptions) =>
      one(question, z.enum(parseTerms('form.choice', z.array(z.string()), options)), askOptions),
    ) as FormVerb['choice'],
  });
}

async function form<Schema extends FormSchema>(
  run: ToolRun,
  schema: Schema,
  options: FormOptions = {},
): Promise<Form<FormOutput<Schema>>> {
  const { spec, requestedSchema, isForPage } = formSpec(schema, options);
  const check = (content: unknown) => checkContent(schema, requestedSchema, content);
  return await runSerially(run, async () => {
    const ask = await openAsk(run, spec, options);
    const inBand =
      !isForPage && !hasPatterns(schema)
        ? await askInBand(run, {
            ask,
            requestedSchema,
            message: options.message === undefined ? undefined : textFor(options.message, options.locale),
            check: withinState(check),
          })
        : undefined;
    if (inBand === undefined) return await fromPage(run, ask, check);
    if (inBand.action !== 'accept') return refusal(run, spec, inBand);
    const { redemption, value } = inBand;
    run.log.noteAnswer();
    return {
      action: 'accept',
      content: value,
      by: 'mcp-client',
      elicitationId: undefined,
      idempotencyKey: idempotencyKey(redemption),
    };
  });
}

/** `formRequestSchema` parses the members of this verb. */
const own = z.unknown().optional();
const optionsSchema = askOptionsSchema.extend({ title: own, texts: own, secretFields: own });

/** @throws {PosternUsageError} `invalid_ask`, before anything is sent @internal */
export function formSpec(
  schema: FormSchema,
  options: FormOptions,
): { spec: AskSpec; requestedSchema: RequestedSchema; isForPage: boolean } {
  const { title, texts } = options;
  const requestedSchema = toRequestedSchema(schema);
  // In every language that it may be shown in.
  const secretLike = Object.entries(requestedSchema.properties).filter(([name, property]) => {
    const { title: own, description } = texts?.[name] ?? {};
    const shown = [undefined, own, description].flatMap(text =>
      typeof text === 'object' ? Object.values(text) : text,
    );
    return shown.some(text => looksSecret(name, text === undefined ? property : { ...property, title: text }));
  });
  // Only text can be masked.
  const masked = secretLike.filter(([, { type }]) => type === 'string').map(([name]) => name);
  const secretFields = options.secretFields ?? masked;
  const request = { title, requestedSchema, texts, secretFields };
  const form = parseTerms('form', formRequestSchema, request);
  return {
    isForPage: secretFields.length > 0 || (options.secretFields === undefined && secretLike.length > 0),
    requestedSchema: schemaWithTexts(requestedSchema, form.texts ?? {}, options.locale),
    spec: {
      about: { kind: 'form', title: form.title === undefined ? undefined : textFor(form.title, options.locale) },
      terms: form,
      // The types differ only in `readonly`.
      body: { kind: 'form', form: form as FormRequestInput, ...bodyOptions('form', options, optionsSchema) },
      needsRedemption: true,
    },
  };
}

type Check<Value> = (content: unknown) => Promise<Checked<Value>>;

/** Maximum length of the JSON, in characters. */
const MAX_IN_BAND_LENGTH = 16_384;

/** Bounds content from an MCP client, because it travels in the `requestState` while a later ask is open. */
function withinState<Value>(check: Check<Value>): Check<Value> {
  return async content =>
    JSON.stringify(content ?? {}).length > MAX_IN_BAND_LENGTH
      ? { faults: [{ path: '', code: 'too_long' }] }
      : check(content);
}

async function checkContent<Schema extends FormSchema>(
  schema: Schema,
  requestedSchema: RequestedSchema,
  content: unknown,
): Promise<Checked<FormOutput<Schema>>> {
  const members = z.record(z.string(), z.unknown()).safeParse(content ?? {});
  if (!members.success) return { faults: [{ path: '', code: 'type' }] };
  const parsed = parseFormContent(requestedSchema, members.data);
  return parsed.faults === undefined ? await validated(schema, parsed.content) : { faults: parsed.faults };
}

async function fromPage<Value>(run: ToolRun, ask: Ask, check: Check<Value>): Promise<Form<Value>> {
  const answered = await answer(run, ask);
  if (answered.action !== 'accept') return answered;
  const { elicitationId } = answered.elicitation;
  const checked = await check(await typedOf(run.environment.sealedOpener, { elicitationId }, answered.result));
  // The gateway has validated the content, so the handler's schema has a rule that the form could not express.
  if ('faults' in checked) throw new FormContentError(checked.faults);
  return {
    action: 'accept',
    content: checked.value,
    by: 'page',
    elicitationId,
    idempotencyKey: idempotencyKey(elicitationId),
  };
}

/** How a form shown by the MCP client ended. The MCP client's answer counts as the user's, because there is no page. */
type InBandAnswer<Value> =
  | { readonly action: 'accept'; readonly value: Value; readonly redemption: string }
  | { readonly action: 'decline'; readonly reason: 'declined' }
  | { readonly action: 'cancel'; readonly reason: 'cancelled' | 'expired' };

interface InBandForm<Value> {
  readonly ask: Ask;
  readonly requestedSchema: FormAsk['requestedSchema'];
  readonly message: string | undefined;
  readonly check: Check<Value>;
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
async function askInBand<Value>(run: ToolRun, form: InBandForm<Value>): Promise<InBandAnswer<Value> | undefined> {
  const { call, log } = run;
  const { ask, check } = form;
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
  const requestedSchema = schemaFor(call.era === 'modern' ? undefined : call.revision, form.requestedSchema);
  if (requestedSchema === undefined) return undefined;

  if (known === undefined) {
    const seconds = ask.spec.body.ttlSeconds ?? TTL_SECONDS.default;
    log.set(recordOf(run, ask, { expiresAt: run.environment.now() + seconds * 1000 }));
  }
  const shown = { ...form, requestedSchema };
  const answered =
    call.era === 'modern' ? await askModern({ ...run, call }, shown) : await push({ ...run, call }, shown);
  // The page takes over, with a new record.
  if (answered === undefined) log.forget(ask.key);
  return answered;
}

/** Returns the answer that an earlier run of this call received. */
async function answerOf<Value>(record: AskRecord, check: Check<Value>): Promise<InBandAnswer<Value> | undefined> {
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
    run.handlerState.overdue = ask.key;
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
