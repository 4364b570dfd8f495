import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import {
  type CallToolResult,
  type ElicitRequestFormParams,
  ElicitResultSchema,
  ErrorCode,
  McpError,
  type ServerNotification,
  type ServerRequest,
  UrlElicitationRequiredError,
} from '@modelcontextprotocol/sdk/types.js';
import { createGate, type GenericGate } from '../gate.ts';
import type { GateContext } from '../gate-context.ts';
import { createSessionOf, type SessionOf } from '../legacy-session.ts';
import type { PosternOptions } from '../options.ts';
import type { ToolOutcome } from '../run-tool.ts';
import { clientAnswerSchema, declaresForm, type ToolCall, textIn, traceContextOf } from '../tool-call.ts';

/** SDK v1's handler context. */
export type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;
export type GatedExtra = Extra & { readonly gate: GateContext };
export type GateV1 = GenericGate<McpServer, Extra, CallToolResult, CallToolResult>;

/**
 * The gate of an MCP server on `@modelcontextprotocol/sdk` 1.x, which speaks revisions up to 2025-11-25.
 *
 * @throws {PosternUsageError} `invalid_options`
 */
export function posternV1(options: PosternOptions<Extra> = {}): GateV1 {
  const sessionOf = createSessionOf<McpServer>();
  return createGate(options, {
    sdk: { name: '@modelcontextprotocol/sdk', McpServer },
    toToolCall: (args, extra, name, server) => toToolCall(args, extra, { name, server, sessionOf }),
    sessionOf,
    toReturn: toCallToolResult,
    // Unreachable by construction: no call of this SDK carries a requestState.
    toRejection: error => {
      throw new McpError(ErrorCode.InvalidParams, error.message, { reason: error.code });
    },
  });
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
    reportProgress: progressReporter(extra),
    trace: traceContextOf(extra._meta),
  };
  // A transport without a session id is a shared channel (stdio), unless the message arrived with an HTTP request.
  const lasts = extra.sessionId !== undefined || extra.requestInfo === undefined;
  if (server === undefined || !lasts) return { ...common, era: 'legacy-stateless', mcpClientName: undefined };
  return {
    ...common,
    era: 'legacy-session',
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

/** @throws {UrlElicitationRequiredError} −32042, as the SDK expects it */
function toCallToolResult(outcome: ToolOutcome<CallToolResult>): CallToolResult {
  switch (outcome.type) {
    case 'result':
      return outcome.result;
    case 'plain':
      return outcome.result;
    case 'url_elicitation_required':
      throw new UrlElicitationRequiredError([{ mode: 'url', ...outcome.elicitation }], textIn(outcome.fallback));
    case 'input_required':
    case 'capability_missing':
      throw new TypeError(`${outcome.type} belongs to an era that this SDK does not speak`);
  }
}

function progressReporter(extra: Extra) {
  const progressToken = extra._meta?.progressToken;
  if (progressToken === undefined) return undefined;
  return (progress: number, message: string) =>
    extra.sendNotification({ method: 'notifications/progress', params: { progressToken, progress, message } });
}
