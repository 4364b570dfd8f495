import { parseElicitationId } from '@postern/elicitation';
import type { DisconnectTarget } from '../admin/connection-search.ts';
import { type JobItem, TooManyJobsError } from '../admin/jobs.ts';
import { CliError, type CliIo, counted, type ExitCode, exitCodes, membersOf, printable, tableOf } from './cli-io.ts';
import { type Command, changingActor, type Invocation, sinceIn, subjectIn, whoAndWhy } from './command.ts';
import { type OpenAdmin, openAdmin } from './open-admin.ts';
import { createProgress } from './progress.ts';

/** Starts a job and works on it, unless a gateway is faster. An interrupted command leaves it to the gateway. */
export async function completed(
  { admin }: Pick<OpenAdmin, 'admin'>,
  start: () => Promise<JobItem>,
  io: CliIo,
): Promise<{ readonly job: JobItem; readonly code: ExitCode }> {
  const { jobId } = await start().catch((error: unknown) => {
    if (error instanceof TooManyJobsError)
      throw new CliError('100 jobs are unfinished. Is a gateway running? See postern jobs list.');
    throw error;
  });
  const progress = createProgress(io);
  const job = await admin.completeJob(jobId, {
    signal: io.signal,
    onProgress: ({ found, done }) => progress.count(`${found} found, ${done} done`, found),
  });
  progress.end();
  if (job === undefined) throw new CliError(`Job ${jobId} is gone from Redis.`);
  if (job.endedAt === undefined) {
    io.err(`Interrupted: a running gateway completes the job. To stop it: postern jobs cancel ${jobId}\n`);
    return { job, code: exitCodes.interrupted };
  }
  if (job.status !== 'done') io.err(`Job ${jobId}: ${stateOf(job)}\n`);
  return { job, code: job.status === 'done' ? exitCodes.ok : exitCodes.failure };
}

/** `postern people|providers|mcp-servers disconnect`: the gateway asks the providers to revoke the grants within seconds. */
const disconnecting = (targetOf: (p: Invocation) => DisconnectTarget) =>
  async function disconnect(p: Invocation, io: CliIo): Promise<ExitCode> {
    const [actor, target] = [changingActor(p), { ...targetOf(p), since: sinceIn(p) }];
    await using opened = await openAdmin(p.configPath, io);
    const { admin } = opened;
    if (p.dryRun) {
      const plan = await admin.planDisconnect(actor, target, { isComplete: true });
      const { connections, people, notRevocable } = plan;
      if (p.json) io.out(`${JSON.stringify({ dryRun: true, ...plan })}\n`);
      else io.out(`Would remove ${counted(connections, 'connection')} of ${counted(people, 'user')}.\n`);
      if (notRevocable > 0)
        io.err(`${counted(notRevocable, 'grant')} cannot be revoked: the provider is not configured any more.\n`);
      return exitCodes.ok;
    }
    const { job, code } = await completed(opened, () => admin.startDisconnect(actor, target), io);
    if (p.json) io.out(`${JSON.stringify({ dryRun: false, ...job })}\n`);
    else io.out(`Removed ${counted(job.done, 'connection')}.\n`);
    return code;
  };

/** Jobs that `postern jobs list` shows. */
const SHOWN = 100;

async function jobsList(p: Invocation, io: CliIo): Promise<ExitCode> {
  await using opened = await openAdmin(p.configPath, io);
  const jobs = await opened.admin.jobs({ limit: SHOWN });
  if (p.json) io.out(`${JSON.stringify({ jobs })}\n`);
  else if (jobs.length === 0) io.out('No jobs.\n');
  else io.out(printable(`${tableOf(['job', 'does', 'status', 'done', 'of', 'started at', 'by'], jobs.map(rowOf))}\n`));
  return jobs.some(({ status }) => status === 'failed') ? exitCodes.failure : exitCodes.ok;
}

const stateOf = ({ status, error }: JobItem) => (error === undefined ? status : `${status} (${error})`);

const targetOf = ({ target }: JobItem) =>
  membersOf(target)
    .map(([member, value]) => `${member}=${value}`)
    .join(' ');

const rowOf = (job: JobItem) => [
  ...[job.jobId, `${job.verb} ${targetOf(job)}`, stateOf(job)],
  ...[String(job.done), String(job.found), job.createdAt, job.by],
];

async function jobsShow(p: Invocation, io: CliIo): Promise<ExitCode> {
  await using opened = await openAdmin(p.configPath, io);
  const job = await jobNamed(p, opened);
  if (p.json) io.out(`${JSON.stringify(job)}\n`);
  else io.out(printable(textOf(job)));
  return job.status === 'failed' ? exitCodes.failure : exitCodes.ok;
}

const textOf = (job: JobItem) =>
  membersOf({ ...job, target: targetOf(job), share: `${Math.floor(job.share * 100)} %` })
    .map(([member, value]) => `${member.padEnd(10)}  ${value}\n`)
    .join('');

async function jobNamed({ args: [jobId = ''] }: Invocation, { admin }: OpenAdmin): Promise<JobItem> {
  const job = await admin.job(jobId);
  if (job === undefined) throw new CliError('Unknown job. Ended jobs stay for 30 days.');
  return job;
}

async function jobsCancel(p: Invocation, io: CliIo): Promise<ExitCode> {
  const actor = changingActor(p);
  await using opened = await openAdmin(p.configPath, io);
  const before = await jobNamed(p, opened);
  if (before.endedAt !== undefined) throw new CliError(`The job has ended: ${stateOf(before)}.`);
  const job = p.dryRun ? before : ((await opened.admin.cancelJob(actor, before.jobId)) ?? before);
  if (p.json) io.out(`${JSON.stringify({ dryRun: p.dryRun, ...job })}\n`);
  else io.out(`${p.dryRun ? 'Would cancel' : 'Cancelled'} the job; ${job.done} of ${job.found} are done.\n`);
  return p.dryRun || job.status === 'cancelled' ? exitCodes.ok : exitCodes.failure;
}

async function elicitationsCancel(p: Invocation, io: CliIo): Promise<ExitCode> {
  const actor = changingActor(p);
  const elicitationId = parseElicitationId(p.args[0] ?? '');
  if (elicitationId === undefined) throw new CliError('Not an elicitation id (el_…).');
  await using opened = await openAdmin(p.configPath, io);
  const { dryRun } = p;
  const result = await opened.admin.cancelElicitation(actor, elicitationId, { dryRun });
  if (result === undefined) throw new CliError('Elicitation not found, or no longer stored.');
  if (result === 'already_ended') throw new CliError('It had already ended.');
  if (result === 'being_decided')
    throw new CliError(
      'A payment processor or an application that verifies decides its end. Repeat the command later.',
    );
  if (p.json) io.out(`${JSON.stringify({ dryRun, elicitationId, result })}\n`);
  else io.out(dryRun ? 'Would cancel it.\n' : 'Cancelled.\n');
  return exitCodes.ok;
}

const since = 'only connections whose tokens were stored from then on, such as 2026-11-23';
const disconnect = {
  options: { ...whoAndWhy, since },
  ...({ json: 'document', changes: true, canBeInterrupted: true } as const),
  failure: 'a stored connection has an unknown layout',
};

export const jobsCommands: readonly Command[] = [
  {
    ...disconnect,
    name: 'people disconnect',
    parameters: ['<issuer>', '<subject>'],
    about: 'remove all connections of a user; the gateway revokes their grants',
    run: disconnecting(p => ({ subject: subjectIn(p) })),
  },
  {
    ...disconnect,
    name: 'providers disconnect',
    parameters: ['<name>'],
    about: 'remove the connections of all users at a provider',
    run: disconnecting(({ args: [provider = ''] }) => ({ provider })),
  },
  {
    ...disconnect,
    name: 'mcp-servers disconnect',
    parameters: ['<id>'],
    about: 'remove the connections that an MCP server, or its group, may use',
    run: disconnecting(({ args: [mcpServerId = ''] }) => ({ mcpServerId })),
  },
  {
    name: 'jobs list',
    about: 'list the jobs of operators: disconnects and redeliveries',
    json: 'document',
    changes: false,
    failure: 'a job has failed',
    run: jobsList,
  },
  {
    name: 'jobs show',
    parameters: ['<id>'],
    about: 'print what a job does and how far it is',
    json: 'document',
    changes: false,
    failure: 'the job has failed, or is unknown',
    run: jobsShow,
  },
  {
    name: 'jobs cancel',
    parameters: ['<id>'],
    about: 'stop a job; what it has done stays done',
    options: whoAndWhy,
    json: 'document',
    changes: true,
    failure: 'the job has ended, or is unknown',
    run: jobsCancel,
  },
  {
    name: 'elicitations cancel',
    parameters: ['<id>'],
    about: 'cancel an open elicitation for its MCP server',
    options: whoAndWhy,
    json: 'document',
    changes: true,
    failure: 'the elicitation has ended, or its end is being decided',
    run: elicitationsCancel,
  },
];
