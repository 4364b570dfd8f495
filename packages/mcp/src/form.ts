import {
  defaultText,
  type FormRequestInput,
  formRequestSchema,
  type LocalText,
  localText,
  looksSecret,
  type PropertyTexts,
  parseFormContent,
  type RequestedSchema,
  schemaWithTexts,
  textFor,
} from '@postern/api';
import { z } from 'zod/v4';
import { type AnswerIn, type AnswerTo, answer, idempotencyKey, type RefusalMode, refusal } from './answer.ts';
import { type Ask, type AskOptions, type AskSpec, askOptionsSchema, bodyOptions, openAsk, parseTerms } from './ask.ts';
import { askInBand } from './eras/in-band.ts';
import { FormContentError } from './errors.ts';
import {
  type Checked,
  type FormInput,
  type FormOutput,
  type FormSchema,
  hasPatterns,
  toRequestedSchema,
  validated,
} from './form-schema.ts';
import { typedOf } from './sealed-delivery.ts';
import { forHandler, runSerially, type ToolRun } from './tool-run.ts';

export interface FormOptions<Name extends string = string> extends AskOptions {
  /** Title of the form, above its fields (120 characters), or one per language. */
  readonly title?: LocalText;
  /**
   * Titles, descriptions and options of fields in several languages, by the name of the field. They replace those of the schema, which
   * has one language.
   */
  readonly texts?: { readonly [Field in Name]?: PropertyTexts };
  /**
   * Masked fields. A form with secret fields always opens as a page of the gateway, so the MCP client does not see the input. Use
   * `credential` for keys and passwords that should be kept. Default: the text fields whose name, title or description speaks of a
   * password, key, token or code; `[]` says that none is secret. A number that looks like a PIN or code opens a page too, unmasked.
   */
  readonly secretFields?: readonly Name[];
}

/** The user has filled in the form. */
export interface FormAccepted<Content> {
  readonly action: 'accept';
  /** Checked against the schema, with its defaults and transformations. */
  readonly content: Content;
  /** Where the user filled in the form. An answer of the MCP client does not prove that the user gave it. */
  readonly by: 'mcp-client' | 'page';
  /** Undefined if the MCP client showed the form. */
  readonly elicitationId: string | undefined;
  /** Identifies this answer; the same in every run that receives it. */
  readonly idempotencyKey: string;
}

export type Form<Content> = AnswerTo<FormAccepted<Content>>;

/** The user has filled in a form of one field. */
export type OneValueAccepted<Value> = Omit<FormAccepted<unknown>, 'content'> & { readonly value: Value };

/** The answer to a form of one field. */
export type OneValue<Value> = AnswerTo<OneValueAccepted<Value>>;

/**
 * `form(schema)` asks for an object; `form.text`, `form.yesNo` and `form.choice` ask for one value. All of them return a
 * union on `action`.
 *
 * Members of the schema are strings (in zod also `z.email()`, `z.url()`, `z.iso.date()`, `z.iso.datetime({ offset: true })`), numbers,
 * booleans, enums, arrays of enums, and unions of titled literals. `optional`, `default`, `describe` and `meta({ title })` work as usual.
 * `regex()` without flags becomes a `pattern`, which the gateway matches as RE2 (no look-around, no back-references). A form with a pattern
 * opens a page: matching it here could take exponential time. A schema that MCP cannot express is refused before anything is sent.
 * Refinements and transformations apply to the returned content. Invalid content of an MCP client is asked for once more.
 */
export interface FormVerb<Mode extends RefusalMode = 'returned'> {
  <Schema extends FormSchema>(
    schema: Schema,
    options?: FormOptions<Extract<keyof FormInput<Schema>, string>>,
  ): Promise<AnswerIn<Mode, FormAccepted<FormOutput<Schema>>>>;
  /** Asks for one non-empty line of text. */
  text(question: LocalText, options?: AskOptions): Promise<AnswerIn<Mode, OneValueAccepted<string>>>;
  /** Asks for one option of a list. */
  choice<const Option extends string>(
    question: LocalText,
    options: readonly Option[],
    askOptions?: AskOptions,
  ): Promise<AnswerIn<Mode, OneValueAccepted<Option>>>;
}

export interface YesNoVerb {
  /** Asks for yes or no; both are accepted answers. For an approval with a receipt use `confirm`. */
  yesNo(question: LocalText, options?: AskOptions): Promise<OneValue<boolean>>;
}

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
        ? await askInBand(
            run,
            ask,
            {
              requestedSchema,
              message: options.message === undefined ? undefined : textFor(options.message, options.locale),
            },
            withinState(check),
          )
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
