/** The same MCP server on stdio. */
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { conformanceServers } from './conformance-mcp-server.ts';

serveStdio(
  conformanceServers(mcpServer => ({
    toolsChanged: () => mcpServer.sendToolListChanged(),
    promptsChanged: () => mcpServer.sendPromptListChanged(),
  })),
);
