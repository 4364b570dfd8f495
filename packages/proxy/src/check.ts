import { once } from 'node:events';
import { ownId } from './call.ts';
import { HttpUpstream, type HttpUpstreamOptions } from './http/http-upstream.ts';
import { linesOf, MAX_MESSAGE_BYTES, type Message, readUpstreamMessage, requestText, whole } from './message.ts';
import type { Decision, Rules } from './rules.ts';
import { type AskUpstream, type ListedTool, ToolList } from './tool-list.ts';
import type { UpstreamProcess } from './upstream-process.ts';

/** How long the upstream may take for an answer, in ms: `npx` may install it first. */
const ANSWER_MS = 120_000;

const CLIENT = JSON.stringify({
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'postern-proxy', version: '0.1.0' },
});
const INITIALIZED = '{"jsonrpc":"2.0","method":"notifications/initialized"}';

/** A tool, and what happens to it. */
export interface CheckedTool {
  readonly tool: ListedTool;
  readonly decision: Decision;
}

async function listed(ask: AskUpstream, rules: Rules): Promise<readonly CheckedTool[]> {
  const tools = await new ToolList(ask).read(undefined);
  return [...tools.values()].map(tool => ({ tool, decision: rules.decide(tool, undefined) }));
}

/** What happens to each tool of an MCP server over HTTP. @throws {Error} if it does not answer */
export async function decisionsAt(p: HttpUpstreamOptions, rules: Rules): Promise<readonly CheckedTool[]> {
  const upstream = new HttpUpstream(p);
  const headers: Record<string, string> = { accept: 'application/json, text/event-stream' };
  const request = (body: string) =>
    ({ method: 'POST', headers, body: Buffer.from(body), signal: AbortSignal.timeout(ANSWER_MS) }) as const;
  async function ask(method: string, params: string): Promise<Message> {
    const id = ownId();
    return await upstream.ask(id, request(requestText(id, method, params)), async () => {});
  }
  try {
    const { sessionId, body } = await upstream.exchange(request(requestText(ownId(), 'initialize', CLIENT)));
    await whole(body, MAX_MESSAGE_BYTES);
    headers['mcp-protocol-version'] = '2025-11-25';
    if (sessionId !== undefined) headers['mcp-session-id'] = sessionId;
    await whole((await upstream.exchange(request(INITIALIZED))).body, MAX_MESSAGE_BYTES);
    return await listed(ask, rules);
  } finally {
    await upstream.close();
  }
}

/** What happens to each tool of a running program, which ends then. @throws {Error} if it does not answer */
export async function decisionsOf(child: UpstreamProcess, rules: Rules): Promise<readonly CheckedTool[]> {
  const lines = linesOf(child.stdout);
  child.stderr?.pipe(process.stderr);
  async function ask(method: string, params: string): Promise<Message> {
    const id = ownId();
    await send(requestText(id, method, params));
    for (;;) {
      const { value, done } = await lines.next();
      if (done === true) throw new Error('The server ended without an answer.');
      const message = readUpstreamMessage(value);
      if (message !== undefined && 'root' in message && message.method === undefined && message.id === id)
        return message;
    }
  }
  async function send(text: string): Promise<void> {
    if (!child.stdin.write(`${text}\n`)) await once(child.stdin, 'drain');
  }
  const timer = setTimeout(() => void child.stop(), ANSWER_MS);
  try {
    await ask('initialize', CLIENT);
    await send(INITIALIZED);
    return await listed(ask, rules);
  } finally {
    clearTimeout(timer);
    await child.stop();
  }
}
