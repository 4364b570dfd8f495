import { MCPServerStreamableHttp } from '@openai/agents';
import { headers, play, tool, url } from './play.mjs';

const server = new MCPServerStreamableHttp({ url, name: 'server', requestInit: { headers } });
await server.connect();
await play(() => server.callTool(tool, {}));
