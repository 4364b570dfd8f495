import {
  type CallToolRequest,
  type CallToolRequestOptions,
  type CallToolResult,
  type Client,
  isInputRequiredResult,
  ProtocolError,
  ProtocolErrorCode,
  type Tool,
} from '@modelcontextprotocol/client';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv';
import { answerPushed, CallsInFlight } from '../calls/answering.ts';
import { type Leg, runCall } from '../calls/run-call.ts';
import { CalledTool, ToolDefinitions } from '../calls/tool-definitions.ts';
import { Completions } from '../completions.ts';
import { HostError } from '../errors.ts';
import { type ElicitationCapabilities, type HostOptions, parseHostOptions } from '../host-options.ts';
import { parseElicitation } from '../requests.ts';

/** SEP-2243: the MCP server requires an `Mcp-Param-*` header that the request lacks. */
const HEADER_MISMATCH = -32020;

/** The elicitation support of one MCP client. */
export interface ElicitationHost {
  /** The capabilities declared to the MCP server. */
  readonly capabilities: ElicitationCapabilities;
  /**
   * Calls the tool like `Client.callTool`, and handles all elicitations of the call. The timeout and signal of `options`
   * apply to the whole call, like {@link CallLimits.totalMs}.
   *
   * @throws {ElicitationRefusedError} the user refused a URL of a −32042, which has no response to carry the refusal
   * @throws {HostError} see {@link HostErrorCode}; errors of the MCP server and of the SDK are rethrown unchanged
   */
  callTool(params: CallToolRequest['params'], options?: CallToolRequestOptions): Promise<CallToolResult>;
  /** Resolves when the MCP server reports the elicitation complete (2025-11-25), which is optional. */
  completion(elicitationId: string): Promise<void>;
}

/**
 * Installs elicitation on an SDK client that is not connected yet: declares the capability, answers `elicitation/create` in
 * both revisions, and keeps track of completion notices.
 *
 * @throws {HostError} `invalid_options`
 */
export function attachHost(mcpClient: Client, options: HostOptions): ElicitationHost {
  const { handler, capabilities, limits, clock, identity, completionPrompt, fulfilInput, onUnshown } =
    parseHostOptions(options);
  const completions = new Completions();
  const calls = new CallsInFlight();
  const tools = new ToolDefinitions<Tool>(
    async isRefresh => {
      if (mcpClient.getServerCapabilities()?.tools === undefined) return [];
      return (await mcpClient.listTools(undefined, { cacheMode: isRefresh ? 'refresh' : 'use' })).tools;
    },
    schema => {
      // One for each schema, because a validator keeps what it has compiled.
      const validate = new AjvJsonSchemaValidator().getValidator(schema);
      return content => validate(content).valid;
    },
  );
  const mcpServer = () => {
    const claimed = mcpClient.getServerVersion();
    return identity(claimed?.title ?? claimed?.name);
  };

  mcpClient.registerCapabilities({ elicitation: { ...capabilities } });
  mcpClient.setRequestHandler('elicitation/create', async ({ params }, { mcpReq }) => {
    const request = parsedOrRefused(params, onUnshown);
    const answer = await answerPushed({ handler, request, mcpServer: mcpServer(), calls, signal: mcpReq.signal });
    if (answer.action !== 'accept' || answer.content === undefined) return { action: answer.action };
    return { action: 'accept', content: structuredClone(answer.content) as WireContent };
  });
  mcpClient.setNotificationHandler('notifications/elicitation/complete', ({ params }) =>
    completions.finish(params.elicitationId),
  );

  return {
    capabilities,
    completion: elicitationId => completions.completion(elicitationId),
    async callTool(params, { timeout, signal, ...callOptions } = {}) {
      const called = new CalledTool(tools, params.name, callOptions.toolDefinition);

      const send: Leg<CallToolResult> = async ({ answer, timeoutMs, signal: legSignal }) => {
        const tool = await called.definition(legSignal);
        const result = await mcpClient.callTool(
          { ...params, ...answer },
          {
            ...callOptions,
            // The SDK learns from it which arguments to send as headers too.
            toolDefinition: withoutOutputSchema(tool ?? { name: params.name, inputSchema: { type: 'object' } }),
            timeout: timeoutMs,
            signal: legSignal,
            allowInputRequired: true,
          },
        );
        if (isInputRequiredResult(result)) {
          const { inputRequests = {}, requestState } = result;
          return { inputRequired: { inputRequests, requestState } };
        }
        await called.verify(result, legSignal);
        return { result };
      };
      const leg: Leg<CallToolResult> = async sent => {
        try {
          return await send(sent);
        } catch (error) {
          if (!ProtocolError.isInstance(error) || error.code !== HEADER_MISMATCH) throw error;
          if (!(await called.renew(sent.signal))) throw error;
          return await send(sent);
        }
      };

      return await calls.during(params.name, () =>
        runCall({
          leg,
          handler,
          mcpServer: mcpServer(),
          toolName: params.name,
          completions,
          completionPrompt,
          fulfilInput,
          clock,
          limits: timeout === undefined ? limits : { ...limits, totalMs: Math.min(limits.totalMs, timeout) },
          signal,
        }),
      );
    },
  };
}

/**
 * The SDK validates every response against the output schema of its definition, or else of its own list: even `input_required`, with
 * patterns, and without a limit. So each request has a definition, without output schema, and only the final result is validated.
 */
function withoutOutputSchema({ outputSchema: _, ...rest }: Tool): Tool {
  return rest;
}

/** Rejects a malformed elicitation with −32602, because the fault is the MCP server's. */
function parsedOrRefused(params: unknown, onUnshown: HostOptions['onUnshown']) {
  try {
    return parseElicitation(params);
  } catch (error) {
    if (!(error instanceof HostError)) throw error;
    onUnshown?.(error);
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, error.message, { reason: error.code });
  }
}

/** The SDK's types have no readonly arrays. */
type WireContent = { [name: string]: string | number | boolean | string[] };
