import { html } from '@postern/pages/html';
import { type ApiKeyView, statusOfApiKey } from '../../mcp-servers/api-key-admin.ts';
import type { ActView } from './act-page.ts';
import { ageHtml } from './keys-and-storage.ts';
import { consolePage, type SignedInPage } from './layout.ts';
import { code, facts, linkTo, optional, status, table, time, timeOrNone } from './parts.ts';

const iso = (at: number) => new Date(at).toISOString();

export function apiKeysPage(page: SignedInPage, apiKeys: readonly ApiKeyView[], now: number): string {
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
        { name: 'From' },
        { name: 'Since (UTC)' },
        { name: 'Last use (UTC)' },
        { name: 'Expires (UTC)' },
        ...(page.role === 'operator' ? [{ name: 'Act' }] : []),
      ],
      rows: apiKeys.map(key => [
        html`<a href="${linkTo('/audit', { apiKey: key.apiKeyId })}">${code(key.apiKeyId)}</a>`,
        html`${status(statusOfApiKey(key, now))}${key.revoked === undefined ? undefined : html` <span class="soft">by ${key.revoked.by},</span> ${time(iso(key.revoked.at))}`}`,
        html`${key.mcpServerId}`,
        html`${optional(key.name)}${key.lastFour === undefined ? undefined : html` <span class="soft">…${key.lastFour}</span>`}`,
        html`${key.source}`,
        html`${ageHtml(key.age === undefined ? {} : { ...key.age, since: iso(key.age.since) })}${key.added === undefined ? undefined : html` <span class="soft">by ${key.added.by}</span>`}`,
        timeOrNone(key.lastUsedAt === undefined ? undefined : iso(key.lastUsedAt)),
        timeOrNone(key.expires),
        ...(page.role === 'operator'
          ? [
              statusOfApiKey(key, now) === 'valid'
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
