import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { consent, era, headers, play, tool, url } from './play.mjs';

const client = new Client(
  { name: 'driver', version: '1.0.0' },
  {
    capabilities: { elicitation: { form: {}, url: {} } },
    versionNegotiation: { mode: era === '2026-07-28' ? { pin: era } : 'legacy' },
  },
);
client.setRequestHandler('elicitation/create', ({ params }) => consent(params.url));
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
await play(() => client.callTool({ name: tool, arguments: {} }));
