import { setTimeout as delay } from 'node:timers/promises';
import type { Subject } from '@postern/elicitation';
import { pseudonymsOf } from '../platform/audit/audit-log.ts';
import { ocsfEvent } from '../platform/audit/ocsf.ts';
import { loadConfig } from '../platform/config/load-config.ts';
import { hasRedis } from '../platform/config/redis-config.ts';
import { type AdminDoor, openDoor, throughUrl } from './admin-door.ts';
import { CliError, type CliIo, type ExitCode, exitCodes, UsageError } from './cli-io.ts';
import { actorOf, type Command, type Invocation, sinceIn, subjectIn } from './command.ts';

/**
 * `postern audit`: prints the stored audit trail of all replicas, one JSON object per line, oldest first: as it was logged, or as
 * events of OCSF. With `follow` it keeps printing new events until it is interrupted.
 */
async function audit(p: Invocation, io: CliIo): Promise<ExitCode> {
  const { follow = false, 'mcp-server': mcpServerId, elicitation: elicitationId, event, format = 'jsonl' } = p.values;
  const { 'api-key': apiKeyId } = p.values;
  if (format !== 'jsonl' && format !== 'ocsf') throw new UsageError('--format must be jsonl or ocsf.');
  const [subject, since, actor] = [subjectOf(p.values), sinceIn(p), actorOf(p.values)];
  const isRemote = p.values.url !== undefined;
  // In the query of a URL, a person would reach logs.
  if (isRemote && subject !== undefined)
    throw new UsageError('--issuer and --subject do not work with --url: search for the pseudonym with postern find.');
  if (follow && !isRemote && io.store === undefined && !hasRedis(loadConfig(p.configPath, io.env)))
    throw new CliError('--follow runs in the gateway, which holds store.file. No gateway runs: start it first.');
  await using door = await openDoor(p, io, { actor });
  const query = { mcpServerId, elicitationId, apiKeyId, event };
  const signal = AbortSignal.any([io.signal, ...(io.unread ? [io.unread] : [])]);
  let isWarned = false;
  const warnUnless = (hasUsers: boolean) => {
    if (!hasUsers && !isWarned)
      io.err('audit.stream is off: the store has the acts of operators only. All other events are in the log.\n');
    isWarned = true;
  };
  const { local } = door;
  if (local !== undefined) warnUnless(local.store.config.audit.stream);
  const lines =
    local === undefined
      ? remoteLines(door, { ...query, since: since?.toISOString() }, { follow, signal, onPage: warnUnless })
      : local.admin.auditLines(actor, { follow, signal, subject, ...query, since });
  for await (const { text, ...item } of lines)
    io.out(`${format === 'ocsf' ? JSON.stringify(ocsfEvent(item)) : text}\n`);
  return io.signal.aborted ? exitCodes.interrupted : exitCodes.ok;
}

/** Lines of a request to a running gateway, and the pause after it, in ms: a credential has 600 requests a minute. */
const REMOTE_LINES = 200;
const REMOTE_PAUSE_MS = 150;
/** Pause at the end of the trail, in ms. */
const FOLLOW_MS = 1_000;

async function* remoteLines(
  door: AdminDoor,
  query: Readonly<Record<string, string | undefined>>,
  p: { readonly follow: boolean; readonly signal: AbortSignal; readonly onPage: (hasUsers: boolean) => void },
) {
  let cursor: string | undefined;
  while (!p.signal.aborted) {
    const page = await door.callWith('readAudit', { ...query, cursor, limit: REMOTE_LINES });
    if (page === undefined) throw new CliError('This gateway has no audit trail to read.');
    p.onPage(page.hasUsers);
    for (const item of page.items) yield { ...item, text: JSON.stringify(item.line) };
    cursor = page.next;
    if (page.isAtEnd && !p.follow) return;
    await delay(page.isAtEnd ? FOLLOW_MS : REMOTE_PAUSE_MS, undefined, { signal: p.signal }).catch(() => undefined);
  }
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
      ...throughUrl,
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
