import type { CallToolResult, InputRequiredResult, McpServer, ServerContext } from '@modelcontextprotocol/server';
import type { GateContext } from '../authorize.ts';
import { InvalidRequestStateError } from '../errors.ts';
import { createEnvironment, type PosternOptions } from '../options.ts';
import { runTool } from '../run-tool.ts';
import { resolvePrincipal } from '../subject.ts';
import { toCallToolResult, toRejectedResult } from './answers.ts';
import { createSessionOf } from './legacy-session.ts';
import { toToolCall } from './to-tool-call.ts';

/** The SDK's context, and what this package adds to it. */
export type GatedContext = ServerContext & { readonly gate: GateContext };

export interface GatedToolOptions {
  /**
   * The tool's name. Over HTTP the SDK tells it; on stdio a `requestState` is bound to the tool only when it is given here.
   */
  readonly name?: string;
}

type ToolReturn = Promise<CallToolResult | InputRequiredResult>;

/** Fits `registerTool` of tools with and without an input schema. */
export interface GatedTool<Args> {
  (ctx: ServerContext): ToolReturn;
  (args: Args, ctx: ServerContext): ToolReturn;
}

export interface Gate {
  /** Wraps a tool handler, which then finds `ctx.gate`. The handler runs again from its first line on every retry. */
  tool<Args>(
    handler: (args: Args, ctx: GatedContext) => CallToolResult | Promise<CallToolResult>,
    options?: GatedToolOptions,
  ): GatedTool<Args>;
  /**
   * This gate for the tools of one `McpServer` instance. Needed where the instance serves a 2025-11-25 connection that
   * lasts (a session, or stdio): only the instance knows what the MCP client declared and can send it the completion
   * notice. Without it such connections get the plain result with the link.
   */
  attach(server: McpServer): Gate;
  /**
   * Whether a `requestState` has the outer form of this package's, for an MCP server whose own
   * `ServerOptions.requestState.verify` must let it pass. Verifies nothing; the wrapped tool does that.
   */
  ownsRequestState(requestState: string): boolean;
  /** Ends all background waiting. */
  close(): void;
}

/**
 * The gate of an MCP server on the MCP TypeScript SDK v2.
 *
 * @throws {PosternUsageError} `invalid_options`
 */
export function postern(options: PosternOptions<ServerContext>): Gate {
  const environment = createEnvironment(options);
  const sessionOf = createSessionOf();

  const gateFor = (server: McpServer | undefined): Gate => ({
    tool: <Args>(
      handler: (args: Args, ctx: GatedContext) => CallToolResult | Promise<CallToolResult>,
      { name }: GatedToolOptions = {},
    ): GatedTool<Args> => {
      // The SDK leaves the arguments out for a tool without an input schema.
      return async (...parameters: [ServerContext] | [Args, ServerContext]) => {
        const [args, ctx] = parameters.length === 1 ? [undefined as Args, parameters[0]] : parameters;
        const call = toToolCall(args, ctx, { name, server, sessionOf });
        try {
          const outcome = await runTool(
            environment,
            call,
            () => resolvePrincipal(options.subject, call.authInfo, ctx),
            gate => handler(args, { ...ctx, gate }),
          );
          return toCallToolResult(outcome);
        } catch (error) {
          if (error instanceof InvalidRequestStateError) return toRejectedResult(error);
          throw error;
        }
      };
    },
    attach: instance => gateFor(instance),
    ownsRequestState: requestState => environment.codec.owns(requestState),
    close: () => environment.waiters.close(),
  });
  return gateFor(undefined);
}
