import type { AuthorizationAccepted, AuthorizeOptions, GateContext } from '../ask/verbs.ts';
import type { InvalidRequestStateError } from '../errors.ts';
import type { GateReport } from '../gateway/gate-check.ts';
import type { LegacySession, PlainToolResult, RequestKind, ToolAnswer, ToolCall } from '../run/tool-call.ts';

/** The accounts that a handler needs, by the name of the provider. */
export type AccountRequests = Readonly<Record<string, AuthorizeOptions>>;

export interface HandlerOptions<Requests extends AccountRequests> {
  /**
   * Accounts that the user must have connected before the handler runs. The user gets one link after another, in this order. A refusal
   * ends the call.
   */
  readonly accounts?: Requests;
  /**
   * The name of the tool or prompt, if neither the request (2026-07-28 over HTTP) nor the attached MCP server tells it. Unnamed, its
   * earlier answers belong to this very wrapper, and a server that is created anew for each request does not find them.
   */
  readonly name?: string;
}

/** Members that a gate adds to the handler's context. */
export interface Gated<Requests extends AccountRequests = Record<never, never>> {
  readonly gate: GateContext;
  /** The accounts of the option `accounts`. */
  readonly accounts: { readonly [Name in keyof Requests]: AuthorizationAccepted };
}

/** Matches `registerTool` and `registerPrompt`, with and without a schema. */
export interface GatedHandler<Args, Context, Return> {
  (ctx: Context): Promise<Return>;
  (args: Args, ctx: Context): Promise<Return>;
}

/** Variables of a resource template. */
export type ResourceVariables = Record<string, string | string[]>;

/** Matches `registerResource`, with a URI and with a template. */
export interface GatedResource<Context, Return> {
  (uri: URL, ctx: Context): Promise<Return>;
  (uri: URL, variables: ResourceVariables, ctx: Context): Promise<Return>;
}

/** The types of an SDK. */
export interface SdkTypes {
  readonly mcpServer: object;
  /** Last argument of a handler. */
  readonly context: object;
  readonly tool: object;
  readonly prompt: object;
  readonly resource: object;
  /** `never` for an SDK that speaks no revision with `input_required`. */
  readonly inputRequired: object;
}

export type Handler<Sdk extends SdkTypes, Args, Requests extends AccountRequests, Result> = (
  args: Args,
  ctx: Sdk['context'] & Gated<Requests>,
) => Result | Promise<Result>;

export type ResourceHandler<Sdk extends SdkTypes, Requests extends AccountRequests> = (
  uri: URL,
  variables: ResourceVariables,
  ctx: Sdk['context'] & Gated<Requests>,
) => Sdk['resource'] | Promise<Sdk['resource']>;

export interface GenericGate<Sdk extends SdkTypes> {
  /**
   * Wraps a tool handler and adds `ctx.gate`. The handler runs again from its first line on every retry, and answered asks return
   * the same answers. A retry must have equal arguments, after the tool's schema has parsed them: a schema with a random default never
   * matches.
   */
  tool<Args>(
    handler: Handler<Sdk, Args, Record<never, never>, Sdk['tool']>,
  ): GatedHandler<Args, Sdk['context'], Sdk['tool'] | Sdk['inputRequired']>;
  /** @throws {PosternUsageError} `invalid_options` */
  tool<Args, const Requests extends AccountRequests = Record<never, never>>(
    options: HandlerOptions<Requests>,
    handler: Handler<Sdk, Args, Requests, Sdk['tool']>,
  ): GatedHandler<Args, Sdk['context'], Sdk['tool'] | Sdk['inputRequired']>;
  /**
   * The same for `registerPrompt`. Where a tool answers with a plain result (a link, a refusal), a prompt fails with a JSON-RPC error that
   * has the same text: its code is `ELICITATION_ERROR_CODE`, and `data` has the link.
   */
  prompt<Args>(
    handler: Handler<Sdk, Args, Record<never, never>, Sdk['prompt']>,
  ): GatedHandler<Args, Sdk['context'], Sdk['prompt'] | Sdk['inputRequired']>;
  /** @throws {PosternUsageError} `invalid_options` */
  prompt<Args, const Requests extends AccountRequests = Record<never, never>>(
    options: HandlerOptions<Requests>,
    handler: Handler<Sdk, Args, Requests, Sdk['prompt']>,
  ): GatedHandler<Args, Sdk['context'], Sdk['prompt'] | Sdk['inputRequired']>;
  /** The same for `registerResource`, which fails as a prompt does. `variables` is empty without a template. */
  resource(
    handler: ResourceHandler<Sdk, Record<never, never>>,
  ): GatedResource<Sdk['context'], Sdk['resource'] | Sdk['inputRequired']>;
  /** @throws {PosternUsageError} `invalid_options` */
  resource<const Requests extends AccountRequests = Record<never, never>>(
    options: HandlerOptions<Requests>,
    handler: ResourceHandler<Sdk, Requests>,
  ): GatedResource<Sdk['context'], Sdk['resource'] | Sdk['inputRequired']>;
  /**
   * For frameworks and transports of your own; `endpoint` and `stdio` do it. Returns this gate for the tools of one `McpServer` instance.
   * 2025-11-25 sessions need it: only the instance knows the MCP client's capabilities and can send the completion notice. Without
   * it, these connections get the plain result with the link.
   *
   * @throws {PosternUsageError} `other_sdk_copy`: the instance is not of the SDK that this package imports. Its SDK would not
   * recognize our errors and types, and would answer −32042 as text.
   */
  attach(server: Sdk['mcpServer']): GenericGate<Sdk>;
  /**
   * For the MCP server's own `ServerOptions.requestState.verify`. Decrypts a `requestState` of this package, and returns an object that
   * only wrapped handlers can read. Returns undefined for any other state, one that has expired, and one of another tool, prompt or
   * resource than the request names; refuse it then, unless it is your own.
   */
  verifyRequestState(requestState: string, ctx: Sdk['context']): Promise<object | undefined>;
  /**
   * Call it before the stream of the MCP session (its GET) is opened on this replica, with the option `sessions`. This replica then
   * sends the notices that other replicas promised to the session, and those that it missed while it had no stream.
   *
   * @throws {PosternUsageError} `invalid_options` without that option, or on a gate that is not attached
   */
  resume(): Promise<void>;
  /**
   * Asks the gateway whether later calls can succeed: URL, credential, version, clock, encryption key, and the kinds and providers
   * that `accounts` declares or that tools have asked for. Use it for a start that must fail early. A gate also checks in the background
   * when it is made: that finds a fault before the first user does, delays no tool, and keeps no process alive.
   *
   * @throws only the reason of the signal
   */
  check(signal?: AbortSignal): Promise<GateReport>;
  /** Stops all background waiting. */
  close(): void;
}

/** An MCP server on stdio. */
export interface StdioConnection {
  /** Ends the connection. It also ends with the standard input. */
  readonly close: () => Promise<void>;
}

/** An answer that is a JSON-RPC error of its era, or, for a prompt or resource, any answer but a result. */
export type ErrorAnswer = Exclude<ToolAnswer, { readonly type: 'input_required' }>;

/** What this package knows of the tool or prompt that a wrapped handler belongs to. */
export interface RegisteredHandler {
  readonly name: string;
  readonly hasOutputSchema: boolean;
}

/** Finds a registration by its handler: the SDKs hand a handler neither the name nor the output schema of its tool. */
export interface RegisteredHandlers {
  /** For a server that handlers cannot reach: one that serves a single request. */
  add(server: object): void;
  /** Undefined if neither `server` nor an added server has the handler. */
  find(handler: object, server: object | undefined): RegisteredHandler | undefined;
}

/**
 * What an adapter supplies: the two SDKs, and frameworks that wrap one. It translates the calls of its framework to `ToolCall`, and the
 * answers back.
 */
export interface SdkAdapter<Sdk extends SdkTypes> {
  /** `name` is the tool's, if it is known; `server` is the instance that was given to `attach()`, or that of `serverOf`. */
  toToolCall(
    args: unknown,
    ctx: Sdk['context'],
    name: string | undefined,
    server: Sdk['mcpServer'] | undefined,
  ): ToolCall;
  /** What the request names, if the SDK has verified it. For a resource, `name` is the URI as `URL` writes it. */
  requested?(
    ctx: Sdk['context'],
    server: Sdk['mcpServer'] | undefined,
  ): { readonly request: RequestKind; readonly name: string } | undefined;
  /** The instance that serves this request, where the adapter knows it without `attach()`. */
  serverOf?(ctx: Sdk['context']): Sdk['mcpServer'] | undefined;
  /** Finds the name and the output schema of a handler's tool. */
  readonly registered?: RegisteredHandlers;
  /** Throws if `attach()` must not accept this instance. */
  checkServer?(server: Sdk['mcpServer']): void;
  /** For `resume()`. Only with sessions that move between replicas. */
  sessionOf?(server: Sdk['mcpServer']): LegacySession;
  toToolResult(result: PlainToolResult): Sdk['tool'];
  toInputRequired(answer: Extract<ToolAnswer, { readonly type: 'input_required' }>): Sdk['inputRequired'];
  /** The error with which a request fails. */
  toError(answer: ErrorAnswer | InvalidRequestStateError): Error;
  /** Makes a tool call fail with a JSON-RPC error, where the SDK would turn an error of a handler into an `isError` result. */
  failTool(error: Error): Sdk['inputRequired'];
}
