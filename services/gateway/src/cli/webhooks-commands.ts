import type { RedisStores } from '@postern/store-redis';
import type { DeliveryQueue } from '../events/webhooks/delivery-queue.ts';
import { openWebhookQueues, type WebhookQueues } from '../events/webhooks/webhook-queues.ts';
import { typeOf } from '../events/webhooks/webhook-request.ts';
import { CliError, type CliIo, type ExitCode, exitCodes, tableOf, UsageError } from './cli-io.ts';
import type { Command, Invocation } from './command.ts';
import { openStore } from './open-store.ts';
import { createProgress } from './progress.ts';

interface OpenWebhooks extends AsyncDisposable {
  readonly endpoints: WebhookQueues['all'];
  readonly records: RedisStores['webhookEndpoints'];
}

/** Opens the queues of the configured endpoints. @throws ConfigError, CliError, UnsafeRedisError, StoreUnavailableError */
async function openWebhooks(configPath: string, io: CliIo): Promise<OpenWebhooks> {
  await using stack = new AsyncDisposableStack();
  const store = stack.use(await openStore(configPath, io));
  const queues = stack.use(await openWebhookQueues({ ...store, onError: () => io.err('Redis does not respond.\n') }));
  if (queues.all.length === 0)
    throw new CliError('No webhooks are configured in mcpServers[].webhooks or operatorWebhooks.');
  const held = stack.move();
  return {
    endpoints: queues.all,
    records: store.stores.webhookEndpoints,
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

/** `postern webhooks list`: exits with 1 if an endpoint is disabled or has dead deliveries. */
async function webhooksList(p: Invocation, io: CliIo): Promise<ExitCode> {
  await using webhooks = await openWebhooks(p.configPath, io);
  const endpoints = await Promise.all(
    webhooks.endpoints.map(async ({ endpoint, queue }) => {
      const [{ disabled, failingSince }, counts] = await Promise.all([
        webhooks.records.read(endpoint.name),
        queue.counts(),
      ]);
      return {
        endpoint: endpoint.name,
        // The host only: the path may contain a secret.
        host: new URL(endpoint.url).host,
        status: disabled === undefined ? 'enabled' : 'disabled',
        reason: disabled?.reason,
        disabledAt: disabled && new Date(disabled.at).toISOString(),
        failingSince: failingSince === undefined ? undefined : new Date(failingSince).toISOString(),
        ...counts,
      };
    }),
  );
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
  const isSound = endpoints.every(({ status, dead }) => status === 'enabled' && dead === 0);
  return isSound ? exitCodes.ok : exitCodes.failure;
}

/** Maximum dead deliveries shown per endpoint, newest first. */
const SHOWN = 500;

/** `postern webhooks dead`: exits with 1 if there are any. */
async function webhooksDead(p: Invocation, io: CliIo): Promise<ExitCode> {
  await using webhooks = await openWebhooks(p.configPath, io);
  const found = await Promise.all(webhooks.endpoints.map(({ queue }) => queue.dead({ start: 0, limit: SHOWN })));
  const dead = found.flat().map(({ endpoint, event, reason, attempts, failedAt }) => ({
    eventId: event.eventId,
    endpoint,
    type: typeOf(event),
    reason,
    attempts,
    failedAt: new Date(failedAt).toISOString(),
  }));
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

const BATCH = 100;

/** `postern webhooks redeliver`: retries one event at every endpoint with a dead delivery of it, or all dead deliveries. */
async function webhooksRedeliver(p: Invocation, io: CliIo): Promise<ExitCode> {
  const { dryRun } = p;
  const [eventId] = p.args;
  if ((eventId === undefined) !== (p.values.all === true)) throw new UsageError('Name either an <event id> or --all.');
  await using webhooks = await openWebhooks(p.configPath, io);
  let deliveries = 0;
  for (const { endpoint, queue } of webhooks.endpoints) {
    let count: number;
    if (dryRun) count = eventId === undefined ? (await queue.counts()).dead : Number(await isDead(queue, eventId));
    else count = eventId === undefined ? await redeliverAll(queue, io) : Number(await queue.redeliver(eventId));
    deliveries += count;
    if (count > 0 && (await webhooks.records.read(endpoint.name)).disabled !== undefined)
      io.err(`${endpoint.name} is disabled: postern webhooks enable ${endpoint.name}\n`);
  }
  if (eventId !== undefined && deliveries === 0) throw new CliError('This event has no dead delivery.');
  if (p.json) io.out(`${JSON.stringify({ dryRun, deliveries })}\n`);
  else io.out(`${dryRun ? 'Would retry' : 'Retrying'} ${deliveries} deliveries.\n`);
  return io.signal.aborted ? exitCodes.interrupted : exitCodes.ok;
}

async function isDead(queue: DeliveryQueue, eventId: string): Promise<boolean> {
  const { dead } = await queue.counts();
  for (let start = 0; start < dead; start += BATCH)
    if ((await queue.dead({ start, limit: BATCH })).some(({ event }) => event.eventId === eventId)) return true;
  return false;
}

/** Retries the deliveries that are dead now, not those that die during the command. */
async function redeliverAll(queue: DeliveryQueue, io: CliIo): Promise<number> {
  const { dead } = await queue.counts();
  const progress = createProgress(io);
  let redelivered = 0;
  for (let left = dead; left > 0 && !io.signal.aborted; left -= BATCH) {
    // The oldest deliveries are at the end of the list. Redelivered ones leave it.
    const batch = await queue.dead({ start: Math.max(0, left - BATCH), limit: Math.min(BATCH, left) });
    const results = await Promise.all(batch.map(({ event }) => queue.redeliver(event.eventId)));
    redelivered += results.filter(Boolean).length;
    progress.at(Math.min(dead, dead - left + BATCH), dead);
  }
  progress.end();
  return redelivered;
}

/** `postern webhooks enable`: the gateway resumes the waiting deliveries within seconds. */
async function webhooksEnable(p: Invocation, io: CliIo): Promise<ExitCode> {
  const { dryRun } = p;
  const [endpoint = ''] = p.args;
  await using webhooks = await openWebhooks(p.configPath, io);
  if (!webhooks.endpoints.some(each => each.endpoint.name === endpoint))
    throw new CliError(
      'Unknown endpoint. Endpoints are named <MCP server>.<id> or operator/<id>, see postern webhooks list.',
    );
  const wasDisabled = dryRun
    ? (await webhooks.records.read(endpoint)).disabled !== undefined
    : await webhooks.records.enable(endpoint);
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
    failure: 'an endpoint is disabled, or has dead deliveries',
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
    name: 'webhooks redeliver',
    parameters: ['[event id]'],
    about: 'retry the failed deliveries of an event, or with --all every one',
    options: { all: 'every failed delivery' },
    json: 'document',
    changes: true,
    failure: 'the event has no dead delivery',
    canBeInterrupted: true,
    run: webhooksRedeliver,
  },
  {
    name: 'webhooks enable',
    parameters: ['<endpoint>'],
    about: 'enable an endpoint that responded 410 or failed for 72 hours',
    json: 'document',
    changes: true,
    run: webhooksEnable,
  },
];
