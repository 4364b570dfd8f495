import { NotFoundError } from '@postern/elicitation';
import { type Html, html } from '@postern/pages/html';
import { z } from 'zod';
import type { WebhookEndpointItem } from '../../admin/overview.ts';
import { consolePage } from '../pages/layout.ts';
import {
  type Column,
  code,
  countAs,
  counted,
  facts,
  jobPath,
  link,
  linkTo,
  optional,
  status,
  table,
  time,
} from '../pages/parts.ts';
import { type Asking, act, type ConsoleRoute, field, forRole, PAGE, queryOf, type Returned } from '../section.ts';
import { endpointStatus, webhookTable } from '../shown-records.ts';

type DeliveryItem = Returned<'retryingDeliveries'>[number] | Returned<'deadDeliveries'>[number];

/** What an operator can do about an endpoint now. @internal */
export function endpointActs({ endpoint, status: word, dead, delayed }: WebhookEndpointItem): Html {
  const path = `/webhooks/${encodeURIComponent(endpoint)}`;
  const acts = [
    ...(word === 'disabled' ? [link(`${path}/enable`, html`Enable`)] : []),
    ...(dead + delayed > 0 ? [link(`${path}/redeliver`, html`Redeliver`)] : []),
  ];
  return acts.length === 0 ? optional(undefined) : html`<span class="pairs">${acts}</span>`;
}

/** What a reason means. A status of the response explains itself. */
const reasonTexts: Readonly<Record<string, string>> = {
  blocked: 'the address is not allowed',
  redirect: 'responded with a redirect',
  timeout: 'no response in time',
  unreachable: 'cannot connect',
  stopped: 'a replica stopped meanwhile',
  unreadable: 'of a newer release',
  internal: 'the log of the gateway has the reason',
};

const deliveryColumns: readonly Column<DeliveryItem>[] = [
  {
    name: 'Last failure',
    cell: ({ reason, httpStatus }) =>
      reason &&
      (httpStatus === undefined
        ? html`<b>${reason}</b> <span class="soft">${reasonTexts[reason]}</span>`
        : html`<b>${String(httpStatus)}</b> <span class="soft">HTTP status</span>`),
  },
  { name: 'Attempts', isNumber: true, cell: of => of.attempts },
  { name: 'Endpoint', cell: of => of.endpoint },
  { name: 'Event', cell: of => of.type },
  { name: 'Event id', cell: of => code(of.eventId) },
  {
    name: 'Elicitation',
    cell: ({ elicitationId }) => elicitationId && link(`/elicitations/${elicitationId}`, code(elicitationId)),
  },
];

const disabledTexts = { gone: 'the receiver responded 410', failing: 'every attempt failed for 72 hours' };

const endpointOf = async ({ admin }: Asking, endpoint: string) =>
  (await admin.webhookEndpoints()).find(each => each.endpoint === endpoint);

export const webhooks: readonly ConsoleRoute[] = [
  /** All endpoints, or one with the acts that are possible now, and their deliveries that failed. */
  ({ app, admin, pageFor }) => {
    app.get('/webhooks', forRole('viewer'), async (request, reply) => {
      const { endpoint } = queryOf(request, z.object({ endpoint: field.name }));
      const [endpoints, retrying, dead] = await Promise.all([
        admin.webhookEndpoints(),
        admin.retryingDeliveries({ endpoint, limit: PAGE }),
        admin.deadDeliveries({ endpoint, limit: PAGE }),
      ]);
      const of = endpoints.find(each => each.endpoint === endpoint);
      if (endpoint !== undefined && of === undefined) throw new NotFoundError();
      const page = pageFor(request);
      const isOperator = page.role === 'operator';
      const main =
        of === undefined
          ? webhookTable(endpoints, isOperator ? [{ name: 'Act', cell: endpointActs }] : [])
          : facts([
              ['Host', of.host],
              ['Status', status(endpointStatus(of))],
              ['Disabled because', of.reason && disabledTexts[of.reason]],
              ['Disabled (UTC)', time(of.disabledAt)],
              ['Failing since (UTC)', time(of.failingSince)],
              ['Waiting for the first attempt', of.waiting],
              ['Under way', of.underWay],
              ['Retrying', countAs('retrying', of.delayed)],
              ['Dead', countAs('undelivered', of.dead)],
              ['Act', isOperator ? endpointActs(of) : undefined],
            ]);
      return reply.send(
        consolePage(page, {
          at: '/webhooks',
          title: of?.endpoint,
          main: html`${main}
<h2>Retrying deliveries</h2>
${table({
  caption: 'Retrying deliveries, the soonest next attempt first',
  columns: [{ name: 'Next attempt (UTC)', cell: each => time(each.nextAt) }, ...deliveryColumns],
  items: retrying,
  empty: 'No delivery waits for another attempt.',
})}
<h2>Dead deliveries</h2>
${table({
  caption: 'Dead deliveries, newest first',
  columns: [{ name: 'Failed (UTC)', cell: each => time(each.failedAt) }, ...deliveryColumns],
  items: dead,
  empty: 'No delivery is dead.',
})}`,
        }),
      );
    });
  },

  act({
    path: '/webhooks/:endpoint/redeliver',
    at: '/webhooks',
    title: 'Redeliver webhooks',
    values: z.strictObject({ endpoint: z.string() }),
    async plan(asking, { endpoint }) {
      const of = await endpointOf(asking, endpoint);
      if (of === undefined) return undefined;
      const about = facts([
        ['Endpoint', of.endpoint],
        ['Host', of.host],
      ]);
      if (of.dead + of.delayed === 0) return { about, says: 'No delivery has failed.' };
      const says = html`<p>This sends ${counted(of.dead, 'dead delivery', 'dead deliveries')} again, and ${counted(of.delayed, 'delivery that waits', 'deliveries that wait')} for the next attempt. The receiver may know an event already: its id stays the same.</p>`;
      return { about, says, button: 'Redeliver all of them' };
    },
    perform: async ({ admin, actor }, { endpoint }) => jobPath(await admin.startRedelivery(actor, { endpoint })),
  }),

  act({
    path: '/webhooks/:endpoint/enable',
    at: '/webhooks',
    title: 'Enable a webhook endpoint',
    values: z.strictObject({ endpoint: z.string() }),
    async plan(asking, { endpoint }) {
      const of = await endpointOf(asking, endpoint);
      if (of === undefined) return undefined;
      const about = facts([
        ['Endpoint', of.endpoint],
        ['Host', of.host],
        ['Status', status(of.status, of.reason)],
      ]);
      if (of.status === 'enabled') return { about, says: 'It is enabled.' };
      const says = html`<p>The gateway sends ${counted(of.waiting + of.delayed, 'waiting delivery', 'waiting deliveries')} within seconds or at their next attempt, and new ones from now on. Dead deliveries stay dead until you redeliver them. An endpoint that responds 410 again is disabled again.</p>`;
      return { about, says, button: 'Enable this endpoint' };
    },
    async perform({ admin, actor }, { endpoint }) {
      const enabled = await admin.enableWebhookEndpoint(actor, { endpoint, dryRun: false });
      return enabled && linkTo('/webhooks', { endpoint }).toString();
    },
  }),
];
