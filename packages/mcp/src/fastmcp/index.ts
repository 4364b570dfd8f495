import {
  type ClientAction,
  type ConnectedServer,
  createGate,
  createSessionOf,
  declaresForm,
  type FormAsk,
  type GenericGate,
  type PosternOptions,
  type SessionOf,
  type ToolCall,
  textIn,
} from '../adapter.ts';

/** The session of FastMCP, as this adapter uses it. */
export interface FastMcpSession extends ConnectedServer {
  readonly sessionId?: string | undefined;
  /** FastMCP's own `clientCapabilities` is still null when the first call arrives. */
  readonly server: ConnectedServer['server'] & {
    getClientCapabilities(): { readonly elicitation?: Readonly<Record<string, unknown>> | undefined } | undefined;
  };
}

/** The `FastMCP` instance that a gate is attached to. */
export interface FastMcpServer {
  readonly sessions: readonly FastMcpSession[];
}

type ElicitParams =
  | { readonly mode: 'url'; readonly elicitationId: string; readonly url: string; readonly message: string }
  | { readonly mode: 'form'; readonly message: string; readonly requestedSchema: never };

/** FastMCP's context of a tool. `session` is what `authenticate` returned. */
export interface FastMcpContext {
  readonly client: { readonly version: { readonly name: string } | undefined };
  readonly session: unknown;
  readonly sessionId?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  elicit(
    params: ElicitParams,
    options?: { signal: AbortSignal; timeout: number },
  ): Promise<{ readonly action: ClientAction; readonly content?: unknown }>;
}

interface FastMcpTypes {
  readonly mcpServer: FastMcpServer;
  readonly context: FastMcpContext;
  readonly tool: {
    readonly content: { type: 'text'; text: string }[];
    readonly isError?: boolean;
    readonly _meta?: { [key: string]: unknown } | undefined;
  };
  readonly prompt: never;
  readonly resource: never;
  readonly inputRequired: never;
}

/** `tool` and `attach` only: FastMCP hands no context to prompts and resources. */
export type Gate = Pick<GenericGate<FastMcpTypes>, 'tool' | 'attach' | 'check' | 'close'>;

/**
 * The gate of an MCP server on `fastmcp` 4.20 or later. Attach it to the `FastMCP` instance. FastMCP turns every error of a tool into
 * a text, so the plain result takes the place of −32042.
 *
 * @throws {PosternUsageError} `invalid_options`
 */
export function postern(options: PosternOptions<FastMcpContext>): Gate {
  const sessionOf = createSessionOf<FastMcpSession>();
  return createGate<FastMcpTypes>(options, {
    toToolCall: (args, ctx, name, server) => toToolCall(args, ctx, name, { server, sessionOf }),
    toToolResult: result => result,
    toError: answer =>
      answer instanceof Error ? answer : new Error(answer.type === 'plain' ? textIn(answer.result) : answer.type),
    toInputRequired: unreachable,
    failTool: unreachable,
  });
}

function toToolCall(
  args: unknown,
  ctx: FastMcpContext,
  name: string | undefined,
  { server, sessionOf }: { server: FastMcpServer | undefined; sessionOf: SessionOf<FastMcpSession> },
): ToolCall {
  const session = sessionFor(ctx, server);
  const common = {
    args,
    signal: ctx.signal ?? new AbortController().signal,
    // `authenticate` decides what a session is, so the option `subject` names the user.
    authInfo: undefined,
    // FastMCP shows no header of a request. On stdio there is one session, without an id.
    isUncheckedHttp: session === undefined || ctx.sessionId !== undefined,
    toolName: name,
    hasOutputSchema: true,
    mcpClientName: ctx.client.version?.name,
    reportProgress: undefined,
  };
  const elicitation = session?.server.getClientCapabilities()?.elicitation;
  if (session === undefined) return { ...common, era: 'legacy-stateless' };
  return {
    ...common,
    era: 'legacy-session',
    swallowsErrors: true,
    declaresUrl: elicitation?.['url'] !== undefined,
    declaresForm: declaresForm(elicitation),
    session: sessionOf(session),
    async elicitUrl(request, signal) {
      return (await ctx.elicit({ mode: 'url', ...request }, { signal, timeout: UNLIMITED_MS })).action;
    },
    async elicitForm({ message, requestedSchema }: FormAsk, signal) {
      const params = { mode: 'form', message, requestedSchema: requestedSchema as never } as const;
      const { action, content } = await ctx.elicit(params, { signal, timeout: UNLIMITED_MS });
      return { action, content };
    },
  };
}

/** The signal ends the request. */
const UNLIMITED_MS = 2_147_483_647;

/** On stdio there is one session, without an id. */
function sessionFor({ sessionId }: FastMcpContext, server: FastMcpServer | undefined): FastMcpSession | undefined {
  const sessions = server?.sessions.filter(session => session.sessionId === sessionId) ?? [];
  return sessions.length === 1 ? sessions[0] : undefined;
}

/** FastMCP speaks 2025-11-25 only. */
function unreachable(): never {
  throw new TypeError('belongs to a revision that FastMCP does not speak');
}
