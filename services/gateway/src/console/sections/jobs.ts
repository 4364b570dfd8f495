import { attributes, type Html, html } from '@postern/pages/html';
import { z } from 'zod';
import type { JobItem } from '../../admin/jobs.ts';
import { buttonTo, code, count, countAs, counted, facts, jobPath, link, status, time, whole } from '../pages/parts.ts';
import { act, type ConsoleRoute, details, list, PAGE } from '../section.ts';
import { targetFacts } from '../shown-records.ts';

const verbs: Readonly<Record<JobItem['verb'], string>> = { disconnect: 'Disconnect', redeliver: 'Redeliver webhooks' };

/** A redelivery is done once it has retried, which says nothing about the receiver. */
function jobStatus({ status: word, deliveries }: Pick<JobItem, 'status' | 'deliveries'>): string {
  if (word !== 'done' || deliveries === undefined) return word;
  if (deliveries.failedAgain > 0) return 'failed again';
  return deliveries.waiting > 0 ? 'waiting' : word;
}

/** What became of the deliveries that were retried. */
function deliveryTexts({ done, deliveries, endedAt }: JobItem): Html {
  if (deliveries === undefined) return html`${count(done)} done`;
  const { delivered, failedAgain, waiting } = deliveries;
  const waits =
    waiting > 0 && endedAt !== undefined
      ? html`<p class="warning">${count(waiting)} were not attempted yet: the endpoint is disabled or slow, or no gateway is running. They stay in the queue.</p>`
      : undefined;
  return html`${count(done)} retried: ${count(delivered)} delivered, ${countAs('failed again', failedAgain)} failed again, ${countAs('waiting', waiting)} not attempted yet${waits}`;
}

const percent = ({ share, endedAt }: JobItem) => (endedAt === undefined ? Math.floor(share * 100) : 100);

/** Of a job that has not ended. */
const LIVE_SECONDS = 2;

export const jobs: readonly ConsoleRoute[] = [
  list({
    at: '/jobs',
    query: z.object({}),
    about: html`<p class="soft">What changes many records runs as a job. A replica that stops leaves it to another one. Ended jobs stay for 30 days.</p>`,
    read: async ({ admin }) => ({ items: await admin.jobs({ limit: PAGE }) }),
    caption: 'Jobs, unfinished ones first',
    columns: () => [
      { name: 'Job', cell: of => link(`/jobs/${of.jobId}`, code(of.jobId)) },
      { name: 'Status', cell: of => status(jobStatus(of)) },
      { name: 'What', cell: of => verbs[of.verb] },
      {
        name: 'Target',
        cell: of =>
          html`${targetFacts(of.target).flatMap(([name, value]) => (value === undefined ? [] : [html`<span class="pair">${name}: ${value}</span> `]))}`,
      },
      { name: 'Done', isNumber: true, cell: of => of.done },
      { name: 'By', cell: of => of.by },
      { name: 'Reason', cell: of => of.reason },
      { name: 'Started (UTC)', cell: of => time(of.createdAt) },
      { name: 'Ended (UTC)', cell: of => time(of.endedAt) },
    ],
    empty: () => 'No jobs.',
  }),

  details({
    path: '/jobs/:jobId',
    at: '/jobs',
    values: z.object({ jobId: z.string() }),
    read: ({ admin }, { jobId }) => admin.job(jobId),
    title: ({ verb }) => verbs[verb],
    live: ({ endedAt }) => ({ seconds: endedAt === undefined ? LIVE_SECONDS : 0, reloads: true }),
    main: (job, { role }) => html`<p role="status">${status(jobStatus(job))}</p>
<div class="progress"><progress aria-label="Progress" max="100"${attributes({ value: percent(job) })}></progress> ${deliveryTexts(job)}</div>
${job.error === undefined ? undefined : html`<p class="warning">The last attempt failed: ${job.error}. A replica tries again.</p>`}
${job.unreadable === 0 ? undefined : html`<p class="warning">${count(job.unreadable)} records could not be read. They may be of a newer release.</p>`}
${facts([
  ['Job', whole(job.jobId)],
  ...targetFacts(job.target),
  ['Found', job.found],
  ['By', job.by],
  ['Door', job.door],
  ['Reason', job.reason],
  ['Started (UTC)', time(job.createdAt)],
  ['Changed (UTC)', time(job.updatedAt)],
  ['Ended (UTC)', time(job.endedAt)],
])}${role === 'operator' && job.endedAt === undefined ? buttonTo(`/jobs/${job.jobId}/stop`, 'Stop this job…') : undefined}`,
  }),

  act({
    path: '/jobs/:jobId/stop',
    at: '/jobs',
    title: 'Stop a job',
    values: z.strictObject({ jobId: z.string() }),
    async plan({ admin }, { jobId }) {
      const job = await admin.job(jobId);
      if (job === undefined) return undefined;
      const about = html`<p>${status(job.status)} ${job.verb}</p>${facts(targetFacts(job.target))}`;
      if (job.endedAt !== undefined) return { about, says: 'It has ended.' };
      const says = html`<p>${counted(job.done, 'record is', 'records are')} done. What is done stays done.</p>`;
      return { about, says, button: 'Stop this job' };
    },
    perform: async ({ admin, actor }, { jobId }) => jobPath(await admin.cancelJob(actor, jobId)),
  }),
];
