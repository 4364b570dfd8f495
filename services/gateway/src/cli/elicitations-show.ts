import { parseElicitationId } from '@postern/elicitation';
import { type ElicitationReport, reportOf } from '../admin/elicitation-report.ts';
import { eventsOf } from '../admin/record-listing.ts';
import { CliError, type CliIo, type ExitCode, exitCodes, membersOf, tableOf } from './cli-io.ts';
import type { Command, Invocation } from './command.ts';
import { openStore, recordIn } from './open-store.ts';
import { actorOf } from './who-and-why.ts';

async function elicitationsShow(p: Invocation, io: CliIo): Promise<ExitCode> {
  const [named = ''] = p.args;
  const actor = actorOf(p.values);
  // Accepts the id or the URL that a user sees.
  const elicitationId = parseElicitationId(named.replace(/^https?:\/\/.*\/e\//, '').split(/[/?#]/, 1)[0] ?? '');
  if (elicitationId === undefined) throw new CliError('Not an elicitation id (el_…) or URL.');
  await using store = await openStore(p.configPath, io);
  const elicitation = await store.stores.elicitations.read(elicitationId);
  if (elicitation === undefined)
    throw new CliError(
      `Elicitation not found. Ended elicitations are deleted after retention.endedHours; for older ones: postern audit --elicitation ${elicitationId}`,
    );
  const { subject, mcpServerId } = elicitation;
  await recordIn(store)(actor, {
    event: 'admin.person_viewed',
    subject,
    what: 'elicitation',
    elicitationId,
    mcpServerId,
  });
  const report = reportOf(elicitation, await eventsOf(store.stores, elicitationId), store.pseudonym);
  io.out(p.json ? `${JSON.stringify(report)}\n` : textOf(report));
  return exitCodes.ok;
}

function textOf({ events, ...facts }: ElicitationReport): string {
  const rows = membersOf(facts).flatMap(([name, value]) => rowsOf(name, value));
  const happened = events.map(({ at, type, eventId }) => [at, type, eventId]);
  return [
    tableOf(['what', 'value'], rows),
    '',
    happened.length === 0 ? 'No events are retained.' : tableOf(['at', 'event', 'event id'], happened),
    '',
  ].join('\n');
}

function rowsOf(name: string, value: unknown): string[][] {
  if (Array.isArray(value)) return [[name, value.length === 0 ? '(none)' : value.join(', ')]];
  if (typeof value !== 'object' || value === null) return [[name, String(value)]];
  return membersOf(value).flatMap(([member, inner]) => rowsOf(`${name}.${member}`, inner));
}

export const elicitationsCommands: readonly Command[] = [
  {
    name: 'elicitations show',
    parameters: ['<id>'],
    about: 'print the status and history of an elicitation, without secrets or user input',
    options: { by: true, reason: true },
    json: 'document',
    changes: false,
    failure: 'the elicitation is not stored',
    run: elicitationsShow,
  },
];
