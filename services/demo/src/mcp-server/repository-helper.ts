import { McpServer } from '@modelcontextprotocol/server';
import type { Gate } from '@postern/mcp';
import { z } from 'zod';

const repositoriesSchema = z.object({
  repositories: z.array(z.object({ name: z.string(), description: z.string(), isPrivate: z.boolean() })),
});
const issueSchema = z.object({ number: z.number(), repository: z.string(), title: z.string() });

/** An MCP server whose tools work with the user's account at Code Forge. One instance serves one connection. */
export function createRepositoryHelper(p: { gate: Gate; forgeUrl: string }): McpServer {
  const mcpServer = new McpServer({ name: 'repository-helper', title: 'Repository Helper', version: '0.1.0' });
  const gate = p.gate.attach(mcpServer);

  mcpServer.registerTool(
    'list_repositories',
    {
      title: 'List my repositories',
      description: 'Lists the repositories of the user at Code Forge, private ones too.',
      annotations: { readOnlyHint: true, openWorldHint: true },
    },
    gate.tool(async (_, ctx) => {
      const forge = await ctx.gate.authorize('forge', { scopes: ['repo'], message: 'To list your repositories' });
      if (forge.action !== 'accept') return forge.toToolResult();

      const response = await forge.fetch(`${p.forgeUrl}/api/repositories`);
      if (!response.ok) return failure(`Code Forge answered ${response.status}.`);
      const { repositories } = repositoriesSchema.parse(await response.json());
      const lines = repositories.map(
        ({ name, description, isPrivate }) => `${name}${isPrivate ? ' (private)' : ''}: ${description}`,
      );
      return { content: [{ type: 'text', text: lines.join('\n') }] };
    }),
  );

  mcpServer.registerTool(
    'create_issue',
    {
      title: 'Create an issue',
      description: 'Creates an issue in a repository of the user at Code Forge.',
      inputSchema: z.object({
        repository: z.string().describe('As list_repositories names it'),
        title: z.string().min(1).max(200),
      }),
    },
    gate.tool(async (issue, ctx) => {
      const forge = await ctx.gate.authorize('forge', { scopes: ['repo', 'issues'], message: 'To create an issue' });
      if (forge.action !== 'accept') return forge.toToolResult();

      const response = await forge.fetch(`${p.forgeUrl}/api/issues`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(issue),
      });
      if (!response.ok) return failure(`Code Forge answered ${response.status}.`);
      const { number, repository, title } = issueSchema.parse(await response.json());
      return { content: [{ type: 'text', text: `Issue ${number} in ${repository}: ${title}` }] };
    }),
  );

  return mcpServer;
}

const failure = (text: string) => ({ isError: true, content: [{ type: 'text' as const, text }] });
