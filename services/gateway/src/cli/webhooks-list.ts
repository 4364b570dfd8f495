import { type CliIo, type ExitCode, exitCodes } from './cli-io.ts';
import { openWebhooks } from './open-webhooks.ts';
import { tableOf } from './table.ts';

/** `postern webhooks list`. Ends with 1 when an endpoint is disabled or has dead deliveries. */
export async function webhooksList(
  p: { readonly configPath: string; readonly json: boolean },
  io: CliIo,
): Promise<ExitCode> {
  await using webhooks = await openWebhooks(p.configPath, io);
  const endpoints = await Promise.all(
    webhooks.endpoints.map(async ({ endpoint, queue }) => {
      const [{ disabled, failingSince }, counts] = await Promise.all([
        webhooks.records.read(endpoint.name),
        queue.counts(),
      ]);
      return {
        endpoint: endpoint.name,
        // The path may be a capability; the host is enough to know which it is.
        host: new URL(endpoint.url).host,
        status: disabled === undefined ? 'enabled' : 'disabled',
        ...(disabled === undefined ? {} : { reason: disabled.reason, disabledAt: new Date(disabled.at).toISOString() }),
        ...(failingSince === undefined ? {} : { failingSince: new Date(failingSince).toISOString() }),
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
  return isSound ? exitCodes.fine : exitCodes.trouble;
}
