import {
  Client,
  StreamableHTTPClientTransport,
  type StreamableHTTPClientTransportOptions,
  UnauthorizedError,
  UrlElicitationRequiredError,
} from '@modelcontextprotocol/client';
import { startSignIn } from './sign-in.ts';

export const eras = ['2026-07-28', '2025-11-25'] as const;
export type Era = (typeof eras)[number];

/** What an MCP server wants the person to open. */
export interface UrlQuestion {
  readonly purpose: 'sign-in' | 'elicitation';
  readonly url: string;
  /** The MCP server's own words. */
  readonly message: string;
}

/** The person before the host. */
export interface HostUser {
  /** Shows the URL, asks, and opens it on `accept`. Nothing has touched the URL before. */
  askToOpen(question: UrlQuestion): Promise<'accept' | 'decline' | 'cancel'>;
  /** One line about what happens. */
  tell(line: string): void;
  /** Resolves when the person no longer wants to wait for the MCP server's word that the browser part is done. */
  impatience(signal: AbortSignal): Promise<void>;
}

export interface HostConnection extends AsyncDisposable {
  readonly mcpServerName: string;
  /** Revision that was agreed on. */
  readonly revision: string;
  /** Calls a tool; whatever the person has to open happens meanwhile. Returns the text of the result. */
  callTool(name: string, args?: Record<string, unknown>): Promise<{ text: string; isError: boolean }>;
}

export interface HostOptions {
  readonly mcpUrl: string;
  readonly era: Era;
  readonly user: HostUser;
  readonly fetch?: StreamableHTTPClientTransportOptions['fetch'];
}

/** A call may last as long as a person needs in a browser; progress of the MCP server does not shorten that. */
const CALL_TIMEOUT_MS = 15 * 60 * 1000;

/** How often a call that was answered with −32042 is made again before the answer is an error. */
const MAX_RETRIES = 3;

/** Connects a terminal MCP host to an MCP server and signs its user in where the MCP server wants a token. */
export async function connectHost(options: HostOptions): Promise<HostConnection> {
  await using stack = new AsyncDisposableStack();
  const signIn = stack.use(
    await startSignIn(async url => {
      const question = {
        purpose: 'sign-in',
        url: url.href,
        message: 'This MCP server wants to know who you are.',
      } as const;
      if ((await options.user.askToOpen(question)) !== 'accept') throw new Error('Not signed in.');
      options.user.tell('Waiting for the sign-in in the browser …');
    }),
  );
  const newTransport = () =>
    new StreamableHTTPClientTransport(new URL(options.mcpUrl), {
      authProvider: signIn.provider,
      ...(options.fetch === undefined ? {} : { fetch: options.fetch }),
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
  const { mcpClient, completions } = connected;
  stack.defer(() => mcpClient.close());

  const owned = stack.move();
  return {
    mcpServerName: mcpClient.getServerVersion()?.title ?? mcpClient.getServerVersion()?.name ?? 'The MCP server',
    revision: mcpClient.getNegotiatedProtocolVersion() ?? '',
    callTool: (name, args = {}) => callTool({ mcpClient, completions, user: options.user, name, args }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Elicitations that the MCP server has called complete, in revision 2025-11-25. */
class Completions {
  readonly #complete = new Set<string>();
  readonly #waiting = new Map<string, () => void>();

  add(elicitationId: string): void {
    this.#complete.add(elicitationId);
    this.#waiting.get(elicitationId)?.();
  }

  async wait(elicitationId: string): Promise<void> {
    if (this.#complete.has(elicitationId)) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.set(elicitationId, resolve);
    await promise;
  }
}

function createMcpClient({ era, user }: HostOptions): { mcpClient: Client; completions: Completions } {
  const mcpClient = new Client(
    { name: 'terminal-host', title: 'Terminal Host', version: '0.1.0' },
    {
      capabilities: { elicitation: { url: {} } },
      versionNegotiation: { mode: era === '2026-07-28' ? { pin: era } : 'legacy' },
    },
  );
  // Asked inside a call: input_required (2026-07-28) or a pushed request (2025-11-25). The MCP server holds the call then.
  mcpClient.setRequestHandler('elicitation/create', async ({ params }) => {
    if (params.mode !== 'url') return { action: 'decline' };
    const action = await user.askToOpen({ purpose: 'elicitation', url: params.url, message: params.message });
    if (action === 'accept') user.tell('Waiting until you have finished in the browser …');
    return { action };
  });
  const completions = new Completions();
  mcpClient.setNotificationHandler('notifications/elicitation/complete', ({ params }) =>
    completions.add(params.elicitationId),
  );
  return { mcpClient, completions };
}

async function callTool(p: {
  mcpClient: Client;
  completions: Completions;
  user: HostUser;
  name: string;
  args: Record<string, unknown>;
}): Promise<{ text: string; isError: boolean }> {
  const { mcpClient, completions, user } = p;
  for (let retry = 0; ; retry += 1) {
    try {
      const result = await mcpClient.callTool({ name: p.name, arguments: p.args }, { timeout: CALL_TIMEOUT_MS });
      const texts = result.content.map(block => (block.type === 'text' ? block.text : `[${block.type}]`));
      return { text: texts.join('\n'), isError: result.isError === true };
    } catch (error) {
      // −32042: open, wait for the completion notice, call again.
      if (!UrlElicitationRequiredError.isInstance(error) || retry === MAX_RETRIES) throw error;
      for (const { url, message, elicitationId } of error.elicitations) {
        const action = await user.askToOpen({ purpose: 'elicitation', url, message });
        if (action !== 'accept') return { text: 'You did not open the page. Nothing was done.', isError: true };
        user.tell('Waiting until you have finished in the browser …');
        const answered = new AbortController();
        await Promise.race([completions.wait(elicitationId), user.impatience(answered.signal)]);
        answered.abort();
      }
      user.tell('Done in the browser; calling the tool again.');
    }
  }
}
