import { parseElicitationId } from '@postern/elicitation';
import type { AdminOutput } from './admin-door.ts';
import { CliError, membersOf, tableOf } from './cli-io.ts';
import type { Command, Invocation } from './command.ts';
import { operationCommand } from './operation-command.ts';

/** Accepts the id or the URL that a user sees. @throws CliError */
function elicitationIdIn({ args: [named = ''] }: Invocation): string {
  const elicitationId = parseElicitationId(named.replace(/^https?:\/\/.*\/e\//, '').split(/[/?#]/, 1)[0] ?? '');
  if (elicitationId === undefined) throw new CliError('Not an elicitation id (el_…) or URL.');
  return elicitationId;
}

/** The command shows no person, and of the timeline only the events. */
function reportIn({ person: _p, isTimelineComplete: _c, timeline, ...report }: AdminOutput<'getElicitation'>) {
  const events = timeline
    .filter(({ source }) => source === 'event')
    .map(({ at, name, detail }) => ({ at, type: name, eventId: String(detail['eventId']) }));
  return { ...report, events };
}

function textOf(of: AdminOutput<'getElicitation'>): string {
  const { events, ...facts } = reportIn(of);
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
  operationCommand({
    operation: 'getElicitation',
    name: 'elicitations show',
    about: 'print the status and history of an elicitation, without secrets or user input',
    arguments: { '<id>': 'elicitationId' },
    input: p => ({ elicitationId: elicitationIdIn(p) }),
    isReasonOptional: true,
    json: reportIn,
    text: textOf,
    notFound: p =>
      `Elicitation not found. Ended elicitations are deleted after retention.endedHours; for older ones: postern audit --elicitation ${elicitationIdIn(p)}`,
    failure: 'the elicitation is not stored',
  }),
];
