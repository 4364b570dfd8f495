import { html, ownPath } from '@postern/pages/html';
import type { ApiKeyView } from '../../mcp-servers/api-key-admin.ts';
import { signInHref } from '../sign-in-href.ts';
import { consolePage, type SignedInPage } from './layout.ts';
import { code, facts, linkTo, optional, status, table, time } from './parts.ts';

const iso = (at: number) => new Date(at).toISOString();

/** A revoked key is refused, and so is a key of an MCP server that is not configured. */
const isValid = ({ revoked, isConfigured }: ApiKeyView) => revoked === undefined && isConfigured;

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
        status(isValid(key) ? 'valid' : key.revoked === undefined ? 'refused' : 'revoked'),
        html`${key.mcpServerId}`,
        optional(key.name),
        optional(key.lastFour),
        html`${key.source}`,
        optional(key.expires),
        key.added === undefined ? optional(undefined) : html`${key.added.by}, ${time(iso(key.added.at))}`,
        key.revoked === undefined ? optional(undefined) : html`${key.revoked.by}, ${time(iso(key.revoked.at))}`,
        ...(page.role === 'operator'
          ? [
              isValid(key)
                ? html`<a href="${linkTo(`/api-keys/${key.apiKeyId}/revoke`)}">Revoke</a>`
                : optional(undefined),
            ]
          : []),
      ]),
      empty: 'No MCP server has an API key.',
    }),
  });
}

/** Says what the revocation will do before the operator confirms it. Without a fresh sign-in it offers one instead of the form. */
export function revokeApiKeyPage(
  page: SignedInPage,
  p: { readonly apiKey: ApiKeyView; readonly others: number; readonly path: string; readonly isFresh: boolean },
): string {
  const { apiKey, others, path } = p;
  const left =
    others === 0
      ? html`<p class="warning"><b>${apiKey.mcpServerId}</b> has no other valid API key. It can issue nothing until it has a new one.</p>`
      : html`<p><b>${apiKey.mcpServerId}</b> keeps ${String(others)} other valid API ${others === 1 ? 'key' : 'keys'}.</p>`;
  const act = p.isFresh
    ? html`<form class="act" method="post" action="${ownPath(path)}"><input type="hidden" name="csrf_token" value="${page.csrfToken}"><label><span>Reason, for the audit trail</span><input type="text" name="reason" required></label><button class="danger">Revoke this API key</button> <a href="${linkTo('/api-keys')}">Cancel</a></form>`
    : html`<p>This needs a sign-in of the last five minutes.</p><p><a class="button" href="${ownPath(signInHref(path, true))}">Sign in again</a></p>`;
  return consolePage(page, {
    title: 'Revoke an API key',
    at: '/api-keys',
    above: html`<nav class="trail" aria-label="You are here"><a href="${linkTo('/api-keys')}">API keys</a></nav>`,
    main: html`${facts([
      ['API key', html`<code class="whole">${apiKey.apiKeyId}</code>`],
      ['MCP server', html`${apiKey.mcpServerId}`],
      ['Name', apiKey.name === undefined ? undefined : html`${apiKey.name}`],
      ['Ends with', apiKey.lastFour === undefined ? undefined : html`${apiKey.lastFour}`],
    ])}
<p>Within a second, every replica refuses this key, and ends the waiting reads and event streams that use it. This cannot be undone.</p>
${left}
${act}`,
  });
}
