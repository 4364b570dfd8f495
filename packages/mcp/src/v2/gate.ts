import {
  type CallToolResult,
  type GetPromptResult,
  type InputRequiredResult,
  inputRequired,
  type McpServer,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  type ServerContext,
  type Transport,
  UrlElicitationRequiredError,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { createGate } from '../create-gate.ts';
import { InvalidRequestStateError } from '../errors.ts';
import type { AccountRequests, ErrorAnswer, Gated, GenericGate, StdioConnection } from '../gate.ts';
import {
  type Connection,
  type CreateServer,
  createEndpoint,
  type EndpointOptions,
  type McpEndpoint,
} from '../http/endpoint.ts';
import { createSessionOf, LOCAL, takePlace } from '../legacy-session.ts';
import { created, createReporter } from '../mistakes.ts';
import type { PosternOptions } from '../options.ts';
import { createRegisteredHandlers } from '../registered-handlers.ts';
import { ELICITATION_ERROR_CODE, type ToolAnswer, textIn } from '../tool-call.ts';
import { checkServer, createHttpSdk } from './http.ts';
import { INPUT_REQUEST_KEY, requestedIn, toToolCall } from './to-tool-call.ts';

/** The SDK's context with the members of this package. */
export type GatedContext<Requests extends AccountRequests = Record<never, never>> = ServerContext & Gated<Requests>;

/** The types of this SDK. */
export interface Sdk {
  readonly mcpServer: McpServer;
  readonly context: ServerContext;
  readonly tool: CallToolResult;
  readonly prompt: GetPromptResult;
  readonly resource: ReadResourceResult;
  readonly inputRequired: InputRequiredResult;
}

export type Gate = GenericGate<Sdk>;

/** The gate of a process. */
export interface SharedGate extends Gate {
  /**
   * Serves MCP clients of both eras at one URL: 2026-07-28, and 2025-11-25 with sessions. Calls `create` for each session and for
   * each request of 2026-07-28.
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
 * The gate of an MCP server on the MCP TypeScript SDK v2 (`@modelcontextprotocol/server`), for both eras.
 *
 * @throws {PosternUsageError} `invalid_options`
 */
export function postern(options: PosternOptions<ServerContext> = {}): SharedGate {
  const sessionOf = createSessionOf<McpServer>();
  const servers = new Map<string, McpServer>();
  const registered = createRegisteredHandlers();
  const gate = createGate<Sdk>(options, {
    checkServer,
    toToolCall: (args, ctx, name, server) => toToolCall(args, ctx, { name, server, sessionOf }),
    requested: requestedIn,
    serverOf: ctx => servers.get(ctx.sessionId ?? (ctx.http === undefined ? LOCAL : '')),
    registered,
    sessionOf,
    toToolResult: result => result,
    toInputRequired,
    toError,
    failTool: raising,
  });
  return {
    ...gate,
    endpoint: (create, endpointOptions = {}) =>
      createEndpoint({
        sdk: createHttpSdk(registered),
        create,
        options: endpointOptions,
        servers,
        gate: options,
      }),
    stdio(create, transport) {
      const reporter = createReporter(options.onBackgroundError);
      const createLocal = ({ era }: Pick<Connection, 'era'>) =>
        created(reporter, 'gate.stdio', async () => {
          const server = await create({ era, authInfo: undefined });
          checkServer(server);
          takePlace(servers, server);
          return server;
        });
      const onerror = reporter.onBackgroundError;
      return serveStdio(createLocal, { onerror, ...(transport === undefined ? {} : { transport }) });
    },
  };
}

type InputRequired = Extract<ToolAnswer, { type: 'input_required' }>;

function toInputRequired({ request, requestState, _meta }: InputRequired): InputRequiredResult {
  if (request === undefined) return inputRequired({ requestState });
  const inputRequests = { [INPUT_REQUEST_KEY]: toInputRequest(request) };
  return { ...inputRequired({ inputRequests, requestState }), ...(_meta === undefined ? {} : { _meta }) };
}

function toInputRequest(request: NonNullable<InputRequired['request']>) {
  if (request.mode === 'url') return inputRequired.elicitUrl({ url: request.url, message: request.message });
  const { message } = request;
  // The types differ only in `readonly`.
  const requestedSchema = request.requestedSchema as Parameters<typeof inputRequired.elicit>[0]['requestedSchema'];
  return inputRequired.elicit({ message, requestedSchema });
}

function toError(answer: ErrorAnswer | InvalidRequestStateError): Error {
  if (answer instanceof InvalidRequestStateError)
    // −32602, worded like the SDK's own `requestState.verify`. Does not include the reason.
    return new ProtocolError(ProtocolErrorCode.InvalidParams, answer.message, { reason: answer.code });
  switch (answer.type) {
    case 'url_elicitation_required':
      return new UrlElicitationRequiredError([{ mode: 'url', ...answer.elicitation }], textIn(answer.fallback));
    case 'capability_missing':
      return new MissingRequiredClientCapabilityError(
        { requiredCapabilities: { elicitation: { url: {} } } },
        answer.message,
      );
    case 'plain':
      return new ProtocolError(ELICITATION_ERROR_CODE, textIn(answer.result), answer.result._meta);
  }
}

/**
 * `McpServer` converts every error of a tool handler, except −32042, to an `isError` result. Only the later code that reads the
 * `inputRequests` of an `input_required` result can raise a JSON-RPC error, so the error waits there. If the SDK ever reads them
 * earlier, the error becomes an `isError` result, and never an accepted call.
 */
function raising(error: Error): InputRequiredResult {
  return {
    resultType: 'input_required',
    get inputRequests(): never {
      throw error;
    },
  };
}
