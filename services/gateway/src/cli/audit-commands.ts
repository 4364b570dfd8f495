import { setTimeout as delay } from 'node:timers/promises';
import { definedOnly, type Subject } from '@postern/elicitation';
import { pseudonymsOf } from '../platform/audit/pseudonyms.ts';
import { loadConfig } from '../platform/config/load-config.ts';
import { instance } from '../platform/logger.ts';
import { CliError, type CliIo, type ExitCode, exitCodes, printable } from './cli-io.ts';
import { type OpenStore, openStore } from './open-store.ts';

const BATCH = 500;
const PAUSE_MS = 500;

/**
 * `postern audit`: prints the audit trail of all replicas from Redis, one JSON object per line, oldest first. With `follow` it keeps
 * printing new events until it is interrupted.
 */
export async function audit(
  p: { readonly configPath: string; readonly follow: boolean },
  io: CliIo,
): Promise<ExitCode> {
  if (!loadConfig(p.configPath, io.env).audit.stream)
    throw new CliError('audit.stream is not configured: the audit trail is only in the log.');
  await using store = await openStore(p.configPath, io);
  let after: string | undefined;
  while (!io.signal.aborted) {
    const lines = await store.stores.audits.read({ limit: BATCH, ...definedOnly({ after }) });
    for (const { line } of lines) io.out(`${printable(line)}\n`);
    after = lines.at(-1)?.position ?? after;
    if (lines.length === BATCH) continue;
    if (!p.follow) return exitCodes.ok;
    await delay(PAUSE_MS, undefined, { signal: io.signal }).catch(() => undefined);
  }
  return exitCodes.interrupted;
}

/** `postern audit pseudonym`: prints the pseudonym of a user in the audit trail. Needs neither Redis nor the gateway. */
export function auditPseudonym(p: { readonly configPath: string; readonly subject: Subject }, io: CliIo): ExitCode {
  io.out(`${pseudonymsOf(loadConfig(p.configPath, io.env))(p.subject)}\n`);
  return exitCodes.ok;
}

/** Appends the audit event of an operator's command to the audit trail in Redis, if `audit.stream` is on. */
export async function auditByOperator(
  store: OpenStore,
  record: { readonly event: string; readonly [field: string]: string | number },
  message: string,
): Promise<void> {
  if (!store.config.audit.stream) return;
  const line = {
    level: 'warn',
    instance,
    time: new Date().toISOString(),
    audit: true,
    by: 'operator',
    ...record,
    message,
  };
  await store.stores.audits.append(JSON.stringify(line));
}
