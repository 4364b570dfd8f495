import {
  type CallToolResult,
  createMcpHandler,
  type GetPromptResult,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  isLegacyRequest,
  type McpRequestContext,
  McpServer,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  type ServerContext,
  type Transport,
  UrlElicitationRequiredError,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { InvalidRequestStateError } from '../errors.ts';
import { OwnRequestState, sameCopy } from '../gate/create-gate.ts';
import type { PosternOptions } from '../gate/environment.ts';
import type { AccountRequests, ErrorAnswer, Gated, GenericGate, RegisteredHandlers } from '../gate/gate.ts';
import {
  createSharedGate,
  type SharedGate as GenericSharedGate,
  LOCAL,
  legacyCall,
  progressReporter,
  type Surroundings,
} from '../gate/sdk-gate.ts';
import { admitted } from '../http/admission.ts';
import type { HttpSdk } from '../http/endpoint.ts';
import {
  clientAnswerSchema,
  ELICITATION_ERROR_CODE,
  type Envelope,
  envelopeOf,
  FIRST_MODERN_REVISION,
  type RequestKind,
  type ToolAnswer,
  type ToolCall,
  textIn,
  traceContextOf,
} from '../run/tool-call.ts';

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
export type SharedGate = GenericSharedGate<Sdk, Transport>;

/**
 * The gate of an MCP server on the MCP TypeScript SDK v2 (`@modelcontextprotocol/server`), for both eras.
 *
 * @throws {PosternUsageError} `invalid_options`
 */
export function postern(options: PosternOptions<ServerContext> = {}): SharedGate {
  return createSharedGate<Sdk, Transport>(options, {
    http: createHttpSdk,
    toToolCall,
    requested: requestedIn,
    serverIdOf: ctx => ctx.sessionId ?? (ctx.http === undefined ? LOCAL : ''),
    serveStdio: ({ create, onError: onerror, transport }) => serveStdio(create, { onerror, transport }),
    toInputRequired,
    toError,
    failTool: raising,
  });
}

/** Streamable HTTP of SDK v2. */
function createHttpSdk(registered: RegisteredHandlers): HttpSdk<McpServer> {
  return {
    checkServer: sameCopy('@modelcontextprotocol/server', McpServer),
    async connect(server, sessionId) {
      const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => sessionId });
      await server.connect(transport);
      return transport;
    },
    modern(create, onerror) {
      const createModern = async ({ era, authInfo }: McpRequestContext) => {
        const server = await create({ era, authInfo });
        registered.add(server);
        return server;
      };
      const { fetch, close } = createMcpHandler(createModern, { legacy: 'reject', onerror });
      return { isLegacy: isLegacyRequest, answer: fetch, close };
    },
  };
}

/** The key of our only input request; keys are unique within one result (MRTR). */
const INPUT_REQUEST_KEY = 'gate';

function toToolCall(args: unknown, ctx: ServerContext, surroundings: Surroundings<McpServer>): ToolCall {
  const { mcpReq } = ctx;
  const common = {
    args,
    signal: mcpReq.signal,
    authInfo: ctx.http?.authInfo,
    toolName: surroundings.name,
    isUncheckedHttp: (ctx.sessionId ?? ctx.http?.req) !== undefined && admitted.getStore() === undefined,
    reportProgress: progressReporter(mcpReq._meta?.progressToken, notice => mcpReq.notify(notice)),
    trace: traceContextOf(mcpReq._meta),
  };
  const envelope = modernEnvelope(ctx, surroundings.server);
  if (envelope !== undefined) {
    const response = inputResponse(mcpReq.inputResponses, INPUT_REQUEST_KEY);
    return {
      ...common,
      era: 'modern',
      ...envelope,
      requestState: OwnRequestState.sealedIn(mcpReq.requestState()),
      clientAnswer: response.kind === 'elicit' ? { action: response.action, content: response.content } : undefined,
    };
  }
  return legacyCall(common, surroundings, {
    lasts: ctx.sessionId !== undefined || ctx.http?.req === undefined,
    revision: surroundings.server?.server.getNegotiatedProtocolVersion(),
    elicit: (params, options) =>
      mcpReq.send({ method: 'elicitation/create', params: { ...params } }, clientAnswerSchema, options),
  });
}

/**
 * Reads the per-request envelope of revision 2026-07-28. A 2025 client may put the same keys into its `_meta`, so a connection of
 * the older era stays in that era. Without a session, the SDK's HTTP entry has classified the request by exactly these keys.
 */
function modernEnvelope(ctx: ServerContext, server: McpServer | undefined): Envelope | undefined {
  const negotiated = server?.server.getNegotiatedProtocolVersion();
  if (ctx.sessionId !== undefined || (negotiated !== undefined && negotiated < FIRST_MODERN_REVISION)) return undefined;
  return envelopeOf(ctx.mcpReq.envelope);
}

const REQUEST_KINDS: Readonly<Record<string, RequestKind>> = {
  'tools/call': 'tool',
  'prompts/get': 'prompt',
  'resources/read': 'resource',
};

/**
 * Returns what `Mcp-Name` names (SEP-2243). The SDK checks that it matches the body in requests of 2026-07-28; in those of older
 * revisions any client may send any name.
 */
function requestedIn(ctx: ServerContext, server: McpServer | undefined) {
  const request = REQUEST_KINDS[ctx.mcpReq.method];
  const value = ctx.http?.req?.headers.get('mcp-name')?.trim();
  if (request === undefined || value === undefined || modernEnvelope(ctx, server) === undefined) return undefined;
  const encoded = value.match(/^=\?base64\?(.*)\?=$/i)?.[1];
  const name = encoded === undefined ? value : Buffer.from(encoded, 'base64').toString('utf8');
  return { request, name: request === 'resource' ? (URL.parse(name)?.href ?? name) : name };
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
