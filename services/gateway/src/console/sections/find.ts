import { MAX_FIND_TEXT } from '@postern/api/admin';
import { type Html, html } from '@postern/pages/html';
import { z } from 'zod';
import type { FoundRecords, Hit } from '../../admin/find.ts';
import { csrfField } from '../console-guard.ts';
import { consolePage, type SignedInPage } from '../pages/layout.ts';
import { code, link, status, table, time } from '../pages/parts.ts';
import type { Role } from '../roles.ts';
import { type ConsoleRoute, forRole } from '../section.ts';
import { AUDIT_CAPTION, auditColumns } from '../shown-records.ts';

const form = z.strictObject({ csrf_token: csrfField, text: z.string().min(1).max(MAX_FIND_TEXT) });

const hitNames: Readonly<Record<Hit['what'], string>> = {
  elicitation: 'Elicitation',
  payment: 'Payment',
  connection: 'Connection',
  credential: 'Credential',
  job: 'Job',
  api_key: 'API key',
};

/** The id with a link to the page of the record. An elicitation is the page of one person. */
function hitLink({ what, id, elicitationId = id }: Hit, role: Role) {
  if (what === 'payment') return link(`/payments/${elicitationId}`, code(id));
  if (what === 'job') return link(`/jobs/${id}`, code(id));
  if (what === 'api_key') return link('/audit', code(id), { apiKey: id });
  return role === 'viewer' ? code(id) : link(`/elicitations/${elicitationId}`, code(id));
}

/** What else an operator can do about a text that leads nowhere. */
function notFoundNote({ asked, hits, lines }: FoundRecords): Html | undefined {
  if (asked === 'secret')
    return html`<p class="warning">That is a secret, not an id. The gateway neither searched nor logged it. It is no longer secret: revoke it.${hits.length > 0 ? ' It belongs to this API key:' : undefined}</p>`;
  if (asked === 'request_id' && lines.length === 0)
    return html`<p class="warning">The audit trail has no line of this request. Lines of people are there only while <code>audit.stream</code> is on, and of many error pages in a minute only some. The log of the replicas has them: search it for the number, in <code>requestId</code>.</p>`;
  if (hits.length + lines.length === 0)
    return html`<p class="empty">Nothing found. Elicitations are kept for <code>retention.endedHours</code> after their end. For a payment that is older, the processor has the id of its elicitation in its metadata.</p>`;
  return undefined;
}

/** Lines that are shown with all fields. */
const OPEN_LINES = 3;

function resultsOf(found: FoundRecords, role: Role): Html {
  const { hits, lines, isComplete } = found;
  const records = table({
    caption: 'Records',
    columns: [
      { name: 'What', cell: of => hitNames[of.what] },
      { name: 'Id', cell: of => hitLink(of, role) },
      { name: 'Status', cell: of => of.status && status(of.status) },
      { name: 'MCP server', cell: of => of.mcpServerId },
      { name: 'Since (UTC)', cell: of => time(of.at) },
    ],
    items: hits,
    empty: '',
  });
  const columns = auditColumns(lines.length <= OPEN_LINES);
  const trail = html`<h2>Audit trail</h2>${table({ caption: AUDIT_CAPTION, columns, items: lines, empty: '' })}`;
  const older = html`<p class="soft">There are older records or lines that the search has not read.</p>`;
  return html`${notFoundNote(found)}${hits.length === 0 ? undefined : records}${lines.length === 0 ? undefined : trail}${isComplete ? undefined : older}`;
}

/** Results do not repeat the text: it may be a secret. */
const findPage = (page: SignedInPage, found?: FoundRecords): string =>
  consolePage(page, {
    at: '/find',
    main: html`<p class="soft">By the number of an error page (<code>rq_…</code>), the id or link of an elicitation, the code in the app, a receipt number, a reference of an order or a payment processor, or a pseudonym. What you type is in no URL and no log.</p>${found && resultsOf(found, page.role)}`,
  });

export const find: readonly ConsoleRoute[] = [
  ({ app, admin, guard, pageFor }) => {
    app.get('/find', forRole('viewer'), async (request, reply) => reply.send(findPage(pageFor(request))));

    app.post('/find', forRole('viewer'), async (request, reply) => {
      const { text } = await guard.readForm(request, form);
      return reply.send(findPage(pageFor(request), await admin.find(text)));
    });
  },
];
