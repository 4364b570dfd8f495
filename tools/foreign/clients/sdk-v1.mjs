import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { consent, headers, play, tool, url } from './play.mjs';

const client = new Client(
  { name: 'driver', version: '1.0.0' },
  { capabilities: { elicitation: { form: {}, url: {} } } },
);
client.setRequestHandler(ElicitRequestSchema, ({ params }) => consent(params.url));
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
await play(() => client.callTool({ name: tool, arguments: {} }));
