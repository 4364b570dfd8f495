import { attributes, type Html, html } from '@postern/pages/html';
import type { JobItem } from '../admin-views.ts';
import { consolePage, type SignedInPage } from './layout.ts';
import { code, count, countAs, facts, linkTo, optional, status, table, time, timeOrNone } from './parts.ts';

type JobTarget = JobItem['target'];

/** What a job is about, member by member. */
export function targetFacts(target: JobTarget): readonly (readonly [string, Html | undefined])[] {
  const { connectionId, subject, provider, mcpServerId, endpoint, since } = target;
  return [
    ['Connection', connectionId === undefined ? undefined : html`<code class="whole">${connectionId}</code>`],
    ['Person (pseudonym)', subject === undefined ? undefined : html`<code class="whole">${subject}</code>`],
    ['Provider', provider === undefined ? undefined : html`${provider}`],
    ['MCP server', mcpServerId === undefined ? undefined : html`${mcpServerId}`],
    ['Endpoint', endpoint === undefined ? undefined : html`${endpoint}`],
    ['Since (UTC)', since === undefined ? undefined : time(since)],
  ];
}

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

export function jobsPage(page: SignedInPage, jobs: readonly JobItem[]): string {
  return consolePage(page, {
    title: 'Jobs',
    at: '/jobs',
    main: html`<p class="soft">What changes many records runs as a job. A replica that stops leaves it to another one. Ended jobs stay for 30 days.</p>${table(
      {
        caption: 'Jobs, unfinished ones first',
        columns: [
          { name: 'Job' },
          { name: 'Status' },
          { name: 'What' },
          { name: 'Target' },
          { name: 'Done', isNumber: true },
          { name: 'By' },
          { name: 'Reason' },
          { name: 'Started (UTC)' },
          { name: 'Ended (UTC)' },
        ],
        rows: jobs.map(job => [
          html`<a href="${linkTo(`/jobs/${job.jobId}`)}">${code(job.jobId)}</a>`,
          status(jobStatus(job)),
          html`${verbs[job.verb]}`,
          html`${targetFacts(job.target).flatMap(([name, value]) => (value === undefined ? [] : [html`<span class="pair">${name}: ${value}</span> `]))}`,
          count(job.done),
          html`${job.by}`,
          optional(job.reason),
          time(job.createdAt),
          timeOrNone(job.endedAt),
        ]),
        empty: 'No jobs.',
      },
    )}`,
  });
}

const LIVE_SECONDS = 2;

/** How a job stands. The page updates itself until the job has ended. */
export function jobPage(page: SignedInPage, job: JobItem): string {
  const { jobId, verb, found, unreadable, error, reason, endedAt } = job;
  const stop =
    page.role === 'operator' && endedAt === undefined
      ? html`<p><a class="button" href="${linkTo(`/jobs/${jobId}/stop`)}">Stop this job…</a></p>`
      : undefined;
  return consolePage(page, {
    title: verbs[verb],
    at: '/jobs',
    above: html`<nav class="trail" aria-label="You are here"><a href="${linkTo('/jobs')}">Jobs</a></nav>`,
    live: { seconds: endedAt === undefined ? LIVE_SECONDS : 0, reloads: true },
    main: html`<p role="status">${status(jobStatus(job))}</p>
<div class="progress"><progress aria-label="Progress" max="100"${attributes({ value: percent(job) })}></progress> ${deliveryTexts(job)}</div>
${error === undefined ? undefined : html`<p class="warning">The last attempt failed: ${error}. A replica tries again.</p>`}
${unreadable === 0 ? undefined : html`<p class="warning">${count(unreadable)} records could not be read. They may be of a newer release.</p>`}
${facts([
  ['Job', html`<code class="whole">${jobId}</code>`],
  ...targetFacts(job.target),
  ['Found', count(found)],
  ['By', html`${job.by}`],
  ['Door', html`${job.door}`],
  ['Reason', reason === undefined ? undefined : html`${reason}`],
  ['Started (UTC)', time(job.createdAt)],
  ['Changed (UTC)', time(job.updatedAt)],
  ['Ended (UTC)', endedAt === undefined ? undefined : time(endedAt)],
])}${stop}`,
  });
}
