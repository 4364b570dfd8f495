import type { McpServer } from '@modelcontextprotocol/server';
import type { Gate } from '@postern/mcp';
import { z } from 'zod';
import { deletion, toCreateIssue, toDelete, toList } from './local-texts.ts';
import { answer, failure } from './tool-results.ts';

const repositoriesSchema = z.object({
  repositories: z.array(z.object({ name: z.string(), description: z.string(), isPrivate: z.boolean() })),
});
const issueSchema = z.object({ number: z.number(), repository: z.string(), title: z.string() });

const repositoryName = z
  .string()
  .regex(/^[\w-]{1,40}\/[\w-]{1,60}$/, 'must be a name like alice-codes/garden-planner')
  .describe('As list_repositories names it');

const issueTitle = z.string().min(1, 'must not be empty').max(200, 'must have 200 characters at most');

/** Tools that work with the user's account at Code Forge. */
export function registerRepositories(mcpServer: McpServer, p: { gate: Gate; forgeUrl: string }): void {
  mcpServer.registerTool(
    'list_repositories',
    {
      title: 'List my repositories',
      description: 'Lists the repositories of the user at Code Forge, private ones too.',
      annotations: { readOnlyHint: true, openWorldHint: true },
    },
    p.gate.tool(async (_, ctx) => {
      const forge = await ctx.gate.authorize('forge', { scopes: ['repo'], message: toList });

      const response = await forge.fetch(`${p.forgeUrl}/api/repositories`);
      if (!response.ok) return failure(`Code Forge answered ${response.status}.`);
      const { repositories } = repositoriesSchema.parse(await response.json());
      const lines = repositories.map(
        ({ name, description, isPrivate }) => `${name}${isPrivate ? ' (private)' : ''}: ${description}`,
      );
      return answer(lines.join('\n'));
    }),
  );

  mcpServer.registerTool(
    'create_issue',
    {
      title: 'Create an issue',
      description: 'Creates an issue in a repository of the user at Code Forge.',
      inputSchema: z.object({ repository: repositoryName, title: issueTitle }),
    },
    p.gate.tool(async (issue, ctx) => {
      const forge = await ctx.gate.authorize('forge', { scopes: ['repo', 'issues'], message: toCreateIssue });

      const response = await forge.fetch(`${p.forgeUrl}/api/issues`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(issue),
      });
      if (!response.ok) return failure(`Code Forge answered ${response.status}.`);
      const { number, repository, title } = issueSchema.parse(await response.json());
      return answer(`Issue ${number} in ${repository}: ${title}`);
    }),
  );

  mcpServer.registerTool(
    'delete_repository',
    {
      title: 'Delete a repository',
      description: 'Deletes a repository of the user at Code Forge, for good.',
      inputSchema: z.object({ repository: repositoryName }),
      annotations: { destructiveHint: true, openWorldHint: true },
    },
    p.gate.tool(async ({ repository }, ctx) => {
      // Two elicitations in one handler: the first keeps its outcome while the second is open.
      await ctx.gate.confirm({
        title: deletion.title(repository),
        action: deletion.action,
        facts: [
          { type: 'text', label: deletion.repository, value: repository },
          { type: 'host', label: deletion.where, value: new URL(p.forgeUrl).hostname },
        ],
        danger: 'destructive',
      });
      const forge = await ctx.gate.authorize('forge', {
        scopes: ['repo', 'delete_repo'],
        message: toDelete(repository),
      });

      const response = await forge.fetch(`${p.forgeUrl}/api/repositories/${repository}`, { method: 'DELETE' });
      if (response.status === 404) return failure(`You have no repository ${repository}.`);
      if (!response.ok) return failure(`Code Forge answered ${response.status}.`);
      return answer(`${repository} is deleted.`);
    }),
  );
}
