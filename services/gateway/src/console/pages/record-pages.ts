import { html } from '@postern/pages/html';
import type { ConnectionItem, CredentialItem } from '../admin-views.ts';
import type { Configured, ListView } from './elicitation-pages.ts';
import { consolePage, type SignedInPage } from './layout.ts';
import { anyOf, code, filters, linkTo, pager, status, table, time, timeOrNone } from './parts.ts';

/** Instead of a table without rows. */
export const noMatch = (next: string | undefined) =>
  next === undefined ? 'Nothing matches.' : 'Nothing on this page matches. There are more pages.';

export function connectionsPage(
  page: SignedInPage,
  { query, items, next }: ListView<ConnectionItem>,
  configured: Configured,
): string {
  const isOperator = page.role === 'operator';
  const { provider, mcpServer, since, lost } = query;
  const isEmpty = items.length === 0 && next === undefined;
  const disconnect =
    isOperator && !isEmpty && (provider !== undefined || mcpServer !== undefined) && lost === undefined
      ? html`<p><a class="button" href="${linkTo('/disconnect', { provider, mcpServer, since })}">Disconnect all that match…</a></p>`
      : isOperator && !isEmpty
        ? html`<p class="soft">To disconnect many, filter by provider or MCP server, with any status.</p>`
        : undefined;
  return consolePage(page, {
    title: 'Connections',
    at: '/connections',
    main: html`${filters('/connections', [
      {
        name: 'mcpServer',
        label: 'MCP server',
        value: query['mcpServer'] ?? '',
        choices: anyOf('any MCP server', configured.mcpServers),
      },
      {
        name: 'provider',
        label: 'Provider',
        value: query['provider'] ?? '',
        choices: anyOf('any provider', configured.providers),
      },
      {
        name: 'lost',
        label: 'Status',
        value: query['lost'] ?? '',
        choices: [
          { value: '', text: 'any status' },
          { value: 'no', text: 'connected' },
          { value: 'yes', text: 'lost' },
        ],
      },
      { name: 'since', label: 'Renewed since (UTC)', value: query['since'] ?? '', type: 'date' },
    ])}
${disconnect}
${table({
  caption: 'Connections, newest first',
  columns: [
    { name: 'Connection' },
    { name: 'Status' },
    { name: 'Provider' },
    { name: 'Owner' },
    { name: 'Scopes' },
    { name: 'Person (pseudonym)' },
    { name: 'Connected (UTC)' },
    { name: 'Last use (UTC)' },
    ...(isOperator ? [{ name: 'Act' }] : []),
  ],
  rows: items.map(item => [
    html`<a href="${linkTo(`/elicitations/${item.elicitationId}`)}">${code(item.connectionId)}</a>`,
    html`${status(item.lost === undefined ? 'connected' : 'lost')}${item.lost === undefined ? undefined : html` <span class="soft">${item.lost.reason}</span>`}`,
    html`${item.provider}`,
    html`${item.owner}`,
    html`${item.scopes.join(' ') || '–'}`,
    code(item.subject),
    time(item.connectedAt),
    timeOrNone(item.lastUse?.at),
    ...(isOperator ? [html`<a href="${linkTo(`/connections/${item.connectionId}/disconnect`)}">Disconnect</a>`] : []),
  ]),
  empty: noMatch(next),
})}
${pager('/connections', query, next)}`,
  });
}

export function credentialsPage(
  page: SignedInPage,
  { query, items, next }: ListView<CredentialItem>,
  configured: Configured,
): string {
  return consolePage(page, {
    title: 'Credentials',
    at: '/credentials',
    main: html`<p class="soft">What people typed is sealed. The console never has a value.</p>${filters(
      '/credentials',
      [
        {
          name: 'mcpServer',
          label: 'MCP server',
          value: query['mcpServer'] ?? '',
          choices: anyOf('any MCP server', configured.mcpServers),
        },
      ],
    )}
${table({
  caption: 'Credentials, newest first',
  columns: [
    { name: 'Credential' },
    { name: 'Name' },
    { name: 'Fields' },
    { name: 'Owner' },
    { name: 'Person (pseudonym)' },
    { name: 'Saved (UTC)' },
    { name: 'Last use (UTC)' },
  ],
  rows: items.map(item => [
    html`<a href="${linkTo(`/elicitations/${item.elicitationId}`)}">${code(item.credentialId)}</a>`,
    html`${item.name}`,
    html`${item.fields.map(String).join(', ')}`,
    html`${item.owner}`,
    code(item.subject),
    time(item.savedAt),
    timeOrNone(item.lastUse?.at),
  ]),
  empty: noMatch(next),
})}
${pager('/credentials', query, next)}`,
  });
}
