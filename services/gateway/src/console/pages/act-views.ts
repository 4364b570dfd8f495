import type { ConnectionId, Subject } from '@postern/elicitation';
import { type Html, html } from '@postern/pages/html';
import type { DisconnectPlan, ElicitationDetail, JobItem, WebhookEndpointItem } from '../admin-views.ts';
import type { ActView } from './act-page.ts';
import { targetFacts } from './job-pages.ts';
import type { SectionPath } from './layout.ts';
import { count, facts, status, table } from './parts.ts';

const plural = (number: number, one: string, many: string): Html =>
  html`<b>${number.toLocaleString('en-US')}</b> ${number === 1 ? one : many}`;

interface Target {
  readonly connectionId?: ConnectionId;
  readonly subject?: Subject;
  readonly provider?: string;
  readonly mcpServerId?: string;
  readonly since?: Date;
}

export function disconnectView(
  plan: DisconnectPlan,
  p: { readonly at: SectionPath; readonly target: Target },
): ActView {
  const { connections, people, notRevocable, isComplete } = plan;
  const { subject, since, ...names } = p.target;
  const about = facts([
    ['Issuer', subject && html`${subject.issuer}`],
    ['Subject', subject && html`<code class="whole">${subject.subject}</code>`],
    ...targetFacts({ ...names, since: since?.toISOString() }),
  ]);
  if (connections === 0 && isComplete)
    return { title: 'Disconnect', at: p.at, says: html`${about}<p class="empty">No connection matches.</p>` };
  const groups = plan.owners.filter(({ owner }) => owner.startsWith('group:'));
  return {
    title: 'Disconnect',
    at: p.at,
    button: connections === 1 ? 'Disconnect' : 'Disconnect all of them',
    says: html`${about}<p>This removes ${isComplete ? undefined : 'at least '}${plural(connections, 'connection', 'connections')} of ${plural(people, 'person', 'people')}, and revokes the tokens at the provider. Their next tool call asks them to connect again. This cannot be undone.</p>
${groups.length === 0 ? undefined : html`<p class="warning">A connection of a group is removed for every MCP server of the group.</p>`}
${notRevocable === 0 ? undefined : html`<p class="warning">${plural(notRevocable, 'connection is', 'connections are')} of a provider that is not configured. Their tokens cannot be revoked: revoke them at the provider.</p>`}
${table({
  caption: 'Connections by provider and owner',
  columns: [{ name: 'Provider or owner' }, { name: 'Connections', isNumber: true }],
  rows: [
    ...plan.providers.map(each => [html`${each.provider}`, count(each.connections)]),
    ...plan.owners.map(each => [html`${each.owner}`, count(each.connections)]),
  ],
  empty: 'No connections.',
})}`,
  };
}

export function signOutView({ found }: { readonly found: number }, subject: Subject): ActView {
  return {
    title: 'Sign a person out',
    at: '/people',
    button: 'Sign out everywhere',
    says: html`${facts([
      ['Issuer', html`${subject.issuer}`],
      ['Subject', html`<code class="whole">${subject.subject}</code>`],
    ])}<p>This ends ${plural(found, 'browser session', 'browser sessions')} of this person at this gateway, on every replica. It ends no session at the identity provider and no session of an MCP client.</p>`,
  };
}

export function cancelElicitationView(of: ElicitationDetail): ActView {
  const about = html`${facts([
    ['Elicitation', html`<code class="whole">${of.elicitationId}</code>`],
    ['Status', status(of.status)],
    ['Kind', html`${of.kind}`],
    ['MCP server', html`${of.mcpServerId}`],
  ])}`;
  if (of.endedAt !== undefined)
    return {
      title: 'Cancel an elicitation',
      at: '/elicitations',
      says: html`${about}<p class="empty">It has ended.</p>`,
    };
  return {
    title: 'Cancel an elicitation',
    at: '/elicitations',
    button: 'Cancel this elicitation',
    says: html`${about}<p>This ends one elicitation of one person. The waiting tool call of <b>${of.mcpServerId}</b> ends with <code>cancel</code>, and the link stops working. A payment or a verification that is under way decides first: then nothing is cancelled.</p>`,
  };
}

export function redeliverView({ endpoint, host, dead, delayed }: WebhookEndpointItem): ActView {
  const about = facts([
    ['Endpoint', html`${endpoint}`],
    ['Host', html`${host}`],
  ]);
  if (dead + delayed === 0)
    return {
      title: 'Redeliver webhooks',
      at: '/webhooks',
      says: html`${about}<p class="empty">No delivery has failed.</p>`,
    };
  return {
    title: 'Redeliver webhooks',
    at: '/webhooks',
    button: 'Redeliver all of them',
    says: html`${about}<p>This sends ${plural(dead, 'dead delivery', 'dead deliveries')} again, and ${plural(delayed, 'delivery that waits', 'deliveries that wait')} for the next attempt. The receiver may know an event already: its id stays the same.</p>`,
  };
}

export function enableEndpointView({
  endpoint,
  host,
  status: word,
  reason,
  waiting,
  delayed,
}: WebhookEndpointItem): ActView {
  const about = facts([
    ['Endpoint', html`${endpoint}`],
    ['Host', html`${host}`],
    ['Status', html`${status(word)}${reason === undefined ? undefined : html` <span class="soft">${reason}</span>`}`],
  ]);
  const view = { title: 'Enable a webhook endpoint', at: '/webhooks' as const };
  if (word === 'enabled') return { ...view, says: html`${about}<p class="empty">It is enabled.</p>` };
  return {
    ...view,
    button: 'Enable this endpoint',
    says: html`${about}<p>The gateway sends ${plural(waiting + delayed, 'waiting delivery', 'waiting deliveries')} within seconds or at their next attempt, and new ones from now on. Dead deliveries stay dead until you redeliver them. An endpoint that responds 410 again is disabled again.</p>`,
  };
}

export function stopJobView(job: JobItem): ActView {
  const about = html`<p>${status(job.status)} ${job.verb}</p>${facts(targetFacts(job.target))}`;
  if (job.endedAt !== undefined)
    return { title: 'Stop a job', at: '/jobs', says: html`${about}<p class="empty">It has ended.</p>` };
  return {
    title: 'Stop a job',
    at: '/jobs',
    button: 'Stop this job',
    says: html`${about}<p>${plural(job.done, 'record is', 'records are')} done. What is done stays done.</p>`,
  };
}
