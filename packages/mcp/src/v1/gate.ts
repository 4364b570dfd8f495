import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  type CallToolResult,
  type ElicitRequestFormParams,
  ElicitResultSchema,
  type GetPromptResult,
  McpError,
  type ReadResourceResult,
  type ServerNotification,
  type ServerRequest,
  UrlElicitationRequiredError,
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod/v4';
import { createGate } from '../create-gate.ts';
import { asError, type InvalidRequestStateError } from '../errors.ts';
import type { AccountRequests, ErrorAnswer, Gated, GenericGate, StdioConnection } from '../gate.ts';
import { type CreateServer, createEndpoint, type EndpointOptions, type McpEndpoint } from '../http/endpoint.ts';
import { admitted } from '../http/origin-check.ts';
import { createSessionOf, LOCAL, type SessionOf, takePlace } from '../legacy-session.ts';
import { created, createReporter } from '../mistakes.ts';
import type { PosternOptions } from '../options.ts';
import { createRegisteredHandlers } from '../registered-handlers.ts';
import {
  clientAnswerSchema,
  declaresForm,
  ELICITATION_ERROR_CODE,
  type ToolCall,
  textIn,
  traceContextOf,
} from '../tool-call.ts';
import { checkServer, httpSdk } from './http.ts';

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

/** The SDK's context with the members of this package. */
export type GatedContext<Requests extends AccountRequests = Record<never, never>> = Extra & Gated<Requests>;

/** The types of this SDK. */
export interface Sdk {
  readonly mcpServer: McpServer;
  readonly context: Extra;
  readonly tool: CallToolResult;
  readonly prompt: GetPromptResult;
  readonly resource: ReadResourceResult;
  readonly inputRequired: never;
}

export type Gate = GenericGate<Sdk>;

/** The gate of a process. */
export interface SharedGate extends Gate {
  /**
   * Serves MCP clients of revisions up to 2025-11-25 at one URL, with sessions. Calls `create` for each session.
   *
   * @throws {PosternUsageError} `invalid_options`
   */
  endpoint(create: CreateServer<McpServer>, options?: EndpointOptions): McpEndpoint;
  /**
   * Serves the one MCP client at the other end of standard input and output, for the person of the option `subject`. The connection ends
   * with the standard input.
   *
   * @param transport replaces stdio, for example by an in-memory channel
   */
  stdio(create: CreateServer<McpServer>, transport?: Transport): StdioConnection;
}

/**
 * The gate of an MCP server on `@modelcontextprotocol/sdk` 1.x, which speaks revisions up to 2025-11-25.
 *
 * @throws {PosternUsageError} `invalid_options`
 */
export function postern(options: PosternOptions<Extra> = {}): SharedGate {
  const sessionOf = createSessionOf<McpServer>();
  const servers = new Map<string, McpServer>();
  const gate = createGate<Sdk>(options, {
    checkServer,
    toToolCall: (args, extra, name, server) => toToolCall(args, extra, { name, server, sessionOf }),
    serverOf: extra => servers.get(extra.sessionId ?? (extra.requestInfo === undefined ? LOCAL : '')),
    registered: createRegisteredHandlers(),
    sessionOf,
    toToolResult: result => result,
    toError,
    toInputRequired: otherEra,
    failTool: otherEra,
  });
  return {
    ...gate,
    endpoint: (create, endpointOptions = {}) =>
      createEndpoint({ sdk: httpSdk, create, options: endpointOptions, servers, gate: options }),
    stdio(create, transport = new StdioServerTransport()) {
      const reporter = createReporter(options.onBackgroundError);
      const connect = async () => {
        const server = await created(reporter, 'gate.stdio', async () => {
          const made = await create({ era: 'legacy', authInfo: undefined });
          checkServer(made);
          takePlace(servers, made);
          return made;
        });
        await server.connect(transport);
      };
      const onError = (error: unknown) => reporter.onBackgroundError(asError(error));
      const connected = connect().catch(onError);
      const close = async () => {
        await connected;
        await transport.close();
      };
      // Unlike that of SDK v2, this transport does not notice the end of its input.
      if (transport instanceof StdioServerTransport) process.stdin.once('end', () => void close().catch(onError));
      return { close };
    },
  };
}

interface Surroundings {
  readonly name: string | undefined;
  readonly server: McpServer | undefined;
  readonly sessionOf: SessionOf<McpServer>;
}

function toToolCall(args: unknown, extra: Extra, { name, server, sessionOf }: Surroundings): ToolCall {
  const common = {
    args,
    signal: extra.signal,
    authInfo: extra.authInfo,
    toolName: name,
    isUncheckedHttp: (extra.sessionId ?? extra.requestInfo) !== undefined && admitted.getStore() === undefined,
    reportProgress: progressReporter(extra),
    trace: traceContextOf(extra._meta),
  };
  // A transport without a session id is a shared channel (stdio), unless the message arrived with an HTTP request.
  const lasts = extra.sessionId !== undefined || extra.requestInfo === undefined;
  if (server === undefined || !lasts) return { ...common, era: 'legacy-stateless', mcpClientName: undefined };
  return {
    ...common,
    era: 'legacy-session',
    // Clients name it in every request over HTTP. This SDK does not tell on stdio.
    revision: z.string().optional().catch(undefined).parse(extra.requestInfo?.headers['mcp-protocol-version']),
    mcpClientName: server.server.getClientVersion()?.name,
    declaresUrl: server.server.getClientCapabilities()?.elicitation?.url !== undefined,
    declaresForm: declaresForm(server.server.getClientCapabilities()?.elicitation),
    session: sessionOf(server),
    elicitForm: ({ message, requestedSchema }, signal) =>
      extra.sendRequest(
        {
          method: 'elicitation/create',
          // The types differ only in `readonly`.
          params: {
            mode: 'form',
            message,
            requestedSchema: requestedSchema as ElicitRequestFormParams['requestedSchema'],
          },
        },
        // More lenient than the SDK's schema: this package handles invalid content itself, by asking again.
        clientAnswerSchema,
        { signal, timeout: 2_147_483_647 },
      ),
    async elicitUrl(request, signal) {
      const { action } = await extra.sendRequest(
        { method: 'elicitation/create', params: { mode: 'url', ...request } },
        ElicitResultSchema,
        // The gateway's expiry limits the wait: the signal aborts when the elicitation has ended.
        { signal, timeout: 2_147_483_647 },
      );
      return action;
    },
  };
}

function toError(answer: ErrorAnswer | InvalidRequestStateError): Error {
  if (answer instanceof Error) return otherEra();
  switch (answer.type) {
    case 'url_elicitation_required':
      return new UrlElicitationRequiredError([{ mode: 'url', ...answer.elicitation }], textIn(answer.fallback));
    case 'plain':
      return new McpError(ELICITATION_ERROR_CODE, textIn(answer.result), answer.result._meta);
    case 'capability_missing':
      return otherEra();
  }
}

/** Unreachable by construction: no call of this SDK carries a `requestState`. */
function otherEra(): never {
  throw new TypeError('belongs to a revision that this SDK does not speak');
}

function progressReporter(extra: Extra) {
  const progressToken = extra._meta?.progressToken;
  if (progressToken === undefined) return undefined;
  return (progress: number, message: string) =>
    extra.sendNotification({ method: 'notifications/progress', params: { progressToken, progress, message } });
}
