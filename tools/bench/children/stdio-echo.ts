/** An MCP server on stdio with one tool that only reads. Takes as little time as it can. */
import { createInterface } from 'node:readline';

const tools = [{ name: 'read', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }];
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method } = JSON.parse(line) as { id?: number | string; method?: string };
  if (id === undefined) continue;
  const result = method === 'tools/list' ? { tools } : { content: [{ type: 'text', text: 'x'.repeat(500) }] };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
}
