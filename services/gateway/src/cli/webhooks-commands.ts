import { type AdminDoor, type AdminOutput, completed, openDoor, throughUrl } from './admin-door.ts';
import { CliError, type CliIo, counted, type ExitCode, exitCodes, UsageError } from './cli-io.ts';
import { type Command, changingActor, type Invocation, whoAndWhy } from './command.ts';
import { type Column, operationCommand, tableWith } from './operation-command.ts';

const UNKNOWN_ENDPOINT =
  'Unknown endpoint. Endpoints are named <MCP server>.<id> or operator/<id>, see postern webhooks list.';

type Endpoint = AdminOutput<'listWebhookEndpoints'>['items'][number];

/** @throws CliError if there are none */
async function endpointsOf(door: AdminDoor): Promise<readonly Endpoint[]> {
  return named((await door.call('listWebhookEndpoints', {}))?.items ?? []);
}

/** @throws CliError if there are none */
function named(endpoints: readonly Endpoint[]): readonly Endpoint[] {
  if (endpoints.length === 0)
    throw new CliError('No webhooks are configured in mcpServers[].webhooks or operatorWebhooks.');
  return endpoints;
}

const isSound = ({ status, dead, failingSince }: Endpoint): boolean =>
  status === 'enabled' && dead === 0 && failingSince === undefined;

/** Maximum number of deliveries shown: of the store, and of one response. */
const SHOWN = 500;
const SHOWN_THROUGH_GATEWAY = 200;

type Delivery =
  | AdminOutput<'listRetryingDeliveries'>['items'][number]
  | AdminOutput<'listDeadDeliveries'>['items'][number];
const ofDeliveries: readonly Column<Delivery>[] = [
  ['event', of => of.eventId],
  ['endpoint', of => of.endpoint],
  ['type', of => of.type],
  ['reason', of => of.reason],
  ['attempts', of => of.attempts],
];

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
  await using door = await openDoor(p, io, { actor });
  const known = await endpointsOf(door);
  const endpoints = known.filter(({ endpoint }) => only === undefined || endpoint === only);
  if (endpoints.length === 0) throw new CliError(UNKNOWN_ENDPOINT);
  const warn = (endpoint: string) =>
    io.err(`${endpoint} is disabled: postern webhooks enable ${endpoint} --reason …\n`);
  let deliveries = 0;
  const ends = { delivered: 0, failedAgain: 0, waiting: 0 };
  let code: ExitCode = exitCodes.ok;
  if (eventId !== undefined) {
    const admin = door.local?.admin;
    if (admin === undefined) throw new UsageError('One event needs the store. With --url, name --endpoint or --all.');
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
    const { job, code: ended } = await completed(door, () => door.call('startRedelivery', { body: { endpoint } }), {
      io,
      unknown: UNKNOWN_ENDPOINT,
    });
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

export const webhooksCommands: readonly Command[] = [
  operationCommand({
    operation: 'listWebhookEndpoints',
    name: 'webhooks list',
    about: 'list the endpoints with their status and pending deliveries',
    json: ({ items }) => ({ endpoints: named(items) }),
    text: ({ items }) =>
      `${tableWith(
        [
          ['endpoint', of => of.endpoint],
          ['host', of => of.host],
          ['status', of => (of.reason === undefined ? of.status : `${of.status} (${of.reason})`)],
          ['failing since', of => of.failingSince],
          ['waiting', of => of.waiting + of.underWay],
          ['retrying', of => of.delayed],
          ['dead', of => of.dead],
        ],
        items,
      )}\n`,
    failure: 'an endpoint is disabled, has accepted nothing since a failure, or has dead deliveries',
    isFault: ({ items }) => !items.every(isSound),
  }),
  operationCommand({
    operation: 'listDeadDeliveries',
    name: 'webhooks dead',
    about: 'list failed deliveries with the reason',
    before: endpointsOf,
    input: () => ({ limit: SHOWN_THROUGH_GATEWAY }),
    local: async ({ admin }) => ({ items: [...(await admin.deadDeliveries({ limit: SHOWN }))] }),
    json: ({ items }) => ({ dead: items }),
    text: ({ items }) =>
      items.length === 0
        ? 'No dead deliveries.\n'
        : `${tableWith([...ofDeliveries, ['failed at', of => of.failedAt]], items)}\n`,
    failure: 'there are dead deliveries',
    isFault: ({ items }) => items.length > 0,
  }),
  operationCommand({
    operation: 'listRetryingDeliveries',
    name: 'webhooks retrying',
    about: 'list deliveries that wait for their next attempt, with the reason',
    before: endpointsOf,
    input: () => ({ limit: SHOWN_THROUGH_GATEWAY }),
    local: async ({ admin }) => ({ items: [...(await admin.retryingDeliveries({ limit: SHOWN }))] }),
    json: ({ items }) => ({ retrying: items }),
    text: ({ items }) =>
      items.length === 0
        ? 'No retrying deliveries.\n'
        : `${tableWith([...ofDeliveries, ['next attempt at', of => of.nextAt]], items)}\n`,
    failure: 'there are such deliveries',
    isFault: ({ items }) => items.length > 0,
  }),
  {
    name: 'webhooks redeliver',
    parameters: ['[event id]'],
    about: 'retry the failed deliveries of an event, of an endpoint, or with --all every one',
    options: {
      ...whoAndWhy,
      ...throughUrl,
      all: 'every failed delivery, dead or not',
      endpoint: 'every failed delivery of this endpoint',
    },
    json: 'document',
    changes: true,
    failure: 'the event has no dead delivery, a delivery failed again, or a job failed',
    canBeInterrupted: true,
    run: webhooksRedeliver,
  },
  operationCommand({
    operation: 'enableWebhookEndpoint',
    name: 'webhooks enable',
    arguments: { '<endpoint>': 'endpoint' },
    about: 'enable an endpoint that responded 410 or failed for 72 hours',
    notFound: UNKNOWN_ENDPOINT,
    json: ({ endpoint, wasDisabled }, { dryRun }) => ({ dryRun, endpoint, wasDisabled }),
    text({ endpoint, wasDisabled }, { dryRun }) {
      if (!wasDisabled) return `${endpoint} was not disabled.\n`;
      return dryRun ? `Would enable ${endpoint}.\n` : `${endpoint} is enabled.\n`;
    },
  }),
];
