import { MCPClient } from 'mcp-use';
import { consent, headers, play, tool, url } from './play.mjs';

const client = new MCPClient(
  { mcpServers: { server: { url, headers } } },
  { onElicitation: async params => consent(params.url) },
);
const session = await client.createSession('server');
await play(() => session.callTool(tool, {}));
