import { InvalidRequestStateError, PosternUsageError } from './errors.ts';
import type { GateContext } from './gate-context.ts';
import type { LegacySession } from './legacy-session-port.ts';
import { createEnvironment, type PosternOptions } from './options.ts';
import { runTool, type ToolOutcome } from './run-tool.ts';
import { resolvePrincipal } from './subject.ts';
import type { ToolCall } from './tool-call.ts';

export interface GatedToolOptions {
  /**
   * The tool's name. SDK v2 tells it over HTTP; on stdio a `requestState` is bound to the tool only when it is given here.
   */
  readonly name?: string;
}

/** Fits `registerTool` of tools with and without an input schema. */
export interface GatedTool<Args, Context, Return> {
  (ctx: Context): Promise<Return>;
  (args: Args, ctx: Context): Promise<Return>;
}

/** `Context`, `Result` and `Return` are the SDK's: what a handler is given, what it returns, what leaves the wrapped tool. */
export interface GenericGate<McpServer, Context, Result, Return> {
  /**
   * Wraps a tool handler, which then finds `ctx.gate`. The handler is re-entrant: it runs again from its first line on every
   * retry, and every question in it that was answered before is answered alike.
   */
  tool<Args>(
    handler: (args: Args, ctx: Context & { readonly gate: GateContext }) => Result | Promise<Result>,
    options?: GatedToolOptions,
  ): GatedTool<Args, Context, Return>;
  /**
   * This gate for the tools of one `McpServer` instance. Needed where the instance serves a 2025-11-25 connection that
   * lasts (a session, or stdio): only the instance knows what the MCP client declared and can send it the completion
   * notice. Without it such connections get the plain result with the link.
   */
  attach(server: McpServer): GenericGate<McpServer, Context, Result, Return>;
  /**
   * Whether a `requestState` has the outer form of this package's, for an MCP server whose own
   * `ServerOptions.requestState.verify` must let it pass. Verifies nothing; the wrapped tool does that.
   */
  ownsRequestState(requestState: string): boolean;
  /**
   * On a gate attached to an `McpServer`, with the option `sessions`: to be called whenever the stream of the MCP session (its GET)
   * is about to be opened here. What the session was promised a notice for on another replica is waited for here too, and
   * what ended while it had no stream is told.
   *
   * @throws {PosternUsageError} `invalid_options` without that option, or on a gate that is not attached
   */
  resume(): Promise<void>;
  /** Ends all background waiting. */
  close(): void;
}

/** What one SDK does in its own way. */
export interface SdkAdapter<McpServer, Context, Result, Return> {
  toToolCall(args: unknown, ctx: Context, name: string | undefined, server: McpServer | undefined): ToolCall;
  sessionOf(server: McpServer): LegacySession;
  toReturn(outcome: ToolOutcome<Result>): Return;
  toRejection(error: InvalidRequestStateError): Return;
}

/** @throws {PosternUsageError} `invalid_options` */
export function createGate<McpServer, Context extends object, Result, Return>(
  options: PosternOptions<Context>,
  adapter: SdkAdapter<McpServer, Context, Result, Return>,
): GenericGate<McpServer, Context, Result, Return> {
  const environment = createEnvironment(options);

  const gateFor = (server: McpServer | undefined): GenericGate<McpServer, Context, Result, Return> => ({
    tool<Args>(
      handler: (args: Args, ctx: Context & { readonly gate: GateContext }) => Result | Promise<Result>,
      { name }: GatedToolOptions = {},
    ): GatedTool<Args, Context, Return> {
      return async (...parameters: [Context] | [Args, Context]) => {
        // The SDKs leave the arguments out for a tool without an input schema.
        const [args, ctx] = parameters.length === 1 ? [undefined as Args, parameters[0]] : parameters;
        const call = adapter.toToolCall(args, ctx, name, server);
        try {
          const principal = () => resolvePrincipal(options.subject, call.authInfo, ctx);
          return adapter.toReturn(await runTool(environment, call, principal, gate => handler(args, { ...ctx, gate })));
        } catch (error) {
          if (error instanceof InvalidRequestStateError) return adapter.toRejection(error);
          throw error;
        }
      };
    },
    attach: instance => gateFor(instance),
    ownsRequestState: requestState => environment.codec.owns(requestState),
    async resume() {
      if (server === undefined || environment.sessionReplica === undefined)
        throw new PosternUsageError('invalid_options', 'resume(): needs attach() and the option sessions.');
      await environment.sessionReplica.resume(adapter.sessionOf(server));
    },
    close() {
      environment.waiters.close();
      environment.bus?.close();
    },
  });
  return gateFor(undefined);
}
