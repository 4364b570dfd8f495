import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  type CallToolResult,
  type ElicitRequestParams,
  type GetPromptResult,
  McpError,
  type ReadResourceResult,
  type ServerNotification,
  type ServerRequest,
  UrlElicitationRequiredError,
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod/v4';
import { asError, type InvalidRequestStateError } from '../errors.ts';
import { sameCopy } from '../gate/create-gate.ts';
import type { PosternOptions } from '../gate/environment.ts';
import type { AccountRequests, ErrorAnswer, Gated, GenericGate } from '../gate/gate.ts';
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
import { clientAnswerSchema, ELICITATION_ERROR_CODE, type ToolCall, textIn, traceContextOf } from '../run/tool-call.ts';

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
export type SharedGate = GenericSharedGate<Sdk, Transport>;

/**
 * The gate of an MCP server on `@modelcontextprotocol/sdk` 1.x, which speaks revisions up to 2025-11-25.
 *
 * @throws {PosternUsageError} `invalid_options`
 */
export function postern(options: PosternOptions<Extra> = {}): SharedGate {
  return createSharedGate<Sdk, Transport>(options, {
    http: () => httpSdk,
    toToolCall,
    serverIdOf: extra => extra.sessionId ?? (extra.requestInfo === undefined ? LOCAL : ''),
    serveStdio({ create, onError, transport = new StdioServerTransport() }) {
      const connect = async () => (await create({ era: 'legacy' })).connect(transport);
      const report = (error: unknown) => onError(asError(error));
      const connected = connect().catch(report);
      const close = async () => {
        await connected;
        await transport.close();
      };
      // Unlike that of SDK v2, this transport does not notice the end of its input.
      if (transport instanceof StdioServerTransport) process.stdin.once('end', () => void close().catch(report));
      return { close };
    },
    toError,
    toInputRequired: otherEra,
    failTool: otherEra,
  });
}

/** Streamable HTTP of SDK v1, which has sessions only. */
const httpSdk: HttpSdk<McpServer> = {
  checkServer: sameCopy('@modelcontextprotocol/sdk', McpServer),
  async connect(server, sessionId) {
    const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => sessionId });
    await server.connect(transport);
    return transport;
  },
};

function toToolCall(args: unknown, extra: Extra, surroundings: Surroundings<McpServer>): ToolCall {
  const common = {
    args,
    signal: extra.signal,
    authInfo: extra.authInfo,
    toolName: surroundings.name,
    isUncheckedHttp: (extra.sessionId ?? extra.requestInfo) !== undefined && admitted.getStore() === undefined,
    reportProgress: progressReporter(extra._meta?.progressToken, notice => extra.sendNotification(notice)),
    trace: traceContextOf(extra._meta),
  };
  return legacyCall(common, surroundings, {
    lasts: extra.sessionId !== undefined || extra.requestInfo === undefined,
    // Clients name it in every request over HTTP. This SDK does not tell on stdio.
    revision: z.string().optional().catch(undefined).parse(extra.requestInfo?.headers['mcp-protocol-version']),
    // The types differ only in `readonly`.
    elicit: (params, options) =>
      extra.sendRequest(
        { method: 'elicitation/create', params: params as ElicitRequestParams },
        clientAnswerSchema,
        options,
      ),
  });
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
