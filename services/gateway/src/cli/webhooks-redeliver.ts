import type { DeliveryQueue } from '../webhooks/delivery-queue.ts';
import { CliError, type CliIo, type ExitCode, exitCodes } from './cli-io.ts';
import { openWebhooks } from './open-webhooks.ts';

const BATCH = 100;

/** `postern webhooks redeliver`: one event, at every endpoint where it is dead, or all that are. */
export async function webhooksRedeliver(
  p: { readonly configPath: string; readonly eventId: string | undefined },
  io: CliIo,
): Promise<ExitCode> {
  await using webhooks = await openWebhooks(p.configPath, io);
  let redelivered = 0;
  for (const { endpoint, queue } of webhooks.endpoints) {
    const count = p.eventId === undefined ? await redeliverAll(queue, io) : Number(await queue.redeliver(p.eventId));
    redelivered += count;
    if (count > 0 && (await webhooks.records.read(endpoint.name)).disabled !== undefined)
      io.err(`${endpoint.name} is disabled: postern webhooks enable ${endpoint.name}\n`);
  }
  if (p.eventId !== undefined && redelivered === 0) throw new CliError('There is no dead delivery of that event.');
  io.out(`${redelivered} deliveries begin anew.\n`);
  return io.signal.aborted ? exitCodes.interrupted : exitCodes.fine;
}

/** Those there are now; what dies meanwhile stays for the next time. */
async function redeliverAll(queue: DeliveryQueue, io: CliIo): Promise<number> {
  let redelivered = 0;
  for (let left = (await queue.counts()).dead; left > 0 && !io.signal.aborted; left -= BATCH) {
    // The oldest are at the end of the list, and what is redelivered leaves it.
    const batch = await queue.dead({ start: Math.max(0, left - BATCH), limit: Math.min(BATCH, left) });
    const results = await Promise.all(batch.map(({ event }) => queue.redeliver(event.eventId)));
    redelivered += results.filter(Boolean).length;
  }
  return redelivered;
}
