import { createEnvironment } from './environment.ts';
import { InvalidRequestStateError, PosternUsageError } from './errors.ts';
import type { GateReport } from './gate-check.ts';
import type { GateContext } from './gate-context.ts';
import type { LegacySession } from './legacy-session.ts';
import type { PosternOptions } from './options.ts';
import { runTool, type ToolOutcome } from './run-tool.ts';
import { resolvePrincipal } from './subject.ts';
import type { ToolCall } from './tool-call.ts';

export interface GatedToolOptions {
  /**
   * The tool's name. SDK v2 provides it over HTTP. On stdio, a `requestState` is bound to the tool only if the name is given here.
   */
  readonly name?: string;
}

/** Matches `registerTool` for tools with and without an input schema. */
export interface GatedTool<Args, Context, Return> {
  (ctx: Context): Promise<Return>;
  (args: Args, ctx: Context): Promise<Return>;
}

/** `Context`, `Result` and `Return` are the SDK's types: the handler's context, its result, and the result of the wrapped tool. */
export interface GenericGate<McpServer, Context, Result, Return> {
  /**
   * Wraps a tool handler and adds `ctx.gate`. The handler runs again from its first line on every retry, and answered asks return
   * the same answers.
   */
  tool<Args>(
    handler: (args: Args, ctx: Context & { readonly gate: GateContext }) => Result | Promise<Result>,
    options?: GatedToolOptions,
  ): GatedTool<Args, Context, Return>;
  /**
   * Returns this gate for the tools of one `McpServer` instance. Needed for 2025-11-25 sessions and stdio: only the instance
   * knows the MCP client's capabilities and can send the completion notice. Without it, these connections get the plain result
   * with the link.
   *
   * @throws {PosternUsageError} `other_sdk_copy`: the instance is not of the SDK that this package imports. Its SDK would not
   * recognize our errors and types, and would answer −32042 as text.
   */
  attach(server: McpServer): GenericGate<McpServer, Context, Result, Return>;
  /**
   * Whether a `requestState` looks like one of this package, so that the MCP server's `ServerOptions.requestState.verify` can accept
   * it. Does not verify it; the wrapped tool does.
   */
  ownsRequestState(requestState: string): boolean;
  /**
   * Call it before the stream of the MCP session (its GET) is opened on this replica, with the option `sessions`. This replica then
   * sends the notices that other replicas promised to the session, and those that it missed while it had no stream.
   *
   * @throws {PosternUsageError} `invalid_options` without that option, or on a gate that is not attached
   */
  resume(): Promise<void>;
  /**
   * Asks the gateway whether later calls can succeed: URL, credential, version, clock, encryption key, and the kinds and providers
   * of the option `check`. Use it for a start that must fail early. A gate also checks in the background when it is made: that
   * finds a fault before the first user does, delays no tool, and keeps no process alive.
   *
   * @throws only the reason of the signal
   */
  check(signal?: AbortSignal): Promise<GateReport>;
  /** Stops all background waiting. */
  close(): void;
}

/** Operations that differ between the SDKs. */
export interface SdkAdapter<McpServer, Context, Result, Return> {
  toToolCall(args: unknown, ctx: Context, name: string | undefined, server: McpServer | undefined): ToolCall;
  /** Name of the SDK's package, and the class of its servers. */
  readonly sdk: { readonly name: string; readonly McpServer: abstract new (...args: never) => McpServer };
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
        // The SDKs omit the arguments of a tool without an input schema.
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
    attach(instance) {
      const { name, McpServer } = adapter.sdk;
      if (instance instanceof McpServer) return gateFor(instance);
      throw new PosternUsageError(
        'other_sdk_copy',
        `attach(): not an McpServer of the ${name} that @postern/mcp imports. Install one copy: npm ls ${name} lists them.`,
      );
    },
    ownsRequestState: requestState => environment.codec.owns(requestState),
    async resume() {
      if (server === undefined || environment.sessionReplica === undefined)
        throw new PosternUsageError('invalid_options', 'resume(): needs attach() and the option sessions.');
      await environment.sessionReplica.resume(adapter.sessionOf(server));
    },
    check: signal => environment.gateCheck.run(signal),
    close() {
      environment.gateCheck.close();
      environment.waiters.close();
    },
  });
  if (options.check !== false) environment.gateCheck.begin();
  return gateFor(undefined);
}
