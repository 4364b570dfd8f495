/** What the gates of both SDKs have in common. */

import { invalidOptions } from '../errors.ts';
import {
  type Connection,
  type CreateServer,
  created,
  Endpoint,
  type EndpointOptions,
  type HttpSdk,
  type McpEndpoint,
} from '../http/endpoint.ts';
import { createReporter, type Reporter } from '../mistakes.ts';
import {
  type ClientAnswer,
  type ConnectedServer,
  createSessionOf,
  declaresForm,
  type FormAsk,
  type LegacySession,
  type LegacySessionCall,
  type LegacyStatelessCall,
  type ToolCall,
  type UrlElicitation,
} from '../run/tool-call.ts';
import { createGate } from './create-gate.ts';
import { createEnvironment, type PosternOptions } from './environment.ts';
import type {
  GenericGate,
  RegisteredHandler,
  RegisteredHandlers,
  SdkAdapter,
  SdkTypes,
  StdioConnection,
} from './gate.ts';

/** The gate of a process. */
export interface SharedGate<Sdk extends SdkTypes, Transport> extends GenericGate<Sdk> {
  /**
   * Serves MCP clients at one URL: those of 2025-11-25 with sessions and, with SDK v2, those of 2026-07-28. Calls `create` for each
   * session and for each request of 2026-07-28.
   *
   * @throws {PosternUsageError} `invalid_options`
   */
  endpoint(create: CreateServer<Sdk['mcpServer']>, options?: EndpointOptions): McpEndpoint;
  /**
   * Serves the one MCP client at the other end of standard input and output, for the person of the option `subject`. The connection ends
   * with the standard input.
   *
   * @param transport replaces stdio, for example by an in-memory channel
   */
  stdio(create: CreateServer<Sdk['mcpServer']>, transport?: Transport): StdioConnection;
}

/** The part of both SDKs' `McpServer` that a gate uses. */
interface SdkServer extends ConnectedServer {
  isConnected(): boolean;
  readonly server: ConnectedServer['server'] & {
    getClientVersion(): { readonly name: string } | undefined;
    getClientCapabilities(): { readonly elicitation?: Readonly<Record<string, unknown>> | undefined } | undefined;
  };
}

type ServingSdk = SdkTypes & { readonly mcpServer: SdkServer };

/** What differs between the SDKs. */
interface SdkParts<Sdk extends ServingSdk, Transport>
  extends Pick<SdkAdapter<Sdk>, 'requested' | 'toInputRequired' | 'toError' | 'failTool'> {
  http(registered: RegisteredHandlers): HttpSdk<Sdk['mcpServer']>;
  toToolCall(args: unknown, ctx: Sdk['context'], p: Surroundings<Sdk['mcpServer']>): ToolCall;
  /** The session of the request, {@link LOCAL} for a channel, or a name that no server has. */
  serverIdOf(ctx: Sdk['context']): string;
  serveStdio(p: {
    create(connection: Pick<Connection, 'era'>): Promise<Sdk['mcpServer']>;
    onError(error: Error): void;
    transport: Transport | undefined;
  }): StdioConnection;
}

export interface Surroundings<McpServer> {
  readonly name: string | undefined;
  readonly server: McpServer | undefined;
  sessionOf(server: McpServer): LegacySession;
}

/** Id of the server on stdio among the servers of a gate, which otherwise have the id of their session. */
export const LOCAL = 'stdio';

/** @throws {PosternUsageError} `invalid_options` */
export function createSharedGate<Sdk extends ServingSdk, Transport>(
  options: PosternOptions<Sdk['context']>,
  { http, toToolCall, serverIdOf, serveStdio, ...parts }: SdkParts<Sdk, Transport>,
): SharedGate<Sdk, Transport> {
  const sessionOf = createSessionOf<Sdk['mcpServer']>();
  const servers = new Map<string, Sdk['mcpServer']>();
  const registered = createRegisteredHandlers();
  const sdk = http(registered);
  const { checkServer } = sdk;
  const environment = createEnvironment(options);
  const adapter: SdkAdapter<Sdk> = {
    ...parts,
    checkServer,
    registered,
    sessionOf,
    toToolCall: (args, ctx, name, server) => toToolCall(args, ctx, { name, server, sessionOf }),
    serverOf: ctx => servers.get(serverIdOf(ctx)),
    toToolResult: result => result,
  };
  const gate = createGate<Sdk>(options, adapter, environment);

  /** @throws {PosternUsageError} if another connection is open: a handler could not tell which of both it serves */
  function createLocal(reporter: Reporter, create: CreateServer<Sdk['mcpServer']>, { era }: Pick<Connection, 'era'>) {
    return created(reporter, 'gate.stdio', async () => {
      const server = await create({ era, authInfo: undefined });
      checkServer(server);
      if (servers.get(LOCAL)?.server.transport !== undefined)
        throw invalidOptions('gate.stdio: serves one connection, and one is open.');
      servers.set(LOCAL, server);
      return server;
    });
  }

  return {
    ...gate,
    endpoint(create, endpointOptions) {
      const reporter = createReporter(options.onBackgroundError);
      const { subject } = options;
      return new Endpoint({ sdk, environment, servers, subject, reporter }, create, endpointOptions);
    },
    stdio(create, transport) {
      const reporter = createReporter(options.onBackgroundError);
      const onError = reporter.onBackgroundError;
      return serveStdio({ create: connection => createLocal(reporter, create, connection), onError, transport });
    },
  };
}

/** The gateway's expiry limits the wait: the signal aborts when the elicitation has ended. */
const UNLIMITED_MS = 2_147_483_647;

/**
 * A call of revision 2025-11-25 or older.
 *
 * @param p.lasts a session or a shared channel (stdio), and no single HTTP request
 * @param p.elicit sends `elicitation/create`, and reads the answer with `clientAnswerSchema`, which is more lenient than the schemas of
 * the SDKs: this package handles invalid content itself, by asking again
 */
export function legacyCall<McpServer extends SdkServer>(
  common: Omit<LegacyStatelessCall, 'era' | 'mcpClientName'>,
  { server, sessionOf }: Surroundings<McpServer>,
  p: {
    readonly lasts: boolean;
    readonly revision: string | undefined;
    elicit(
      params: ({ mode: 'form' } & FormAsk) | ({ mode: 'url' } & UrlElicitation),
      options: { signal: AbortSignal; timeout: number },
    ): Promise<ClientAnswer>;
  },
): LegacySessionCall | LegacyStatelessCall {
  if (server === undefined || !p.lasts) return { ...common, era: 'legacy-stateless', mcpClientName: undefined };
  const elicitation = server.server.getClientCapabilities()?.elicitation;
  return {
    ...common,
    era: 'legacy-session',
    revision: p.revision,
    mcpClientName: server.server.getClientVersion()?.name,
    declaresUrl: elicitation?.['url'] !== undefined,
    declaresForm: declaresForm(elicitation),
    session: sessionOf(server),
    elicitForm: (formAsk, signal) => p.elicit({ mode: 'form', ...formAsk }, { signal, timeout: UNLIMITED_MS }),
    elicitUrl: async (request, signal) =>
      (await p.elicit({ mode: 'url', ...request }, { signal, timeout: UNLIMITED_MS })).action,
  };
}

/** Present when the MCP client asked for progress notifications. */
export function progressReporter(
  progressToken: string | number | undefined,
  notify: (notification: {
    method: 'notifications/progress';
    params: { progressToken: string | number; progress: number; message: string };
  }) => Promise<void>,
): ToolCall['reportProgress'] {
  if (progressToken === undefined) return undefined;
  return (progress, message) =>
    notify({ method: 'notifications/progress', params: { progressToken, progress, message } });
}

type Registry = Readonly<Record<string, { handler?: unknown; callback?: unknown; outputSchema?: unknown }>>;

/**
 * Both SDKs keep their registrations in members that their types hide. If an SDK keeps them elsewhere, or wraps the handler (prompts of
 * SDK v2), the handler is unknown.
 */
function createRegisteredHandlers(): RegisteredHandlers {
  const known = new WeakMap<object, RegisteredHandler>();
  function add(server: object): void {
    const { _registeredTools: tools = {}, _registeredPrompts: prompts = {} } = server as {
      readonly [Member in '_registeredTools' | '_registeredPrompts']?: Registry;
    };
    for (const [name, { handler, callback, outputSchema }] of [...Object.entries(prompts), ...Object.entries(tools)])
      for (const found of [handler, callback])
        if (typeof found === 'function') known.set(found, { name, hasOutputSchema: outputSchema !== undefined });
  }
  return {
    add,
    find(handler, server) {
      if (server !== undefined) add(server);
      return known.get(handler);
    },
  };
}
