import { type FormRequestInput, formRequestSchema, parseFormContent, type RequestedSchema } from '@postern/api';
import { z } from 'zod';
import { type AnswerTo, idempotencyKey, refusal, toRefusal } from './answers.ts';
import { type Ask, type AskOptions, askDigest, bodyOptions, parseAsk } from './ask.ts';
import { askInBand } from './eras/in-band.ts';
import { FormContentError, type FormContentFault } from './errors.ts';
import { toRequestedSchema } from './form-schema.ts';
import { answer } from './resolve.ts';
import { asked, type Inquiry, inTurn, openInquiry, type Run } from './run.ts';
import { typedOf } from './typed-result.ts';

export interface FormOptions<Name extends string = string> extends AskOptions {
  /** What the form is about, above its fields (120 characters). */
  readonly title?: string;
  /**
   * Fields that are masked. A form with any is never shown by the MCP client, which would see what is typed: it opens as a page
   * of the gateway. For keys and passwords that are to be kept, `credential` is the better question.
   */
  readonly secretFields?: readonly Name[];
}

/** The user has filled in the form. */
export interface FormAccepted<Content> {
  readonly action: 'accept';
  /** Checked against the schema, with its defaults and transformations. */
  readonly content: Content;
  /** Where it was filled in. What the MCP client sends is what it says that the user said. */
  readonly by: 'mcp-client' | 'page';
  /** Of the page. */
  readonly elicitationId: string | undefined;
  /** Names this one answer, the same in every run that gets it. */
  readonly idempotencyKey: string;
}

export type Form<Content> = AnswerTo<FormAccepted<Content>>;

/** The answer to a form of one field. */
export type OneValue<Value> = AnswerTo<Omit<FormAccepted<unknown>, 'content'> & { readonly value: Value }>;

/**
 * `form(schema)` asks for an object; `form.text`, `form.yesNo` and `form.choice` ask for one value. All of them answer on
 * `action`.
 */
export interface FormVerb {
  <Schema extends z.ZodObject>(
    schema: Schema,
    options?: FormOptions<Extract<keyof z.input<Schema>, string>>,
  ): Promise<Form<z.output<Schema>>>;
  /** One line of text, not empty. */
  text(question: string, options?: AskOptions): Promise<OneValue<string>>;
  /** A yes or a no: both are answers. Not an approval; `confirm` is, with a receipt. */
  yesNo(question: string, options?: AskOptions): Promise<OneValue<boolean>>;
  /** One of a list; the value is the one that stands in the list. */
  choice<const Option extends string>(
    question: string,
    options: readonly Option[],
    askOptions?: AskOptions,
  ): Promise<OneValue<Option>>;
}

export function createFormVerb(run: Run): FormVerb {
  async function one<Value>(
    question: string,
    field: z.ZodType<Value>,
    options: AskOptions = {},
  ): Promise<OneValue<Value>> {
    const schema = z.object({ value: field.meta({ title: question }) });
    const answered = await form(run, schema, { ...options, title: question });
    if (answered.action !== 'accept') return answered;
    const { content, ...rest } = answered;
    // The type of the object's output is not derived from a type parameter.
    return { ...rest, value: (content as { value: Value }).value };
  }

  const verb = <Schema extends z.ZodObject>(schema: Schema, options?: FormOptions) => asked(form(run, schema, options));
  return Object.assign(verb, {
    text: (question: string, options?: AskOptions) => asked(one(question, z.string().min(1), options)),
    yesNo: (question: string, options?: AskOptions) => asked(one(question, z.boolean(), options)),
    choice: <const Option extends string>(
      question: string,
      options: readonly Option[],
      askOptions?: AskOptions,
    ): Promise<OneValue<Option>> => asked(one(question, z.enum(options), askOptions)),
  });
}

async function form<Schema extends z.ZodObject>(
  run: Run,
  schema: Schema,
  options: FormOptions = {},
): Promise<Form<z.output<Schema>>> {
  const { ask, requestedSchema } = createFormAsk(schema, options);
  const check = (content: unknown) => checkContent(schema, requestedSchema, content);
  return await inTurn(run, async () => {
    const inquiry = await openInquiry(run, ask, options);
    const inBand =
      ask.body.kind === 'form' && ask.body.form.secretFields?.length === 0
        ? await askInBand(run, inquiry, { requestedSchema, message: options.message }, withinState(check))
        : undefined;
    if (inBand === undefined) return await fromPage(run, inquiry, check);
    if (inBand.action !== 'accept') return refusal(run, ask, inBand);
    const { redemption, value } = inBand;
    return {
      action: 'accept',
      content: value,
      by: 'mcp-client',
      elicitationId: undefined,
      idempotencyKey: idempotencyKey(redemption),
    };
  });
}

/** @throws {PosternUsageError} `invalid_ask`, before anything is sent */
export function createFormAsk(
  schema: z.ZodObject,
  { title, secretFields = [], ...options }: FormOptions,
): { ask: Ask; requestedSchema: RequestedSchema } {
  const requestedSchema = toRequestedSchema(schema);
  const request = { ...(title === undefined ? {} : { title }), requestedSchema, secretFields: [...secretFields] };
  const form = parseAsk('form', formRequestSchema, request);
  return {
    requestedSchema,
    ask: {
      about: { kind: 'form', title: form.title },
      digest: askDigest('form', form),
      // The same schema, but for `readonly`.
      body: { kind: 'form', form: form as FormRequestInput, ...bodyOptions('form', options) },
      leavesResult: true,
    },
  };
}

export type Checked<Value> = { readonly value: Value } | { readonly faults: readonly FormContentFault[] };

type Check<Value> = (content: unknown) => Checked<Value>;

/** Characters of JSON. */
const MAX_IN_BAND_LENGTH = 16_384;

/** What an MCP client sends travels in the `requestState` while a later question is open. */
function withinState<Value>(check: Check<Value>): Check<Value> {
  return content =>
    JSON.stringify(content ?? {}).length > MAX_IN_BAND_LENGTH
      ? { faults: [{ path: '', code: 'too_long' }] }
      : check(content);
}

function checkContent<Schema extends z.ZodObject>(
  schema: Schema,
  requestedSchema: RequestedSchema,
  content: unknown,
): Checked<z.output<Schema>> {
  const members = z.record(z.string(), z.unknown()).safeParse(content ?? {});
  if (!members.success) return { faults: [{ path: '', code: 'type' }] };
  const parsed = parseFormContent(requestedSchema, members.data);
  if (parsed.faults !== undefined) return { faults: parsed.faults };
  const value = schema.safeParse(parsed.content);
  if (value.success) return { value: value.data };
  const paths = new Set(value.error.issues.map(({ path }) => String(path[0] ?? '')));
  return { faults: [...paths].map(path => ({ path, code: 'refused' })) };
}

async function fromPage<Value>(run: Run, inquiry: Inquiry, check: Check<Value>): Promise<Form<Value>> {
  const answered = await answer(run, inquiry);
  if (answered.action !== 'accept') return toRefusal(run, inquiry.ask, answered.resolution);
  const { elicitationId } = answered.elicitation;
  const checked = check(await typedOf(run, { elicitationId }, answered.result));
  // The gateway has checked it against the same schema, so it is a rule of the handler that the form could not say.
  if ('faults' in checked) throw new FormContentError(checked.faults);
  return {
    action: 'accept',
    content: checked.value,
    by: 'page',
    elicitationId,
    idempotencyKey: idempotencyKey(elicitationId),
  };
}
