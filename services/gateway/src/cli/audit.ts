import { setTimeout as delay } from 'node:timers/promises';
import { loadConfig } from '../config/load-config.ts';
import { CliError, type CliIo, type ExitCode, exitCodes } from './cli-io.ts';
import { openStore } from './open-store.ts';
import { printable } from './printable.ts';

const BATCH = 500;
const PAUSE_MS = 500;

/**
 * `postern audit`: the audit trail of all gateway processes as it stands in Redis, one JSON object per line, oldest first. With `follow`
 * it goes on with what comes, until it is stopped.
 */
export async function audit(
  p: { readonly configPath: string; readonly follow: boolean },
  io: CliIo,
): Promise<ExitCode> {
  if (!loadConfig(p.configPath, io.env).audit.stream)
    throw new CliError('audit.stream is not configured, so the audit trail is in the log alone.');
  await using store = await openStore(p.configPath, io);
  let after: string | undefined;
  while (!io.signal.aborted) {
    const lines = await store.stores.audits.read({ limit: BATCH, ...(after === undefined ? {} : { after }) });
    for (const { line } of lines) io.out(`${printable(line)}\n`);
    after = lines.at(-1)?.position ?? after;
    if (lines.length === BATCH) continue;
    if (!p.follow) return exitCodes.fine;
    await delay(PAUSE_MS, undefined, { signal: io.signal }).catch(() => undefined);
  }
  return exitCodes.interrupted;
}
