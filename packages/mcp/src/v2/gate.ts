import type { CallToolResult, InputRequiredResult, McpServer, ServerContext } from '@modelcontextprotocol/server';
import { createGate, type GenericGate } from '../gate.ts';
import type { GateContext } from '../gate-context.ts';
import type { PosternOptions } from '../options.ts';
import { createSessionOf } from '../session-of.ts';
import { toCallToolResult, toRejectedResult } from './answers.ts';
import { toToolCall } from './to-tool-call.ts';

/** The SDK's context, and what this package adds to it. */
export type GatedContext = ServerContext & { readonly gate: GateContext };

export type Gate = GenericGate<McpServer, ServerContext, CallToolResult, CallToolResult | InputRequiredResult>;

/**
 * The gate of an MCP server on the MCP TypeScript SDK v2 (`@modelcontextprotocol/server`), for both eras.
 *
 * @throws {PosternUsageError} `invalid_options`
 */
export function postern(options: PosternOptions<ServerContext>): Gate {
  const sessionOf = createSessionOf<McpServer>();
  return createGate(options, {
    toToolCall: (args, ctx, name, server) => toToolCall(args, ctx, { name, server, sessionOf }),
    sessionOf,
    toReturn: toCallToolResult,
    toRejection: toRejectedResult,
  });
}
