import { html } from '@postern/pages/html';
import { z } from 'zod';
import type { AuditItem } from '../../admin/audit-search.ts';
import { csrfField } from '../console-guard.ts';
import { linkTo } from '../pages/parts.ts';
import {
  type ConsoleRoute,
  dateOf,
  field,
  filter,
  forRole,
  type List,
  list,
  listPage,
  noMatch,
  PAGE,
  unlessEmpty,
} from '../section.ts';
import { AUDIT_CAPTION, auditColumns } from '../shown-records.ts';

/** Typed text that may get into a URL has a form that no secret has. */
const fields = {
  event: unlessEmpty(z.string().regex(/^[a-z_]{1,40}(?:\.[a-z_]{1,40})?$/)),
  mcpServer: field.name,
  apiKey: unlessEmpty(z.string().regex(/^ak_[\w-]{1,64}$/)),
  since: field.date,
  until: field.date,
};
const query = z.object({ ...fields, cursor: field.cursor });
const form = z.strictObject({ ...fields, apiKey: unlessEmpty(z.string().max(500)), csrf_token: csrfField });

const lines: List<z.infer<typeof query>, AuditItem> = {
  at: '/audit',
  query,
  filters: [
    { name: 'event', label: 'Event' },
    filter.mcpServer,
    { name: 'apiKey', label: 'API key (id)' },
    { name: 'since', label: 'From (UTC)', type: 'date' },
    { name: 'until', label: 'Before (UTC)', type: 'date' },
  ],
  filtersByPost: true,
  about: html`<p class="soft">What operators did is always here; events of people only while <code>audit.stream</code> is on.</p>`,
  read: ({ admin, actor }, { mcpServer, apiKey, since, until, ...rest }) =>
    admin.audit(actor, {
      ...rest,
      mcpServerId: mcpServer,
      apiKeyId: apiKey,
      since: dateOf(since),
      until: dateOf(until),
      limit: PAGE,
    }),
  caption: AUDIT_CAPTION,
  columns: () => auditColumns(),
  empty: noMatch('No line'),
};

export const audit: readonly ConsoleRoute[] = [
  list(lines),

  // Each member is checked before it is in a URL, and an API key that was pasted instead of its id never is.
  ({ app, admin, guard, pageFor, configured }) => {
    app.post('/audit', forRole('viewer'), async (request, reply) => {
      const { csrf_token: _, apiKey, ...rest } = await guard.readForm(request, form);
      const isId = query.safeParse({ apiKey }).success;
      const apiKeyId = isId || apiKey === undefined ? apiKey : await admin.apiKeyIdOf(apiKey);
      if (apiKey !== undefined && apiKeyId === undefined) {
        const notice = 'No API key has this id. The list of API keys has the ids.';
        return reply.code(422).send(listPage(pageFor(request), lines, configured, { query: rest, items: [], notice }));
      }
      return reply.redirect(linkTo('/audit', { ...rest, apiKey: apiKeyId }).toString(), 303);
    });
  },
];
