import { MultiServerMCPClient } from '@langchain/mcp-adapters';
import { headers, play, tool, url } from './play.mjs';

const client = new MultiServerMCPClient({ mcpServers: { server: { transport: 'http', url, headers } } });
const tools = await client.getTools();
await play(() => tools.find(({ name }) => name === tool).invoke({}));
