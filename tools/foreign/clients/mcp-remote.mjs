/** `mcp-remote` between a host that speaks stdio, here SDK v1 with URL mode, and the MCP server. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { consent, headers, play, tool, url } from './play.mjs';

const client = new Client(
  { name: 'driver', version: '1.0.0' },
  { capabilities: { elicitation: { form: {}, url: {} } } },
);
client.setRequestHandler(ElicitRequestSchema, ({ params }) => consent(params.url));
const args = ['node_modules/mcp-remote/dist/proxy.js', url, '--allow-http', '--transport', 'http-only'];
await client.connect(
  new StdioClientTransport({
    command: process.execPath,
    args: [...args, '--header', 'Authorization:${AUTHORIZATION}'],
    env: { ...process.env, AUTHORIZATION: headers.authorization },
  }),
);
await play(() => client.callTool({ name: tool, arguments: {} }));
