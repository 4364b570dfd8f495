import { parseConnectionId } from '@postern/elicitation';
import { html } from '@postern/pages/html';
import { z } from 'zod';
import { buttonTo, code, jobPath, link, status, time } from '../pages/parts.ts';
import { act, type ConsoleRoute, dateOf, field, filter, list, noMatch, PAGE, unlessEmpty } from '../section.ts';
import { disconnectPlan } from '../shown-records.ts';

export const connections: readonly ConsoleRoute[] = [
  list({
    at: '/connections',
    query: z.object({
      mcpServer: field.name,
      provider: field.name,
      lost: unlessEmpty(z.enum(['yes', 'no'])),
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
