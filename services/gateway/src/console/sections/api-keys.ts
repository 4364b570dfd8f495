import { html } from '@postern/pages/html';
import { z } from 'zod';
import { statusOfApiKey } from '../../mcp-servers/api-key-admin.ts';
import { code, facts, link, noteAfter, optional, status, time, whole } from '../pages/parts.ts';
import { type Asking, act, type ConsoleRoute, list } from '../section.ts';
import { ageHtml, utc } from '../shown-records.ts';

const apiKeysOf = async ({ admin, now }: Asking) =>
  (await admin.apiKeys()).map(of => ({ ...of, status: statusOfApiKey(of, now()) }));

/** API keys of MCP servers: their list, and the verb for a leaked one. */
export const apiKeys: readonly ConsoleRoute[] = [
  list({
    at: '/api-keys',
    query: z.object({}),
    read: async asking => ({ items: await apiKeysOf(asking) }),
    caption: 'API keys of MCP servers',
    columns: () => [
      { name: 'API key', cell: of => link('/audit', code(of.apiKeyId), { apiKey: of.apiKeyId }) },
      {
        name: 'Status',
        cell: of =>
          html`${status(of.status, of.revoked && html`by ${of.revoked.by},`)}${of.revoked && html` ${time(utc(of.revoked.at))}`}`,
      },
      { name: 'MCP server', cell: of => of.mcpServerId },
      { name: 'Name', cell: of => html`${optional(of.name)}${noteAfter(of.lastFour && html`…${of.lastFour}`)}` },
      { name: 'From', cell: of => of.source },
      { name: 'Since (UTC)', cell: of => html`${ageHtml(of.age)}${noteAfter(of.added && html`by ${of.added.by}`)}` },
      { name: 'Last use (UTC)', cell: of => time(utc(of.lastUsedAt)) },
      { name: 'Expires (UTC)', cell: of => time(utc(of.expires)) },
    ],
    acts: of => (of.status === 'valid' ? link(`/api-keys/${of.apiKeyId}/revoke`, html`Revoke`) : undefined),
    empty: () => 'No MCP server has an API key.',
  }),

  act({
    path: '/api-keys/:apiKeyId/revoke',
    at: '/api-keys',
    title: 'Revoke an API key',
    values: z.strictObject({ apiKeyId: z.string() }),
    async plan(asking, { apiKeyId }) {
      const valid = (await apiKeysOf(asking)).filter(of => of.status === 'valid');
      const of = valid.find(each => each.apiKeyId === apiKeyId);
      if (of === undefined) return undefined;
      const others = valid.filter(({ mcpServerId }) => mcpServerId === of.mcpServerId).length - 1;
      const left =
        others === 0
          ? html`<p class="warning"><b>${of.mcpServerId}</b> has no other valid API key. It can issue nothing until it has a new one.</p>`
          : html`<p><b>${of.mcpServerId}</b> keeps ${String(others)} other valid API ${others === 1 ? 'key' : 'keys'}.</p>`;
      return {
        button: 'Revoke this API key',
        about: facts([
          ['API key', whole(of.apiKeyId)],
          ['MCP server', of.mcpServerId],
          ['Name', of.name],
          ['Ends with', of.lastFour],
        ]),
        says: html`<p>Within a second, every replica refuses this key, and ends the waiting reads and event streams that use it. This cannot be undone.</p>
${left}`,
      };
    },
    async perform(asking, { apiKeyId }) {
      const isKnown = (await apiKeysOf(asking)).some(of => of.apiKeyId === apiKeyId && of.status === 'valid');
      if (!isKnown) return undefined;
      // Another operator may have been faster, and both acts are recorded.
      await asking.admin.revokeApiKey(asking.actor, { apiKeyId, dryRun: false });
      return '/api-keys';
    },
  }),
];
