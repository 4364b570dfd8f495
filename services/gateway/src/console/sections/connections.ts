import { parseConnectionId } from '@postern/elicitation';
import { html } from '@postern/pages/html';
import { z } from 'zod';
import type { DisconnectTarget } from '../../admin/connection-search.ts';
import { act, type Plan } from '../acts.ts';
import { buttonTo, code, counted, facts, link, status, table, time, whole } from '../pages/parts.ts';
import { type ConsoleRoute, dateOf, field, filter, given, list, noMatch, PAGE, type Returned } from '../section.ts';
import { jobPath, targetFacts } from './jobs.ts';

/** Says what a disconnect would remove. */
export function disconnectPlan(
  { connections, people, notRevocable, isComplete, providers, owners }: Returned<'planDisconnect'>,
  { subject, since, ...names }: DisconnectTarget,
): Plan {
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

export const connections: readonly ConsoleRoute[] = [
  list({
    at: '/connections',
    query: z.object({
      mcpServer: field.name,
      provider: field.name,
      lost: given(z.enum(['yes', 'no'])),
      since: field.date,
      cursor: field.cursor,
    }),
    filters: [
      filter.mcpServer,
      filter.provider,
      {
        name: 'lost',
        label: 'Status',
        any: 'any status',
        choices: () => [
          { value: 'no', text: 'connected' },
          { value: 'yes', text: 'lost' },
        ],
      },
      { name: 'since', label: 'Renewed since (UTC)', type: 'date' },
    ],
    read: ({ admin, actor }, { mcpServer, provider, lost, since, cursor }) =>
      admin.connections(actor, {
        mcpServerId: mcpServer,
        provider,
        since: dateOf(since),
        isLost: lost === undefined ? undefined : lost === 'yes',
        cursor,
        limit: PAGE,
      }),
    caption: 'Connections, newest first',
    columns: () => [
      { name: 'Connection', cell: of => link(`/elicitations/${of.elicitationId}`, code(of.connectionId)) },
      { name: 'Status', cell: of => status(of.lost === undefined ? 'connected' : 'lost', of.lost?.reason) },
      { name: 'Provider', cell: of => of.provider },
      { name: 'Owner', cell: of => of.owner },
      { name: 'Scopes', cell: of => of.scopes.join(' ') || '–' },
      { name: 'Person (pseudonym)', cell: of => code(of.subject) },
      { name: 'Connected (UTC)', cell: of => time(of.connectedAt) },
      { name: 'Last use (UTC)', cell: of => time(of.lastUse?.at) },
    ],
    acts: of => link(`/connections/${of.connectionId}/disconnect`, html`Disconnect`),
    actsOnAll: ({ provider, mcpServer, since, lost }) =>
      (provider !== undefined || mcpServer !== undefined) && lost === undefined
        ? buttonTo('/disconnect', 'Disconnect all that match…', { provider, mcpServer, since })
        : html`<p class="soft">To disconnect many, filter by provider or MCP server, with any status.</p>`,
    empty: noMatch('Nothing'),
  }),

  act({
    path: '/disconnect',
    at: '/connections',
    title: 'Disconnect',
    values: z
      .strictObject({ provider: field.name, mcpServer: field.name, since: field.date.transform(dateOf) })
      .refine(({ provider, mcpServer }) => provider !== undefined || mcpServer !== undefined)
      .transform(({ mcpServer, ...rest }) => ({ ...rest, mcpServerId: mcpServer })),
    plan: async ({ admin, actor }, target) => disconnectPlan(await admin.planDisconnect(actor, target), target),
    perform: async ({ admin, actor }, target) => jobPath(await admin.startDisconnect(actor, target)),
  }),

  act({
    path: '/connections/:connectionId/disconnect',
    at: '/connections',
    title: 'Disconnect',
    values: z.strictObject({ connectionId: z.string().transform(parseConnectionId) }),
    async plan({ admin, actor }, { connectionId }) {
      if (connectionId === undefined) return undefined;
      const plan = await admin.planDisconnect(actor, { connectionId });
      return plan.connections === 0 ? undefined : disconnectPlan(plan, { connectionId });
    },
    perform: async ({ admin, actor }, { connectionId }) =>
      connectionId && jobPath(await admin.startDisconnect(actor, { connectionId })),
  }),
];
