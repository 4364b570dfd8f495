import { html } from '@postern/pages/html';
import type { ApiKeyView } from '../../mcp-servers/api-key-admin.ts';
import type { ActView } from './act-page.ts';
import { consolePage, type SignedInPage } from './layout.ts';
import { code, facts, linkTo, optional, status, table, time } from './parts.ts';

const iso = (at: number) => new Date(at).toISOString();

/** A revoked key is refused, and so is a key of an MCP server that is not configured. */
export const isValidApiKey = ({ revoked, isConfigured }: ApiKeyView) => revoked === undefined && isConfigured;

export function apiKeysPage(page: SignedInPage, apiKeys: readonly ApiKeyView[]): string {
  return consolePage(page, {
    title: 'API keys',
    at: '/api-keys',
    main: table({
      caption: 'API keys of MCP servers',
      columns: [
        { name: 'API key' },
        { name: 'Status' },
        { name: 'MCP server' },
        { name: 'Name' },
        { name: 'Ends with' },
        { name: 'From' },
        { name: 'Expires' },
        { name: 'Added by' },
        { name: 'Revoked by' },
        ...(page.role === 'operator' ? [{ name: 'Act' }] : []),
      ],
      rows: apiKeys.map(key => [
        code(key.apiKeyId),
        status(isValidApiKey(key) ? 'valid' : key.revoked === undefined ? 'refused' : 'revoked'),
        html`${key.mcpServerId}`,
        optional(key.name),
        optional(key.lastFour),
        html`${key.source}`,
        optional(key.expires),
        key.added === undefined ? optional(undefined) : html`${key.added.by}, ${time(iso(key.added.at))}`,
        key.revoked === undefined ? optional(undefined) : html`${key.revoked.by}, ${time(iso(key.revoked.at))}`,
        ...(page.role === 'operator'
          ? [
              isValidApiKey(key)
                ? html`<a href="${linkTo(`/api-keys/${key.apiKeyId}/revoke`)}">Revoke</a>`
                : optional(undefined),
            ]
          : []),
      ]),
      empty: 'No MCP server has an API key.',
    }),
  });
}

/** Says what the revocation will do. */
export function revokeApiKeyView({
  apiKey,
  others,
}: {
  readonly apiKey: ApiKeyView;
  readonly others: number;
}): ActView {
  const left =
    others === 0
      ? html`<p class="warning"><b>${apiKey.mcpServerId}</b> has no other valid API key. It can issue nothing until it has a new one.</p>`
      : html`<p><b>${apiKey.mcpServerId}</b> keeps ${String(others)} other valid API ${others === 1 ? 'key' : 'keys'}.</p>`;
  return {
    title: 'Revoke an API key',
    at: '/api-keys',
    button: 'Revoke this API key',
    says: html`${facts([
      ['API key', html`<code class="whole">${apiKey.apiKeyId}</code>`],
      ['MCP server', html`${apiKey.mcpServerId}`],
      ['Name', apiKey.name === undefined ? undefined : html`${apiKey.name}`],
      ['Ends with', apiKey.lastFour === undefined ? undefined : html`${apiKey.lastFour}`],
    ])}
<p>Within a second, every replica refuses this key, and ends the waiting reads and event streams that use it. This cannot be undone.</p>
${left}`,
  };
}
