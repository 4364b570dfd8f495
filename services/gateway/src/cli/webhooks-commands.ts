import type { Actor } from '../admin/admin-audit.ts';
import type { AdminService } from '../admin/admin-service.ts';
import type { JobItem } from '../admin/jobs.ts';
import { CliError, type CliIo, counted, type ExitCode, exitCodes, tableOf, UsageError } from './cli-io.ts';
import { type Command, changingActor, type Invocation, whoAndWhy } from './command.ts';
import { completed } from './jobs-commands.ts';
import { openAdmin } from './open-admin.ts';

const UNKNOWN_ENDPOINT =
  'Unknown endpoint. Endpoints are named <MCP server>.<id> or operator/<id>, see postern webhooks list.';

/** @throws CliError if there are none */
function endpointsOf<Endpoint>(endpoints: readonly Endpoint[]): readonly Endpoint[] {
  if (endpoints.length === 0)
    throw new CliError('No webhooks are configured in mcpServers[].webhooks or operatorWebhooks.');
  return endpoints;
}

/** `postern webhooks list`: exits with 1 if an endpoint is disabled, fails, or has dead deliveries. */
async function webhooksList(p: Invocation, io: CliIo): Promise<ExitCode> {
  await using opened = await openAdmin(p.configPath, io);
  const endpoints = endpointsOf(await opened.admin.webhookEndpoints());
  if (p.json) io.out(`${JSON.stringify({ endpoints })}\n`);
  else {
    const rows = endpoints.map(({ endpoint, host, status, reason, failingSince, waiting, underWay, delayed, dead }) => [
      endpoint,
      host,
      reason === undefined ? status : `${status} (${reason})`,
      failingSince ?? '-',
      String(waiting + underWay),
      String(delayed),
      String(dead),
    ]);
    io.out(`${tableOf(['endpoint', 'host', 'status', 'failing since', 'waiting', 'retrying', 'dead'], rows)}\n`);
  }
  const isSound = endpoints.every(
    ({ status, dead, failingSince }) => status === 'enabled' && dead === 0 && failingSince === undefined,
  );
  return isSound ? exitCodes.ok : exitCodes.failure;
}

/** Maximum number of deliveries shown. */
const SHOWN = 500;

/** `postern webhooks dead`: exits with 1 if there are any. */
async function webhooksDead(p: Invocation, io: CliIo): Promise<ExitCode> {
  await using opened = await openAdmin(p.configPath, io);
  endpointsOf(await opened.admin.webhookEndpoints());
  const dead = await opened.admin.deadDeliveries({ limit: SHOWN });
  if (p.json) io.out(`${JSON.stringify({ dead })}\n`);
  else if (dead.length === 0) io.out('No dead deliveries.\n');
  else {
    const rows = dead.map(({ eventId, endpoint, type, reason, attempts, failedAt }) => [
      eventId,
      endpoint,
      type,
      reason,
      String(attempts),
      failedAt,
    ]);
    io.out(`${tableOf(['event', 'endpoint', 'type', 'reason', 'attempts', 'failed at'], rows)}\n`);
  }
  return dead.length === 0 ? exitCodes.ok : exitCodes.failure;
}

/** `postern webhooks retrying`: exits with 1 if there are any. */
async function webhooksRetrying(p: Invocation, io: CliIo): Promise<ExitCode> {
  await using opened = await openAdmin(p.configPath, io);
  endpointsOf(await opened.admin.webhookEndpoints());
  const retrying = await opened.admin.retryingDeliveries({ limit: SHOWN });
  if (p.json) io.out(`${JSON.stringify({ retrying })}\n`);
  else if (retrying.length === 0) io.out('No retrying deliveries.\n');
  else {
    const rows = retrying.map(({ eventId, endpoint, type, reason = '-', attempts, nextAt }) => [
      ...[eventId, endpoint, type, reason, String(attempts), nextAt],
    ]);
    io.out(`${tableOf(['event', 'endpoint', 'type', 'reason', 'attempts', 'next attempt at'], rows)}\n`);
  }
  return retrying.length === 0 ? exitCodes.ok : exitCodes.failure;
}

/**
 * `postern webhooks redeliver`: retries one event at every endpoint with a dead delivery of it, or everything that is dead or waits for its
 * next attempt, as a job for each endpoint.
 */
async function webhooksRedeliver(p: Invocation, io: CliIo): Promise<ExitCode> {
  const [actor, { dryRun }] = [changingActor(p), p];
  const [eventId] = p.args;
  const { all, endpoint: only } = p.values;
  if ([eventId, all, only].filter(given => given !== undefined).length !== 1)
    throw new UsageError('Name either an <event id>, --endpoint or --all.');
  await using opened = await openAdmin(p.configPath, io);
  const { admin } = opened;
  const known = endpointsOf(await admin.webhookEndpoints());
  const endpoints = known.filter(({ endpoint }) => only === undefined || endpoint === only);
  if (endpoints.length === 0) throw new CliError(UNKNOWN_ENDPOINT);
  const warn = (endpoint: string) =>
    io.err(`${endpoint} is disabled: postern webhooks enable ${endpoint} --reason …\n`);
  let deliveries = 0;
  const ends = { delivered: 0, failedAgain: 0, waiting: 0 };
  let code: ExitCode = exitCodes.ok;
  if (eventId !== undefined) {
    const dead = await admin.endpointsWithDead(eventId);
    if (dead.length === 0) throw new CliError('This event has no dead delivery.');
    deliveries = dryRun ? dead.length : (await admin.redeliver(actor, { eventId })).redelivered;
    for (const { endpoint, status } of endpoints) if (status === 'disabled' && dead.includes(endpoint)) warn(endpoint);
  }
  for (const { endpoint, status, dead, delayed } of eventId === undefined ? endpoints : []) {
    if (dead + delayed === 0 || code !== exitCodes.ok) continue;
    if (status === 'disabled') warn(endpoint);
    if (dryRun) {
      deliveries += dead + delayed;
      continue;
    }
    const { job, code: ended } = await completed(opened, () => started(admin, actor, endpoint), io);
    deliveries += job.done;
    ends.delivered += job.deliveries?.delivered ?? 0;
    ends.failedAgain += job.deliveries?.failedAgain ?? 0;
    ends.waiting += job.deliveries?.waiting ?? 0;
    code = ended;
  }
  const isJob = eventId === undefined && !dryRun;
  if (p.json) io.out(`${JSON.stringify({ dryRun, deliveries, ...(isJob ? ends : {}) })}\n`);
  else if (isJob)
    io.out(
      `Retried ${counted(deliveries, 'delivery', 'deliveries')}: ${ends.delivered} delivered, ${ends.failedAgain} failed again, ` +
        `${ends.waiting} not attempted yet.\n`,
    );
  else io.out(`${dryRun ? 'Would retry' : 'Retrying'} ${counted(deliveries, 'delivery', 'deliveries')}.\n`);
  return code === exitCodes.ok && ends.failedAgain > 0 ? exitCodes.failure : code;
}

async function started(admin: AdminService, actor: Actor, endpoint: string): Promise<JobItem> {
  const job = await admin.startRedelivery(actor, { endpoint });
  if (job === undefined) throw new CliError(UNKNOWN_ENDPOINT);
  return job;
}

/** `postern webhooks enable`: the gateway resumes the waiting deliveries within seconds. */
async function webhooksEnable(p: Invocation, io: CliIo): Promise<ExitCode> {
  const [actor, { dryRun }] = [changingActor(p), p];
  const [endpoint = ''] = p.args;
  await using opened = await openAdmin(p.configPath, io);
  const enabled = await opened.admin.enableWebhookEndpoint(actor, { endpoint, dryRun });
  if (enabled === undefined) throw new CliError(UNKNOWN_ENDPOINT);
  const { wasDisabled } = enabled;
  if (p.json) io.out(`${JSON.stringify({ dryRun, endpoint, wasDisabled })}\n`);
  else if (!wasDisabled) io.out(`${endpoint} was not disabled.\n`);
  else io.out(dryRun ? `Would enable ${endpoint}.\n` : `${endpoint} is enabled.\n`);
  return exitCodes.ok;
}

export const webhooksCommands: readonly Command[] = [
  {
    name: 'webhooks list',
    about: 'list the endpoints with their status and pending deliveries',
    json: 'document',
    changes: false,
    failure: 'an endpoint is disabled, has accepted nothing since a failure, or has dead deliveries',
    run: webhooksList,
  },
  {
    name: 'webhooks dead',
    about: 'list failed deliveries with the reason',
    json: 'document',
    changes: false,
    failure: 'there are dead deliveries',
    run: webhooksDead,
  },
  {
    name: 'webhooks retrying',
    about: 'list deliveries that wait for their next attempt, with the reason',
    json: 'document',
    changes: false,
    failure: 'there are such deliveries',
    run: webhooksRetrying,
  },
  {
    name: 'webhooks redeliver',
    parameters: ['[event id]'],
    about: 'retry the failed deliveries of an event, of an endpoint, or with --all every one',
    options: {
      ...whoAndWhy,
      all: 'every failed delivery, dead or not',
      endpoint: 'every failed delivery of this endpoint',
    },
    json: 'document',
    changes: true,
    failure: 'the event has no dead delivery, a delivery failed again, or a job failed',
    canBeInterrupted: true,
    run: webhooksRedeliver,
  },
  {
    name: 'webhooks enable',
    parameters: ['<endpoint>'],
    about: 'enable an endpoint that responded 410 or failed for 72 hours',
    options: whoAndWhy,
    json: 'document',
    changes: true,
    run: webhooksEnable,
  },
];
