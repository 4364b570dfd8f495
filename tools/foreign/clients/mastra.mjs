import { MCPClient } from '@mastra/mcp';
import { consent, era, headers, play, tool, url } from './play.mjs';

const client = new MCPClient({
  servers: {
    server: {
      url: new URL(url),
      requestInit: { headers },
      ...(era === '2026-07-28' ? {} : { protocolVersion: 'legacy' }),
      capabilities: { elicitation: { form: {}, url: {} } },
      inputRequests: async ({ params }) => consent(params.url),
    },
  },
});
const tools = await client.listTools();
const [name] = Object.keys(tools).filter(each => each.endsWith(`_${tool}`));
await play(() => tools[name].execute({}, {}));
