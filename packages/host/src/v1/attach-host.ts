import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { RequestOptions } from '@modelcontextprotocol/sdk/shared/protocol.js';
import {
  type CallToolRequest,
  type CallToolResult,
  CallToolResultSchema,
  ElicitationCompleteNotificationSchema,
  ElicitRequestSchema,
  ErrorCode,
  McpError,
} from '@modelcontextprotocol/sdk/types.js';
import { answerPushed, CallsInFlight } from '../calls/answering.ts';
import { runCall } from '../calls/run-call.ts';
import { Completions } from '../completions.ts';
import { HostError } from '../errors.ts';
import { type ElicitationCapabilities, type HostOptions, parseHostOptions } from '../host-options.ts';
import { parseElicitation } from '../requests.ts';

/** What one MCP client of SDK 1.x gets from this package. */
export interface ElicitationHostV1 {
  /** What was declared in the MCP client's name. */
  readonly capabilities: ElicitationCapabilities;
  /**
   * `Client.callTool` with everything that the person has to do meanwhile.
   *
   * @throws {ElicitationRefusedError} the person said no before the MCP server could be told (−32042)
   * @throws {HostError} see {@link HostErrorCode}; every error of the MCP server and of the SDK comes unchanged
   */
  callTool(params: CallToolRequest['params'], options?: RequestOptions): Promise<CallToolResult>;
  /** Resolves when the MCP server has called the elicitation complete; it need not ever do that. */
  completion(elicitationId: string): Promise<void>;
}

/**
 * Installs elicitation on a client of `@modelcontextprotocol/sdk` 1.x (revisions up to 2025-11-25) that is not connected yet.
 *
 * @throws {HostError} `invalid_options`
 */
export function attachHostV1(mcpClient: Client, options: HostOptions): ElicitationHostV1 {
  const { handler, capabilities, limits, clock, identity, completionPrompt, fulfilInput } = parseHostOptions(options);
  const completions = new Completions();
  const calls = new CallsInFlight();
  const mcpServer = () => {
    const claimed = mcpClient.getServerVersion();
    return identity(claimed?.title ?? claimed?.name);
  };

  mcpClient.registerCapabilities({ elicitation: { ...capabilities } });
  mcpClient.setRequestHandler(ElicitRequestSchema, async ({ params }, { signal }) => {
    const request = parsedOrRefused(params);
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
    callTool: (params, { timeout, signal, ...callOptions } = {}) =>
      calls.during(params.name, () =>
        runCall({
          // This SDK speaks no revision with input_required, so an answer never has to be carried.
          leg: async sent => {
            const sendOptions = { ...callOptions, timeout: sent.timeoutMs, signal: sent.signal };
            const result = await mcpClient.callTool(params, CallToolResultSchema, sendOptions);
            return { result: CallToolResultSchema.parse(result) };
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
      ),
  };
}

/** The SDK's types have no readonly arrays. */
type WireContent = { [name: string]: string | number | boolean | string[] };

/** A request that nobody could answer rightly is the MCP server's fault: −32602. */
function parsedOrRefused(params: unknown) {
  try {
    return parseElicitation(params);
  } catch (error) {
    if (!(error instanceof HostError)) throw error;
    throw new McpError(ErrorCode.InvalidParams, error.message, { reason: error.code });
  }
}
