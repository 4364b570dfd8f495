import { html } from '@postern/pages/html';
import { z } from 'zod';
import { code, link, time } from '../pages/parts.ts';
import { type ConsoleRoute, field, filter, list, noMatch, PAGE } from '../section.ts';

export const credentials: readonly ConsoleRoute[] = [
  list({
    at: '/credentials',
    query: z.object({ mcpServer: field.name, cursor: field.cursor }),
    filters: [filter.mcpServer],
    about: html`<p class="soft">What people typed is sealed. The console never has a value.</p>`,
    read: ({ admin, actor }, { mcpServer, cursor }) =>
      admin.credentials(actor, { mcpServerId: mcpServer, cursor, limit: PAGE }),
    caption: 'Credentials, newest first',
    columns: () => [
      { name: 'Credential', cell: of => link(`/elicitations/${of.elicitationId}`, code(of.credentialId)) },
      { name: 'Name', cell: of => of.name },
      { name: 'Fields', cell: of => of.fields.join(', ') },
      { name: 'Owner', cell: of => of.owner },
      { name: 'Person (pseudonym)', cell: of => code(of.subject) },
      { name: 'Saved (UTC)', cell: of => time(of.savedAt) },
      { name: 'Last use (UTC)', cell: of => time(of.lastUse?.at) },
    ],
    empty: noMatch('Nothing'),
  }),
];
