/** What several sections show of a record: no section imports another. */

import { parseElicitationId } from '@postern/elicitation';
import { attributes, type Html, html } from '@postern/pages/html';
import { z } from 'zod';
import type { AuditItem } from '../admin/audit-search.ts';
import type { DisconnectTarget } from '../admin/connection-search.ts';
import type { DisconnectPlan, JobItem } from '../admin/jobs.ts';
import type { WebhookEndpointItem } from '../admin/overview.ts';
import type { elicitationItem } from '../admin/record-items.ts';
import {
  type Column,
  code,
  countAs,
  counted,
  type Fact,
  facts,
  link,
  status,
  table,
  time,
  valueHtml,
  whole,
} from './pages/parts.ts';

/** The columns of elicitations. @param phase of the items; absent if they are mixed */
export const elicitationColumns = (phase?: 'open' | 'ended'): readonly Column<ReturnType<typeof elicitationItem>>[] => [
  { name: 'Elicitation', cell: of => link(`/elicitations/${of.elicitationId}`, code(of.elicitationId)) },
  { name: 'Status', cell: of => status(of.status, of.failure) },
  { name: 'Kind', cell: of => of.kind },
  { name: 'MCP server', cell: of => of.mcpServerId },
  { name: 'Provider', cell: of => of.provider },
  { name: 'Tool', cell: of => of.tool },
  { name: 'Person (pseudonym)', cell: of => code(of.subject) },
  { name: 'Issued (UTC)', cell: of => time(of.createdAt) },
  phase === 'open'
    ? { name: 'Expires (UTC)', cell: of => time(of.expiresAt) }
    : { name: 'Ended (UTC)', cell: of => time(of.endedAt) },
];

export const elicitationValues = z.strictObject({ elicitationId: z.string().transform(parseElicitationId) });

export const AUDIT_CAPTION = 'Audit trail, newest first';

/** @param isOpen shows all fields of each line */
export const auditColumns = (isOpen = false): readonly Column<AuditItem>[] => [
  { name: 'Time (UTC)', cell: of => time(of.time) },
  { name: 'Event', cell: of => html`<b>${of.event}</b>` },
  {
    name: 'Who',
    cell: ({ line }) => ('operator' in line ? textIn(line, 'operator') : code(textIn(line, 'subject'))),
  },
  { name: 'MCP server', cell: ({ line }) => textIn(line, 'mcpServerId') },
  { name: 'Request', cell: ({ line }) => code(textIn(line, 'requestId')) },
  { name: 'Line', cell: ({ line }) => allFields(line, isOpen) },
];

function textIn(line: AuditItem['line'], name: string): string | undefined {
  const value = line[name];
  return typeof value === 'string' ? value : undefined;
}

const allFields = (line: AuditItem['line'], isOpen: boolean): Html =>
  html`<details${attributes({ open: isOpen })}><summary>All fields</summary>${facts(Object.entries(line).map(([name, value]) => [name, valueHtml(value)]))}</details>`;

/** What a job is about, member by member. */
export const targetFacts = ({ connectionId, subject, provider, mcpServerId, endpoint, since }: JobItem['target']) =>
  [
    ['Connection', whole(connectionId)],
    ['Person (pseudonym)', whole(subject)],
    ['Provider', provider],
    ['MCP server', mcpServerId],
    ['Endpoint', endpoint],
    ['Since (UTC)', time(since)],
  ] satisfies readonly Fact[];

/** Says what a disconnect would remove. */
export function disconnectPlan(
  { connections, people, notRevocable, isComplete, providers, owners }: DisconnectPlan,
  { subject, since, ...names }: DisconnectTarget,
) {
  const about = facts([
    ['Issuer', subject?.issuer],
    ['Subject', whole(subject?.subject)],
    ...targetFacts({ ...names, since: since?.toISOString() }),
  ]);
  if (connections === 0 && isComplete) return { about, says: 'No connection matches.' };
  const isOfGroup = owners.some(({ owner }) => owner.startsWith('group:'));
  return {
    about,
    button: connections === 1 ? 'Disconnect' : 'Disconnect all of them',
    says: html`<p>This removes ${isComplete ? undefined : 'at least '}${counted(connections, 'connection', 'connections')} of ${counted(people, 'person', 'people')}, and revokes the tokens at the provider. Their next tool call asks them to connect again. This cannot be undone.</p>
${isOfGroup ? html`<p class="warning">A connection of a group is removed for every MCP server of the group.</p>` : undefined}
${notRevocable === 0 ? undefined : html`<p class="warning">${counted(notRevocable, 'connection is', 'connections are')} of a provider that is not configured. Their tokens cannot be revoked: revoke them at the provider.</p>`}
${table({
  caption: 'Connections by provider and owner',
  columns: [
    { name: 'Provider or owner', cell: of => of.name },
    { name: 'Connections', isNumber: true, cell: of => of.connections },
  ],
  items: [...providers.map(of => ({ ...of, name: of.provider })), ...owners.map(of => ({ ...of, name: of.owner }))],
  empty: 'No connections.',
})}`,
  };
}

/** Of a time in milliseconds, or of ISO text in any zone. */
export const utc = (at: number | string | undefined) => (at === undefined ? undefined : new Date(at).toISOString());

/** Since when a key is known. */
export function ageHtml(age: { readonly since?: number | string; readonly isOrEarlier?: boolean } = {}): Html {
  if (age.since === undefined) return html`<span class="soft">unknown</span>`;
  return html`${age.isOrEarlier === true ? html`<span class="soft">on or before</span> ` : undefined}${time(utc(age.since))}`;
}

/** The worst of what is wrong with an endpoint. Enabled alone says nothing about its deliveries. */
export function endpointStatus({ status: word, dead, delayed, failingSince }: WebhookEndpointItem): string {
  if (word === 'disabled') return word;
  if (dead > 0) return 'undelivered';
  return delayed > 0 || failingSince !== undefined ? 'retrying' : word;
}

/** The table of webhook endpoints. @param more columns of a table with acts */
export const webhookTable = (
  endpoints: readonly WebhookEndpointItem[],
  more: readonly Column<WebhookEndpointItem>[] = [],
): Html =>
  table({
    caption: 'Webhook endpoints',
    columns: [
      { name: 'Endpoint', cell: of => link('/webhooks', of.endpoint, { endpoint: of.endpoint }) },
      { name: 'Host', cell: of => of.host },
      { name: 'Status', cell: of => status(endpointStatus(of), of.reason) },
      { name: 'Waiting', isNumber: true, cell: of => of.waiting + of.underWay },
      { name: 'Retrying', isNumber: true, cell: of => countAs('retrying', of.delayed) },
      { name: 'Dead', isNumber: true, cell: of => countAs('undelivered', of.dead) },
      { name: 'Failing since (UTC)', cell: of => time(of.failingSince) },
      ...more,
    ],
    items: endpoints,
    empty: 'No webhook endpoints are configured.',
  });
