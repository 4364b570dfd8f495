import type { Subject } from '@postern/elicitation';
import { ocsfEvent } from '../platform/audit/ocsf.ts';
import { pseudonymsOf } from '../platform/audit/pseudonyms.ts';
import { loadConfig } from '../platform/config/load-config.ts';
import { hasRedis } from '../platform/config/redis-config.ts';
import { CliError, type CliIo, type ExitCode, exitCodes, UsageError } from './cli-io.ts';
import { type Command, type Invocation, sinceIn, subjectIn } from './command.ts';
import { openAdmin } from './open-admin.ts';
import { actorOf } from './who-and-why.ts';

/**
 * `postern audit`: prints the stored audit trail of all replicas, one JSON object per line, oldest first: as it was logged, or as
 * events of OCSF. With `follow` it keeps printing new events until it is interrupted.
 */
async function audit(p: Invocation, io: CliIo): Promise<ExitCode> {
  const { follow = false, 'mcp-server': mcpServerId, elicitation: elicitationId, event, format = 'jsonl' } = p.values;
  const { 'api-key': apiKeyId } = p.values;
  if (format !== 'jsonl' && format !== 'ocsf') throw new UsageError('--format must be jsonl or ocsf.');
  const [subject, since, actor] = [subjectOf(p.values), sinceIn(p), actorOf(p.values)];
  if (follow && io.store === undefined && !hasRedis(loadConfig(p.configPath, io.env)))
    throw new CliError('--follow runs in the gateway, which holds store.file. No gateway runs: start it first.');
  await using opened = await openAdmin(p.configPath, io);
  if (!opened.store.config.audit.stream)
    io.err('audit.stream is off: the store has the acts of operators only. All other events are in the log.\n');
  const lines = opened.admin.auditLines(actor, {
    follow,
    signal: AbortSignal.any([io.signal, ...(io.unread ? [io.unread] : [])]),
    subject,
    mcpServerId,
    elicitationId,
    apiKeyId,
    event,
    since,
  });
  for await (const { text, ...item } of lines)
    io.out(`${format === 'ocsf' ? JSON.stringify(ocsfEvent(item)) : text}\n`);
  return io.signal.aborted ? exitCodes.interrupted : exitCodes.ok;
}

/** `postern audit pseudonym`: prints the pseudonym of a user in the audit trail. Needs neither Redis nor the gateway. */
async function auditPseudonym(p: Invocation, io: CliIo): Promise<ExitCode> {
  const pseudonym = pseudonymsOf(loadConfig(p.configPath, io.env))(subjectIn(p));
  io.out(p.json ? `${JSON.stringify({ pseudonym })}\n` : `${pseudonym}\n`);
  return exitCodes.ok;
}

/** Reads `--issuer` and `--subject`. @throws UsageError */
function subjectOf({ issuer, subject }: Invocation['values']): Subject | undefined {
  if (issuer === undefined && subject === undefined) return undefined;
  if (issuer === undefined || subject === undefined) throw new UsageError('--subject needs --issuer, and the reverse.');
  return { issuer, subject };
}

export const auditCommands: readonly Command[] = [
  {
    name: 'audit',
    about: 'print the stored audit trail, one JSON object per line, oldest first',
    options: {
      follow: true,
      format: true,
      issuer: true,
      subject: true,
      'mcp-server': true,
      since: true,
      event: true,
      elicitation: true,
      'api-key': true,
      by: true,
      reason: true,
    },
    json: 'lines',
    changes: false,
    canBeInterrupted: true,
    run: audit,
  },
  {
    name: 'audit pseudonym',
    parameters: ['<issuer>', '<subject>'],
    about: 'print the pseudonym of a user in the audit trail',
    json: 'document',
    changes: false,
    run: auditPseudonym,
  },
];
