import {
  Client,
  StreamableHTTPClientTransport,
  type StreamableHTTPClientTransportOptions,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { attachHost, type ElicitationHost, ElicitationRefusedError, type HostOptions } from '@postern/host';
import { startSignIn } from './sign-in.ts';
import { type MenuEntry, menuOf } from './tool-menu.ts';

export const eras = ['2026-07-28', '2025-11-25'] as const;
export type Era = (typeof eras)[number];

export interface ConnectOptions extends Pick<HostOptions, 'handler' | 'completionPrompt'> {
  readonly mcpUrl: string;
  readonly era: Era;
  /** Shows the sign-in page of the MCP server, asks the user, and opens it. @returns whether the user agreed */
  readonly openSignIn: (url: URL) => Promise<boolean>;
  readonly fetch?: StreamableHTTPClientTransportOptions['fetch'];
}

export interface HostConnection extends AsyncDisposable {
  readonly mcpServerName: string;
  /** The negotiated revision. */
  readonly revision: string;
  /** The tools whose arguments a user can type. */
  menu(): Promise<readonly MenuEntry[]>;
  /** Calls a tool, elicitations included. Returns the text of the result. */
  callTool(name: string, args?: Record<string, unknown>): Promise<{ text: string; isError: boolean }>;
}

/** Connects a terminal MCP host to an MCP server, and signs the user in if the MCP server requires a token. */
export async function connectHost(options: ConnectOptions): Promise<HostConnection> {
  await using stack = new AsyncDisposableStack();
  const signIn = stack.use(
    await startSignIn(async url => {
      if (!(await options.openSignIn(url))) throw new Error('Not signed in.');
    }),
  );
  const newTransport = () =>
    new StreamableHTTPClientTransport(new URL(options.mcpUrl), {
      authProvider: signIn.provider,
      fetch: options.fetch,
    });

  let connected = createMcpClient(options);
  const transport = newTransport();
  try {
    await connected.mcpClient.connect(transport);
  } catch (error) {
    if (!UnauthorizedError.isInstance(error)) throw error;
    await transport.finishAuth(await signIn.answer);
    connected = createMcpClient(options);
    await connected.mcpClient.connect(newTransport());
  }
  const { mcpClient, host } = connected;
  stack.defer(() => mcpClient.close());

  const owned = stack.move();
  return {
    mcpServerName: mcpClient.getServerVersion()?.title ?? mcpClient.getServerVersion()?.name ?? 'The MCP server',
    revision: mcpClient.getNegotiatedProtocolVersion() ?? '',
    menu: async () => menuOf((await mcpClient.listTools()).tools),
    callTool: (name, args = {}) => callTool(host, name, args),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function createMcpClient(p: ConnectOptions): { mcpClient: Client; host: ElicitationHost } {
  const mcpClient = new Client(
    { name: 'terminal-host', title: 'Terminal Host', version: '0.1.0' },
    { versionNegotiation: { mode: p.era === '2026-07-28' ? { pin: p.era } : 'legacy' } },
  );
  const host = attachHost(mcpClient, {
    mcpServer: { id: new URL(p.mcpUrl).host, url: p.mcpUrl },
    handler: p.handler,
    completionPrompt: p.completionPrompt,
  });
  return { mcpClient, host };
}

async function callTool(
  host: ElicitationHost,
  name: string,
  args: Record<string, unknown>,
): Promise<{ text: string; isError: boolean }> {
  const { content, isError } = await host.callTool({ name, arguments: args }).catch((error: unknown) => {
    // A refusal after −32042 does not reach the MCP server; for the model it is a result.
    if (error instanceof ElicitationRefusedError) return error.toToolResult();
    throw error;
  });
  const texts = content.map(block => (block.type === 'text' ? block.text : `[${block.type}]`));
  return { text: texts.join('\n'), isError: isError === true };
}
