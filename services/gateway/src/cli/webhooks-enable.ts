import { CliError, type CliIo, type ExitCode, exitCodes } from './cli-io.ts';
import { openWebhooks } from './open-webhooks.ts';

/** `postern webhooks enable`. The gateway sees it within seconds and goes on with what waits. */
export async function webhooksEnable(
  p: { readonly configPath: string; readonly endpoint: string },
  io: CliIo,
): Promise<ExitCode> {
  await using webhooks = await openWebhooks(p.configPath, io);
  if (!webhooks.endpoints.some(({ endpoint }) => endpoint.name === p.endpoint))
    throw new CliError('No such endpoint is configured: they are named <MCP server>.<id>, see postern webhooks list.');
  const wasDisabled = await webhooks.records.enable(p.endpoint);
  io.out(wasDisabled ? `${p.endpoint} is enabled.\n` : `${p.endpoint} was not disabled.\n`);
  return exitCodes.fine;
}
