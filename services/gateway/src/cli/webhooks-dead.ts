import { type CliIo, type ExitCode, exitCodes } from './cli-io.ts';
import { openWebhooks } from './open-webhooks.ts';
import { tableOf } from './table.ts';

/** Shown per endpoint, newest first. */
const SHOWN = 500;

/** `postern webhooks dead`. Ends with 1 when there are any. */
export async function webhooksDead(
  p: { readonly configPath: string; readonly json: boolean },
  io: CliIo,
): Promise<ExitCode> {
  await using webhooks = await openWebhooks(p.configPath, io);
  const found = await Promise.all(webhooks.endpoints.map(({ queue }) => queue.dead({ start: 0, limit: SHOWN })));
  const dead = found.flat().map(({ endpoint, event, reason, attempts, failedAt }) => ({
    eventId: event.eventId,
    endpoint,
    type: `elicitation.${event.status}`,
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
  return dead.length === 0 ? exitCodes.fine : exitCodes.trouble;
}
