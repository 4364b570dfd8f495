import {
  type CallToolResult,
  type InputRequiredResult,
  inputRequired,
  McpServer,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
  UrlElicitationRequiredError,
} from '@modelcontextprotocol/server';
import type { InvalidRequestStateError } from '../errors.ts';
import { createGate, type GenericGate } from '../gate.ts';
import type { GateContext } from '../gate-context.ts';
import { createSessionOf } from '../legacy-session.ts';
import type { PosternOptions } from '../options.ts';
import type { ToolOutcome } from '../run-tool.ts';
import { type ToolAnswer, textIn } from '../tool-call.ts';
import { INPUT_REQUEST_KEY, toToolCall } from './to-tool-call.ts';

/** The SDK's context with the member of this package. */
export type GatedContext = ServerContext & { readonly gate: GateContext };

export type Gate = GenericGate<McpServer, ServerContext, CallToolResult, CallToolResult | InputRequiredResult>;

/**
 * The gate of an MCP server on the MCP TypeScript SDK v2 (`@modelcontextprotocol/server`), for both eras.
 *
 * @throws {PosternUsageError} `invalid_options`
 */
export function postern(options: PosternOptions<ServerContext> = {}): Gate {
  const sessionOf = createSessionOf<McpServer>();
  return createGate(options, {
    sdk: { name: '@modelcontextprotocol/server', McpServer },
    toToolCall: (args, ctx, name, server) => toToolCall(args, ctx, { name, server, sessionOf }),
    sessionOf,
    toReturn: toCallToolResult,
    toRejection: toRejectedResult,
  });
}

type InputRequest = NonNullable<Extract<ToolAnswer, { type: 'input_required' }>['request']>;

/** @throws {UrlElicitationRequiredError} −32042, as the SDK expects it */
function toCallToolResult(outcome: ToolOutcome<CallToolResult>): CallToolResult | InputRequiredResult {
  switch (outcome.type) {
    case 'result':
      return outcome.result;
    case 'plain':
      return outcome.result;
    case 'input_required': {
      const { request, requestState } = outcome;
      if (request === undefined) return inputRequired({ requestState });
      return inputRequired({ inputRequests: { [INPUT_REQUEST_KEY]: toInputRequest(request) }, requestState });
    }
    case 'url_elicitation_required':
      throw new UrlElicitationRequiredError([{ mode: 'url', ...outcome.elicitation }], textIn(outcome.fallback));
    case 'capability_missing':
      return raising(
        new MissingRequiredClientCapabilityError(
          { requiredCapabilities: { elicitation: { url: {} } } },
          outcome.message,
        ),
      );
  }
}

function toInputRequest(request: InputRequest) {
  if (request.mode === 'url') return inputRequired.elicitUrl({ url: request.url, message: request.message });
  const { message } = request;
  // The types differ only in `readonly`.
  const requestedSchema = request.requestedSchema as Parameters<typeof inputRequired.elicit>[0]['requestedSchema'];
  return inputRequired.elicit({ message, requestedSchema });
}

/** −32602, worded like the SDK's own `requestState.verify`. Does not include the reason. */
function toRejectedResult(error: InvalidRequestStateError): InputRequiredResult {
  return raising(new ProtocolError(ProtocolErrorCode.InvalidParams, error.message, { reason: error.code }));
}

/**
 * `McpServer` converts every error of a tool handler, except −32042, to an `isError` result. Only the later code that reads the
 * `inputRequests` of an `input_required` result can raise a JSON-RPC error, so the error waits there. If the SDK ever reads them
 * earlier, the error becomes an `isError` result, and never an accepted call.
 */
function raising(error: ProtocolError): InputRequiredResult {
  return {
    resultType: 'input_required',
    get inputRequests(): never {
      throw error;
    },
  };
}
