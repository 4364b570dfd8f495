import { confirmationRequestSchema, isInert, type LocalText, textFor } from '@postern/api';
import { type JsonNode, memberOf, readJsonText, stringOf } from '@postern/api/json';
import {
  AUTHORIZATION_META_KEY,
  type ClientAnswer,
  clientAnswerSchema,
  createGate,
  declaresForm,
  ElicitationFailedError,
  ElicitationTimeoutError,
  type ErrorAnswer,
  envelopeOf,
  GatewayError,
  type GenericGate,
  type InvalidRequestStateError,
  type PosternOptions,
  PosternUsageError,
  SubjectUnavailableError,
  type ToolAnswer,
  type ToolCall,
  textIn,
} from '@postern/mcp/adapter';
import { z } from 'zod/v4';
import { type Access, openAccess } from './access.ts';
import { type Answer, bindingOf, type GuardedCall, roundBindingOf } from './call.ts';
import { RpcError } from './message.ts';
import type { ConfirmTerms } from './rules.ts';
import { isRound, SentCalls } from './sent-calls.ts';

/** The types of a gate whose calls are messages. */
interface WireTypes {
  readonly mcpServer: object;
  readonly context: GuardedCall;
  readonly tool: Answer;
  readonly prompt: never;
  readonly resource: never;
  readonly inputRequired: Answer;
}

/** A call that may be sent. */
export interface Yes {
  readonly call: GuardedCall;
  readonly access: Access;
  /** The message, if the call was sent before and the upstream wanted something first. */
  readonly round: Buffer | undefined;
}

/** Key of the only input request of this proxy. */
const INPUT_REQUEST_KEY = 'postern';
/** Of the progress that a wait reports, so that the progress of the upstream goes on above it. */
const PROGRESS_UNIT = 1e-6;

/** Asks the person, by `@postern/mcp`: as a tool would that asks for accounts and a confirmation in its first lines. */
export class Person {
  readonly sent = new SentCalls();
  readonly #gate: GenericGate<WireTypes>;
  readonly #tool: (binding: unknown, call: GuardedCall) => Promise<Answer>;

  /** @param afterYes runs once for each yes. @throws {PosternUsageError} `invalid_options` */
  constructor(options: PosternOptions<GuardedCall>, afterYes: (yes: Yes) => Promise<Answer>) {
    this.#gate = createGate<WireTypes>(options, {
      toToolCall: (args, call) => ({ ...toToolCall(call), args }),
      requested: ({ upstream, tool }) => ({ request: 'tool', name: JSON.stringify([upstream, tool.name]) }),
      toToolResult: result => ({ type: 'result', result }),
      toInputRequired: answer => ({ type: 'result', result: inputRequired(answer) }),
      toError,
      failTool: error => {
        throw error;
      },
    });
    this.#tool = this.#gate.tool(async (_binding, { gate, ...call }) => {
      const { decision, message } = call;
      const access = await openAccess(gate, decision.injections);
      const round = await this.sent.continued(message, roundBindingOf(call));
      if (round === undefined && decision.action === 'confirm')
        await gate.confirm(termsOf(call), { singleUse: true, ttlSeconds: decision.confirm.ttlSeconds });
      return await afterYes({ call, access, round });
    });
  }

  close(): void {
    this.#gate.close();
  }

  /** Resolves with what `afterYes` gave, or with what the MCP client has to know meanwhile. */
  ask(call: GuardedCall): Promise<Answer> {
    return this.#tool(bindingOf(call), call);
  }

  /** @throws {RpcError} for a name with characters that a person would not see, or see elsewhere */
  assertShowable(name: string): void {
    if (!isInert(name)) throw new RpcError(-32602, 'the name of a tool that cannot be shown');
  }

  /** The code of an error of `@postern/mcp`, whose text the MCP client may have. Undefined for any other. */
  codeOf(error: unknown): string | undefined {
    for (const kind of OWN_ERRORS) if (error instanceof kind) return error.code;
    return undefined;
  }

  /** SEP-2643: not performed, and not worth a repetition. */
  refusal(text: string): Answer {
    const _meta = { [AUTHORIZATION_META_KEY]: { reason: 'insufficient_authorization', remediation: 'unavailable' } };
    return { type: 'result', result: { content: [{ type: 'text', text }], isError: true, _meta } };
  }
}

const OWN_ERRORS = [
  GatewayError,
  PosternUsageError,
  ElicitationFailedError,
  ElicitationTimeoutError,
  SubjectUnavailableError,
];

const initializeSchema = z.object({
  protocolVersion: z.string().optional().catch(undefined),
  clientInfo: z.object({ name: z.string() }).optional().catch(undefined),
  capabilities: z
    .object({ elicitation: z.looseObject({}).optional().catch(undefined) })
    .optional()
    .catch(undefined),
});

function toToolCall(call: GuardedCall): ToolCall {
  const { message, client, signal, tool, authInfo } = call;
  const meta = memberOf(message.params, '_meta');
  const progressToken = message.valueOf(memberOf(meta, 'progressToken'));
  const reporting = {
    args: undefined,
    signal,
    authInfo,
    toolName: tool.name,
    reportProgress: (done: number, text: string) =>
      call.notify('notifications/progress', { progressToken, progress: done * PROGRESS_UNIT, message: text }),
  };
  const envelope = client.initialize === undefined ? envelopeOf(message.valueOf(meta)) : undefined;
  const common = progressToken === undefined ? { ...reporting, reportProgress: undefined } : reporting;
  if (envelope !== undefined) {
    const response = memberOf(memberOf(message.params, 'inputResponses'), INPUT_REQUEST_KEY);
    return {
      ...common,
      ...envelope,
      era: 'modern',
      requestState: isRound(message) ? undefined : stringOf(message.params, 'requestState'),
      clientAnswer: clientAnswerSchema.safeParse(message.valueOf(response)).data,
    };
  }
  if (!client.lasts) return { ...common, era: 'legacy-stateless', mcpClientName: undefined };
  const { clientInfo, capabilities, protocolVersion } =
    initializeSchema.safeParse(JSON.parse(client.initialize ?? '{}')).data ?? {};
  const elicitation = capabilities?.elicitation;
  const elicit = async (params: object, until: AbortSignal): Promise<ClientAnswer> =>
    clientAnswerSchema.parse(await call.elicit(params, until));
  return {
    ...common,
    era: 'legacy-session',
    revision: protocolVersion,
    mcpClientName: clientInfo?.name,
    declaresUrl: elicitation?.['url'] !== undefined,
    declaresForm: declaresForm(elicitation),
    session: client,
    elicitForm: (form, until) => elicit({ mode: 'form', ...form }, until),
    elicitUrl: async (request, until) => (await elicit({ mode: 'url', ...request }, until)).action,
  };
}

function inputRequired({ request, requestState, _meta }: Extract<ToolAnswer, { type: 'input_required' }>): object {
  const inputRequests = request && { [INPUT_REQUEST_KEY]: { method: 'elicitation/create', params: request } };
  return { resultType: 'input_required', inputRequests, requestState, _meta };
}

function toError(answer: ErrorAnswer | InvalidRequestStateError): RpcError {
  if (answer instanceof Error) return new RpcError(-32602, answer.message, { reason: answer.code });
  switch (answer.type) {
    case 'url_elicitation_required':
      return new RpcError(-32042, textIn(answer.fallback), { elicitations: [{ mode: 'url', ...answer.elicitation }] });
    case 'capability_missing':
      return new RpcError(-32021, answer.message, { requiredCapabilities: { elicitation: { url: {} } } });
    case 'plain':
      return new RpcError(-32603, textIn(answer.result), answer.result._meta);
  }
}

function termsOf(call: GuardedCall) {
  const { upstream, tool, decision, argumentsText, mayHaveRunAt } = call;
  const access = [...new Set(decision.injections.map(({ name }) => name))].join(', ');
  const { confirm } = decision;
  return {
    title: titleOf(tool.name, confirm.title && filledIn(confirm.title, readJsonText(argumentsText))),
    action: confirm.action,
    danger: confirm.danger ?? (tool.hints.destructiveHint === true ? 'destructive' : 'caution'),
    facts: [
      { type: 'text' as const, label: SERVER, value: upstream },
      { type: 'text' as const, label: TOOL, value: tool.name },
      ...(access === '' ? [] : [{ type: 'text' as const, label: ACCESS, value: access }]),
      ...(mayHaveRunAt === undefined ? [] : [{ type: 'time' as const, label: MAY_HAVE_RUN, value: mayHaveRunAt }]),
    ],
    arguments: argumentsText,
    // A yes that no call has taken is for the next equal one, even at another proxy with the same gateway: equal in all of this.
    binding: bindingOf(call),
  };
}

const SERVER: LocalText = {
  en: 'Server',
  de: 'Server',
  fr: 'Serveur',
  es: 'Servidor',
  ja: 'サーバー',
  ar: 'الخادم',
  'zh-Hans': '服务器',
  'zh-Hant': '伺服器',
};

const TOOL: LocalText = {
  en: 'Tool',
  de: 'Werkzeug',
  fr: 'Outil',
  es: 'Herramienta',
  ja: 'ツール',
  ar: 'الأداة',
  'zh-Hans': '工具',
  'zh-Hant': '工具',
};

/** Accounts and credentials that the server gets. */
const ACCESS: LocalText = {
  en: 'Gets access to',
  de: 'Erhält Zugang zu',
  fr: 'Reçoit l’accès à',
  es: 'Recibe acceso a',
  ja: 'アクセス先',
  ar: 'يحصل على وصول إلى',
  'zh-Hans': '可访问',
  'zh-Hant': '可存取',
};

/** Of an equal call, whose answer was lost. */
const MAY_HAVE_RUN: LocalText = {
  en: 'May already have run once',
  de: 'Ist vielleicht schon einmal gelaufen',
  fr: 'A peut-être déjà été exécuté',
  es: 'Puede haberse ejecutado ya',
  ja: 'すでに実行された可能性あり',
  ar: 'ربما نُفِّذ من قبل',
  'zh-Hans': '可能已经运行过一次',
  'zh-Hant': '可能已經執行過一次',
};

const RUN: Readonly<Record<string, (tool: string) => string>> = {
  en: tool => `Run ${tool}`,
  de: tool => `${tool} ausführen`,
  fr: tool => `Exécuter ${tool}`,
  es: tool => `Ejecutar ${tool}`,
  ja: tool => `${tool} を実行する`,
  ar: tool => `تشغيل ${tool}`,
  'zh-Hans': tool => `运行 ${tool}`,
  'zh-Hant': tool => `執行 ${tool}`,
};

/** The title of the rule, if the arguments leave it a title. */
function titleOf(tool: string, own: LocalText | undefined): LocalText {
  if (own !== undefined && confirmationRequestSchema.shape.title.safeParse(own).success) return own;
  return Object.fromEntries(Object.entries(RUN).map(([language, text]) => [language, text(shortened(tool))]));
}

const shortened = (text: string): string => (text.length > 90 ? `${[...text].slice(0, 89).join('')}…` : text);

/** A title with the arguments in it, in each of its languages. @internal */
export function filledIn(
  title: NonNullable<ConfirmTerms['title']>,
  args: JsonNode,
): NonNullable<ConfirmTerms['title']> {
  if (typeof title === 'string') return fill(title, args);
  return Object.fromEntries(Object.keys(title).map(language => [language, fill(textFor(title, language), args)]));
}

/** Numbers with the digits that are sent. */
function fill(text: string, args: JsonNode): string {
  return text.replace(/\{([\w.-]+)\}/g, (whole, name: string) => {
    const value = memberOf(args, name);
    return value !== undefined && 'text' in value ? value.text : whole;
  });
}
