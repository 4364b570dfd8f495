import { parseElicitationId } from '@postern/elicitation';
import { type AdminInput, type AdminOutput, completed, openDoor, stateOf, throughUrl } from './admin-door.ts';
import { CliError, type CliIo, counted, type ExitCode, exitCodes, membersOf, UsageError } from './cli-io.ts';
import { type Command, changingActor, type Invocation, sinceIn, subjectIn, whoAndWhy } from './command.ts';
import { operationCommand, tableWith } from './operation-command.ts';

type Job = AdminOutput<'getJob'>;
type Target = Omit<AdminInput<'startDisconnect'>['body'], 'since'>;

/** `postern people|providers|mcp-servers disconnect`: the gateway asks the providers to revoke the grants within seconds. */
const disconnecting = (targetOf: (p: Invocation) => Target) =>
  async function disconnect(p: Invocation, io: CliIo): Promise<ExitCode> {
    const [actor, since] = [changingActor(p), sinceIn(p)];
    const body = { ...targetOf(p), since: since?.toISOString() };
    await using door = await openDoor(p, io, { actor });
    if (p.dryRun) {
      const { person: subject, provider, mcpServerId } = body;
      const plan = await (door.local === undefined
        ? door.call('planDisconnect', { body })
        : door.local.admin.planDisconnect(actor, { subject, provider, mcpServerId, since }, { isComplete: true }));
      if (plan === undefined) throw new CliError('Not found.');
      const { connections, people, notRevocable } = plan;
      if (p.json) io.out(`${JSON.stringify({ dryRun: true, ...plan })}\n`);
      else io.out(`Would remove ${counted(connections, 'connection')} of ${counted(people, 'user')}.\n`);
      if (notRevocable > 0)
        io.err(`${counted(notRevocable, 'grant')} cannot be revoked: the provider is not configured any more.\n`);
      return exitCodes.ok;
    }
    const { job, code } = await completed(door, () => door.call('startDisconnect', { body }), {
      io,
      unknown: 'Not found.',
    });
    if (p.json) io.out(`${JSON.stringify({ dryRun: false, ...job })}\n`);
    else io.out(`Removed ${counted(job.done, 'connection')}.\n`);
    return code;
  };

const targetOf = ({ target }: Job) =>
  membersOf(target)
    .map(([member, value]) => `${member}=${value}`)
    .join(' ');

const textOf = (job: Job) =>
  membersOf({ ...job, target: targetOf(job), share: `${Math.floor(job.share * 100)} %` })
    .map(([member, value]) => `${member.padEnd(10)}  ${value}\n`)
    .join('');

const UNKNOWN = 'Unknown job. Ended jobs stay for 30 days.';

async function jobsCancel(p: Invocation, io: CliIo): Promise<ExitCode> {
  const actor = changingActor(p);
  const [jobId = ''] = p.args;
  const parameters = { jobId };
  await using door = await openDoor(p, io, { actor });
  const before = await door.call('getJob', { parameters });
  if (before === undefined) throw new CliError(UNKNOWN);
  if (before.endedAt !== undefined) throw new CliError(`The job has ended: ${stateOf(before)}.`);
  const job = p.dryRun ? before : ((await door.call('cancelJob', { parameters })) ?? before);
  if (p.json) io.out(`${JSON.stringify({ dryRun: p.dryRun, ...job })}\n`);
  else io.out(`${p.dryRun ? 'Would cancel' : 'Cancelled'} the job; ${job.done} of ${job.found} are done.\n`);
  return p.dryRun || job.status === 'cancelled' ? exitCodes.ok : exitCodes.failure;
}

async function elicitationsCancel(p: Invocation, io: CliIo): Promise<ExitCode> {
  const actor = changingActor(p);
  const elicitationId = parseElicitationId(p.args[0] ?? '');
  if (elicitationId === undefined) throw new CliError('Not an elicitation id (el_…).');
  const { dryRun } = p;
  await using door = await openDoor(p, io, { actor });
  if (dryRun && door.local === undefined) throw new UsageError('--dry-run needs the store, and has no --url.');
  const result = dryRun
    ? await door.local?.admin.cancelElicitation(actor, elicitationId, { dryRun })
    : (await door.call('cancelElicitation', { parameters: { elicitationId } }))?.result;
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
  options: { ...whoAndWhy, ...throughUrl, since },
  ...({ json: 'document', changes: true, canBeInterrupted: true } as const),
  failure: 'a stored connection has an unknown layout',
};

export const jobsCommands: readonly Command[] = [
  {
    ...disconnect,
    name: 'people disconnect',
    parameters: ['<issuer>', '<subject>'],
    about: 'remove all connections of a user; the gateway revokes their grants',
    run: disconnecting(p => ({ person: subjectIn(p) })),
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
  operationCommand({
    operation: 'listJobs',
    name: 'jobs list',
    about: 'list the jobs of operators: disconnects and redeliveries',
    input: () => ({ limit: 100 }),
    json: ({ items }) => ({ jobs: items }),
    text: ({ items }) =>
      items.length === 0
        ? 'No jobs.\n'
        : `${tableWith(
            [
              ['job', job => job.jobId],
              ['does', job => `${job.verb} ${targetOf(job)}`],
              ['status', stateOf],
              ['done', job => job.done],
              ['of', job => job.found],
              ['started at', job => job.createdAt],
              ['by', job => job.by],
            ],
            items,
          )}\n`,
    failure: 'a job has failed',
    isFault: ({ items }) => items.some(({ status }) => status === 'failed'),
  }),
  operationCommand({
    operation: 'getJob',
    name: 'jobs show',
    arguments: { '<id>': 'jobId' },
    about: 'print what a job does and how far it is',
    text: textOf,
    notFound: UNKNOWN,
    failure: 'the job has failed, or is unknown',
    isFault: ({ status }) => status === 'failed',
  }),
  {
    name: 'jobs cancel',
    parameters: ['<id>'],
    about: 'stop a job; what it has done stays done',
    options: { ...whoAndWhy, ...throughUrl },
    json: 'document',
    changes: true,
    failure: 'the job has ended, or is unknown',
    run: jobsCancel,
  },
  {
    name: 'elicitations cancel',
    parameters: ['<id>'],
    about: 'cancel an open elicitation for its MCP server',
    options: { ...whoAndWhy, ...throughUrl },
    json: 'document',
    changes: true,
    failure: 'the elicitation has ended, or its end is being decided',
    run: elicitationsCancel,
  },
];
