import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { RequestOptions } from '@modelcontextprotocol/sdk/shared/protocol.js';
import {
  type CallToolRequest,
  type CallToolResult,
  CallToolResultSchema,
  ElicitationCompleteNotificationSchema,
  ElicitRequestSchema,
  ErrorCode,
  ListToolsResultSchema,
  McpError,
  type Tool,
} from '@modelcontextprotocol/sdk/types.js';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import { answerPushed, CallsInFlight } from '../calls/answering.ts';
import { runCall } from '../calls/run-call.ts';
import { CalledTool, ToolDefinitions } from '../calls/tool-definitions.ts';
import { Completions } from '../completions.ts';
import { HostError } from '../errors.ts';
import { type ElicitationCapabilities, type HostOptions, parseHostOptions } from '../host-options.ts';
import { parseElicitation } from '../requests.ts';

/** The elicitation support of one MCP client of SDK 1.x. */
export interface ElicitationHostV1 {
  /** The capabilities declared to the MCP server. */
  readonly capabilities: ElicitationCapabilities;
  /**
   * Calls the tool like `Client.callTool`, and handles all elicitations of the call.
   *
   * @throws {ElicitationRefusedError} the user refused a URL of a −32042, which has no response to carry the refusal
   * @throws {HostError} see {@link HostErrorCode}; errors of the MCP server and of the SDK are rethrown unchanged
   */
  callTool(params: CallToolRequest['params'], options?: RequestOptions): Promise<CallToolResult>;
  /** Resolves when the MCP server reports the elicitation complete, which is optional. */
  completion(elicitationId: string): Promise<void>;
}

/**
 * Installs elicitation on a client of `@modelcontextprotocol/sdk` 1.x (revisions up to 2025-11-25) that is not connected yet.
 *
 * @throws {HostError} `invalid_options`
 */
export function attachHostV1(mcpClient: Client, options: HostOptions): ElicitationHostV1 {
  const { handler, capabilities, limits, clock, identity, completionPrompt, fulfilInput, onUnshown } =
    parseHostOptions(options);
  const completions = new Completions();
  const calls = new CallsInFlight();
  const tools = new ToolDefinitions<Tool>(
    () => listTools(mcpClient),
    schema => {
      const validate = new AjvJsonSchemaValidator().getValidator(schema);
      return content => validate(content).valid;
    },
  );
  const mcpServer = () => {
    const claimed = mcpClient.getServerVersion();
    return identity(claimed?.title ?? claimed?.name);
  };

  mcpClient.registerCapabilities({ elicitation: { ...capabilities } });
  mcpClient.setRequestHandler(ElicitRequestSchema, async ({ params }, { signal }) => {
    const request = parsedOrRefused(params, onUnshown);
    const answer = await answerPushed({ handler, request, mcpServer: mcpServer(), calls, signal });
    if (answer.action !== 'accept' || answer.content === undefined) return { action: answer.action };
    return { action: 'accept', content: structuredClone(answer.content) as WireContent };
  });
  mcpClient.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params }) =>
    completions.finish(params.elicitationId),
  );

  return {
    capabilities,
    completion: elicitationId => completions.completion(elicitationId),
    async callTool(params, { timeout, signal, ...callOptions } = {}) {
      const called = new CalledTool(tools, params.name);
      return await calls.during(params.name, () =>
        runCall({
          // This SDK supports no revision with input_required, so no call carries an answer.
          leg: async sent => {
            await called.definition(sent.signal);
            // Not callTool, which validates against the output schema without a limit.
            const result = await mcpClient.request({ method: 'tools/call', params }, CallToolResultSchema, {
              ...callOptions,
              timeout: sent.timeoutMs,
              signal: sent.signal,
            });
            await called.verify(result, sent.signal);
            return { result };
          },
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

/** As many as SDK v2 reads. */
const MAX_PAGES = 64;

/** Not `Client.listTools`, which compiles the output schemas of each page and forgets those of the page before. */
async function listTools(mcpClient: Client): Promise<Tool[]> {
  const tools: Tool[] = [];
  if (mcpClient.getServerCapabilities()?.tools === undefined) return tools;
  let cursor: string | undefined;
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const page = await mcpClient.request({ method: 'tools/list', params }, ListToolsResultSchema);
    tools.push(...page.tools);
    cursor = page.nextCursor;
    if (cursor === undefined) return tools;
  }
  throw new HostError('invalid_result', `the MCP server lists its tools on more than ${MAX_PAGES} pages`);
}

/** The SDK's types have no readonly arrays. */
type WireContent = { [name: string]: string | number | boolean | string[] };

/** Rejects a malformed elicitation with −32602, because the fault is the MCP server's. */
function parsedOrRefused(params: unknown, onUnshown: HostOptions['onUnshown']) {
  try {
    return parseElicitation(params);
  } catch (error) {
    if (!(error instanceof HostError)) throw error;
    onUnshown?.(error);
    throw new McpError(ErrorCode.InvalidParams, error.message, { reason: error.code });
  }
}
