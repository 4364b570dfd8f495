import { isTyped, mentionsSecret, namesSecret, parseFormContent, type RequestedSchema } from '@postern/api';
import { z } from 'zod/v4';
import type { ElicitationAnswer, ElicitationContext, ElicitationHandler, ElicitationRequest } from './elicitation.ts';
import { HostError } from './errors.ts';
import { inertLine } from './inert.ts';

const ruleSchema = z.strictObject({
  mcpServer: z.string().optional(),
  tool: z.string().optional(),
  fields: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.array(z.string())])).default({}),
  useDefaults: z.boolean().default(false),
  allowSecretLike: z.boolean().default(false),
});

const configurationSchema = z.strictObject({
  rules: z.array(ruleSchema).default([]),
  whenMissing: z.enum(['decline', 'cancel']).default('decline'),
});
type Rule = z.output<typeof ruleSchema>;

/**
 * Answers for runs without a user. Plain data, so it can be loaded from a file.
 *
 * - `rules[].mcpServer` (the host's id of the MCP server) and `rules[].tool` restrict a rule; absent means any. If the tool is
 *   unknown, rules with a tool do not apply. Rules that name more take precedence.
 * - `rules[].fields`: values by field name.
 * - `rules[].useDefaults`: whether fields without a value take the form's default. Default: false, because the defaults let
 *   an MCP server answer its own form.
 * - `rules[].allowSecretLike`: whether to answer fields that seem to ask for a secret. Their values come only from rules that
 *   set it.
 * - `whenMissing`: the answer to a form if a required field has no value. Default: `decline`.
 */
export type CiConfiguration = z.input<typeof configurationSchema>;

/** The outcome of one elicitation, without any value. */
export interface CiAnswer {
  readonly mcpServer: string;
  readonly tool?: string | undefined;
  readonly mode: 'form' | 'url';
  readonly action: ElicitationAnswer['action'];
  /** Fields answered from the configuration, and from the form's defaults. */
  readonly configured: readonly string[];
  readonly defaults: readonly string[];
  readonly reason?: CiReason;
  /** The fields that caused the reason. */
  readonly fields?: readonly string[];
}
export type CiReason = 'url_mode' | 'no_rule' | 'looks_secret' | 'missing' | 'unfit';

export interface CiHandlerOptions {
  readonly configuration: CiConfiguration;
  /** Called with one line per answer, without any value. Default: writes to standard error. */
  readonly log?: (line: string, answer: CiAnswer) => void;
}

/**
 * Creates a handler that answers forms from a configuration. It declines URL mode, which needs a user.
 *
 * @throws {HostError} `invalid_options`
 */
export function createCiHandler(options: CiHandlerOptions): ElicitationHandler {
  const parsed = configurationSchema.safeParse(options.configuration);
  if (!parsed.success) throw new HostError('invalid_options', z.prettifyError(parsed.error));
  const { log = (line: string) => void process.stderr.write(`${line}\n`) } = options;

  return async (request, context) => {
    const { answer, ...rest } = decide(parsed.data, request, context);
    const record: CiAnswer = {
      mcpServer: context.mcpServer.id,
      tool: context.toolName,
      mode: request.mode,
      action: answer.action,
      configured: [],
      defaults: [],
      ...rest,
    };
    log(toLine(record), record);
    return answer;
  };
}

type Decision = { readonly answer: ElicitationAnswer } & Partial<
  Pick<CiAnswer, 'reason' | 'fields' | 'configured' | 'defaults'>
>;
const decline: ElicitationAnswer = { action: 'decline', by: 'policy' };

function decide(
  { rules, whenMissing }: z.output<typeof configurationSchema>,
  request: ElicitationRequest,
  context: ElicitationContext,
): Decision {
  if (request.mode === 'url') return { answer: decline, reason: 'url_mode' };
  const holding = rulesFor(rules, context);
  if (holding.length === 0) return { answer: decline, reason: 'no_rule' };
  const { requestedSchema, message } = request;
  const secretLike = secretLikeFields(requestedSchema, message);
  if (secretLike.length > 0 && !holding.some(rule => rule.allowSecretLike))
    return { answer: decline, reason: 'looks_secret', fields: secretLike };

  const { content, configured, defaults, missing } = fill(requestedSchema, holding, new Set(secretLike));
  if (missing.length > 0) return { answer: { action: whenMissing, by: 'policy' }, reason: 'missing', fields: missing };
  const checked = parseFormContent(requestedSchema, content);
  if (checked.faults !== undefined)
    return { answer: decline, reason: 'unfit', fields: checked.faults.map(({ path }) => path) };
  return { answer: { action: 'accept', content: checked.content }, configured, defaults };
}

/** Returns the rules that apply, the most specific first. */
function rulesFor(rules: readonly Rule[], { mcpServer, toolName }: ElicitationContext): readonly Rule[] {
  const named = (rule: Rule) => Number(rule.mcpServer !== undefined) * 2 + Number(rule.tool !== undefined);
  return rules
    .filter(rule => rule.mcpServer === undefined || rule.mcpServer === mcpServer.id)
    .filter(rule => rule.tool === undefined || rule.tool === toolName)
    .toSorted((one, other) => named(other) - named(one));
}

function secretLikeFields({ properties }: RequestedSchema, message: string): readonly string[] {
  const isSuspicious = mentionsSecret(message);
  return (
    Object.entries(properties)
      // Of a choice of guesses, the answer would tell which one is right.
      .filter(([name, property]) => namesSecret(name, property) || (isSuspicious && isTyped(property)))
      .map(([name]) => name)
  );
}

function fill({ properties, required = [] }: RequestedSchema, rules: readonly Rule[], secretLike: ReadonlySet<string>) {
  const content: [string, unknown][] = [];
  const configured: string[] = [];
  const defaults: string[] = [];
  const missing: string[] = [];
  const mayUseDefaults = rules.some(rule => rule.useDefaults);
  for (const [name, property] of Object.entries(properties)) {
    const rule = rules.find(
      ({ fields, allowSecretLike }) => Object.hasOwn(fields, name) && (allowSecretLike || !secretLike.has(name)),
    );
    if (rule !== undefined) {
      configured.push(name);
      content.push([name, rule.fields[name]]);
    } else if (mayUseDefaults && property.default !== undefined) {
      defaults.push(name);
      content.push([name, property.default]);
    } else if (required.includes(name)) missing.push(name);
  }
  return { content: Object.fromEntries(content), configured, defaults, missing };
}

function toLine(answer: CiAnswer): string {
  const { mcpServer, tool, mode, action, reason, fields = [], configured, defaults } = answer;
  const pairs: readonly (readonly [string, readonly string[]])[] = [
    ['mcpServer', [mcpServer]],
    ['tool', tool === undefined ? [] : [tool]],
    ['mode', [mode]],
    ['action', [action]],
    ['reason', reason === undefined ? [] : [reason]],
    ['fields', fields],
    ['configured', configured],
    ['defaults', defaults],
  ];
  const shown = pairs.filter(([, names]) => names.length > 0);
  return ['elicitation', ...shown.map(([key, names]) => `${key}=${names.map(printable).join(',')}`)].join(' ');
}

/** Escapes a name from the MCP server, so it can imitate neither a new line nor another key-value pair. */
function printable(name: string): string {
  const inert = inertLine(name, 80);
  return /^[\w.:/-]+$/.test(inert) ? inert : JSON.stringify(inert);
}
