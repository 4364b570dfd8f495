import { type Endpoint, post, readMessages } from './endpoint.ts';
import { isResponse, type Message, WireError } from './messages.ts';

export interface ModernCall {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** `elicitation` of the declared capabilities; null declares none. */
  readonly elicitation: Readonly<Record<string, unknown>> | null;
  readonly inputResponses?: unknown;
  readonly requestState?: string;
}

export interface ModernAnswer {
  readonly status: number;
  readonly answer: Message;
}

let lastId = 0;

/** One `tools/call` of revision 2026-07-28. @throws WireError if there is no response */
export async function modernCall(endpoint: Endpoint, call: ModernCall, signal: AbortSignal): Promise<ModernAnswer> {
  lastId += 1;
  const id = lastId;
  const { tool, args, elicitation, ...round } = call;
  const message = {
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: {
      name: tool,
      arguments: args,
      ...round,
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'url-mode-conformance', version: '1.0.0' },
        'io.modelcontextprotocol/clientCapabilities': elicitation === null ? {} : { elicitation },
      },
    },
  };
  // SEP-2243: the headers name what the body says.
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': tool };
  const response = await post(endpoint, message, { headers, signal });
  let answer: Message | undefined;
  await readMessages(response, received => {
    // A request that is refused before it is read may get a response without an id.
    if (isResponse(received) && (received.id === id || response.status >= 400)) answer = received;
    return answer !== undefined;
  });
  if (answer === undefined) throw new WireError(`no response to tools/call; HTTP status ${response.status}`);
  return { status: response.status, answer };
}
