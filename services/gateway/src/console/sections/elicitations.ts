import { type Html, html, joinHtml } from '@postern/pages/html';
import { z } from 'zod';
import { buttonTo, type Fact, facts, link, status, time, valueHtml, whole } from '../pages/parts.ts';
import {
  act,
  type ConsoleRoute,
  details,
  field,
  filter,
  list,
  noMatch,
  PAGE,
  type Returned,
  unlessEmpty,
} from '../section.ts';
import { elicitationColumns, elicitationValues } from '../shown-records.ts';

type ElicitationDetail = Returned<'elicitation'>;

const kinds = ['authorization', 'payment', 'confirmation', 'credential', 'form'] as const;
const statuses = {
  open: ['pending', 'active', 'verifying'],
  ended: ['completed', 'declined', 'failed', 'cancelled', 'expired'],
} as const;

export const elicitations: readonly ConsoleRoute[] = [
  list({
    at: '/elicitations',
    query: z.object({
      phase: z.enum(['open', 'ended']).default('open'),
      status: unlessEmpty(z.enum([...statuses.open, ...statuses.ended])),
      kind: unlessEmpty(z.enum(kinds)),
      mcpServer: field.name,
      provider: field.name,
      cursor: field.cursor,
    }),
    filters: [
      { name: 'phase', label: 'Phase', choices: () => ['open', 'ended'] },
      { name: 'status', label: 'Status', any: 'any status', choices: ({ phase }) => statuses[phase] },
      { name: 'kind', label: 'Kind', any: 'any kind', choices: () => kinds },
      filter.mcpServer,
      filter.provider,
    ],
    read: ({ admin, actor }, { mcpServer, ...rest }) =>
      admin.elicitations(actor, { ...rest, mcpServerId: mcpServer, limit: PAGE }),
    caption: 'Elicitations, newest first',
    columns: ({ phase }) => elicitationColumns(phase),
    empty: noMatch('No elicitation'),
  }),

  details({
    path: '/elicitations/:elicitationId',
    at: '/elicitations',
    values: elicitationValues,
    showsPerson: true,
    read: async ({ admin, actor }, { elicitationId }) => elicitationId && admin.elicitation(actor, elicitationId),
    title: ({ elicitationId }) => `Elicitation ${elicitationId.slice(0, 12)}…`,
    main: (of, { role }) => html`<p>${status(of.status)} ${of.kind} of <b>${of.mcpServerId}</b></p>
${of.kind === 'payment' ? html`<p>${link(`/payments/${of.elicitationId}`, html`Payment, refunds and disputes`)}</p>` : undefined}
${role === 'operator' && of.endedAt === undefined ? buttonTo(`/elicitations/${of.elicitationId}/cancel`, 'Cancel this elicitation…') : undefined}
<div class="two">
<section aria-labelledby="timeline"><h2 id="timeline">Timeline (UTC)</h2>${timelineOf(of)}</section>
<section aria-labelledby="facts"><h2 id="facts">Facts</h2>
${facts(factsOf(of))}</section>
</div>`,
  }),

  act({
    path: '/elicitations/:elicitationId/cancel',
    at: '/elicitations',
    title: 'Cancel an elicitation',
    values: elicitationValues,
    async plan({ admin, actor }, { elicitationId }) {
      const of = elicitationId && (await admin.elicitation(actor, elicitationId));
      if (of === undefined) return undefined;
      const about = facts([
        ['Elicitation', whole(of.elicitationId)],
        ['Status', status(of.status)],
        ['Kind', of.kind],
        ['MCP server', of.mcpServerId],
      ]);
      if (of.endedAt !== undefined) return { about, says: 'It has ended.' };
      const says = html`<p>This ends one elicitation of one person. The waiting tool call of <b>${of.mcpServerId}</b> ends with <code>cancel</code>, and the link stops working. A payment or a verification that is under way decides first: then nothing is cancelled.</p>`;
      return { about, says, button: 'Cancel this elicitation' };
    },
    async perform({ admin, actor }, { elicitationId }) {
      const end = elicitationId && (await admin.cancelElicitation(actor, elicitationId));
      return end && `/elicitations/${elicitationId}`;
    },
  }),
];

const factsOf = (of: ElicitationDetail): readonly Fact[] => [
  ['Elicitation', whole(of.elicitationId)],
  ['Match code', of.matchCode],
  ['Issuer', of.person.issuer],
  ['Subject', whole(of.person.subject)],
  ['Pseudonym', whole(of.subject)],
  ['Identity mode', of.identityMode],
  ['Asked by', of.claimedToBeAskedBy && valueHtml(of.claimedToBeAskedBy)],
  ['Issued', time(of.createdAt)],
  ['Expires', time(of.expiresAt)],
  ['Ended', time(of.endedAt)],
  ...Object.entries(of.asked).map(
    ([name, value]) => [`Asked: ${wordsOf(name)}`, value === undefined ? undefined : valueHtml(value)] as const,
  ),
  ...resultOf(of),
];

const shownAlready: ReadonlySet<string> = new Set([
  ...['elicitationId', 'matchCode', 'kind', 'status', 'mcpServerId', 'claimedToBeAskedBy', 'subject', 'identityMode'],
  ...['createdAt', 'expiresAt', 'endedAt', 'version', 'asked', 'person', 'timeline', 'isTimelineComplete'],
]);

/** How it ended, or how its current attempt stands: members that depend on kind and status. */
const resultOf = (of: ElicitationDetail): readonly Fact[] =>
  Object.entries(of)
    .filter(([name, value]) => !shownAlready.has(name) && value !== undefined)
    .map(([name, value]) => {
      const words = wordsOf(name);
      return [`${words.charAt(0).toUpperCase()}${words.slice(1)}`, valueHtml(value)];
    });

/** `insistsOnAccount` as `insists on account`. */
const wordsOf = (name: string) => name.replaceAll(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`);

function timelineOf({ timeline, isTimelineComplete }: ElicitationDetail): Html {
  const entries = timeline.map(entry => {
    const requestId = 'requestId' in entry ? entry.requestId : undefined;
    const request = requestId === undefined ? undefined : html`<p class="soft">request <code>${requestId}</code></p>`;
    const detail = Object.entries(entry.detail).filter(
      ([name, value]) => value !== undefined && !['elicitationId', 'mcpServerId', 'subject'].includes(name),
    );
    const more =
      detail.length === 0
        ? undefined
        : html`<details><summary>Details</summary>${facts(detail.map(([name, value]) => [name, valueHtml(value)]))}</details>`;
    return html`<li>${time(entry.at)}<p><b>${entry.name}</b> <span class="source">${entry.source}</span></p>${request}${more}</li>`;
  });
  const events =
    entries.length === 0
      ? html`<p class="empty">No events are retained.</p>`
      : html`<ol class="timeline">${joinHtml(entries)}</ol>`;
  const incomplete = html`<p class="soft">The audit trail has more lines than this page reads. <code>postern audit --mcp-server</code> reads all.</p>`;
  return html`${events}${isTimelineComplete ? undefined : incomplete}`;
}
