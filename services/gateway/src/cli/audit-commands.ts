import { definedOnly, type Subject } from '@postern/elicitation';
import type { Actor } from '../admin/admin-audit.ts';
import { pseudonymsOf } from '../platform/audit/pseudonyms.ts';
import { loadConfig } from '../platform/config/load-config.ts';
import { instance } from '../platform/logger.ts';
import { type CliIo, type ExitCode, exitCodes, printable } from './cli-io.ts';
import { openAdmin } from './open-admin.ts';
import type { OpenStore } from './open-store.ts';

/**
 * `postern audit`: prints the audit trail of all replicas from Redis, one JSON object per line, oldest first. With `follow` it keeps
 * printing new events until it is interrupted.
 */
export async function audit(
  p: {
    readonly configPath: string;
    readonly follow: boolean;
    readonly subject: Subject | undefined;
    readonly mcpServerId: string | undefined;
    readonly since: Date | undefined;
    readonly actor: Actor;
  },
  io: CliIo,
): Promise<ExitCode> {
  const { follow, subject, mcpServerId, since } = p;
  await using opened = await openAdmin(p.configPath, io);
  if (!opened.store.config.audit.stream)
    io.err('audit.stream is off: Redis has the acts of operators only. All other events are in the log.\n');
  const lines = opened.admin.auditLines(p.actor, {
    ...{ follow, signal: io.signal },
    ...definedOnly({ subject, mcpServerId, since }),
  });
  for await (const line of lines) io.out(`${printable(line)}\n`);
  return io.signal.aborted ? exitCodes.interrupted : exitCodes.ok;
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
