import { once } from 'node:events';
import { linesOf, type Message, readUpstreamMessage, requestText } from './message.ts';
import type { Decision, Rules } from './rules.ts';
import { type ListedTool, ToolList } from './tool-list.ts';
import type { UpstreamProcess } from './upstream-process.ts';

/** How long the upstream may take for an answer, in ms: `npx` may install it first. */
const ANSWER_MS = 120_000;

/** What happens to each tool of a running upstream. @throws {Error} if it does not answer */
export async function decisionsOf(
  child: UpstreamProcess,
  rules: Rules,
): Promise<readonly { readonly tool: ListedTool; readonly decision: Decision }[]> {
  const lines = linesOf(child.stdout);
  let last = 0;
  async function ask(method: string, params: string): Promise<Message> {
    last += 1;
    const id = String(last);
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
    const client = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'postern-proxy', version: '0.1.0' },
    };
    await ask('initialize', JSON.stringify(client));
    await send('{"jsonrpc":"2.0","method":"notifications/initialized"}');
    const listed = await new ToolList(ask).read(undefined);
    return [...listed.values()].map(tool => ({ tool, decision: rules.decide(tool, undefined) }));
  } finally {
    clearTimeout(timer);
    await child.stop();
  }
}
