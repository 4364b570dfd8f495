import { definedOnly, type ElicitationId, parseElicitationId, shardIn } from '@postern/elicitation';
import type { LoggedEvent, RedisStores } from '@postern/store-redis';
import { CliError, type CliIo, type ExitCode, exitCodes, printable, tableOf } from './cli-io.ts';
import { type ElicitationReport, reportOf } from './elicitation-report.ts';
import { openStore } from './open-store.ts';

const BATCH = 1000;

/** `postern elicitations show`: reads only. Exits with 1 if the elicitation does not exist. */
export async function elicitationsShow(
  p: { readonly configPath: string; readonly json: boolean; readonly elicitationId: string },
  io: CliIo,
): Promise<ExitCode> {
  // Accepts the id or the URL that a user sees.
  const elicitationId = parseElicitationId(
    p.elicitationId.replace(/^https?:\/\/.*\/e\//, '').split(/[/?#]/, 1)[0] ?? '',
  );
  if (elicitationId === undefined) throw new CliError('Not an elicitation id (el_…) or URL.');
  await using store = await openStore(p.configPath, io);
  const elicitation = await store.stores.elicitations.read(elicitationId);
  if (elicitation === undefined)
    throw new CliError(
      'Elicitation not found. Ended elicitations are deleted after a day; search the log for older ones.',
    );
  const report = reportOf(elicitation, await eventsOf(store.stores, elicitationId), store.pseudonym);
  io.out(printable(p.json ? `${JSON.stringify(report)}\n` : textOf(report)));
  return exitCodes.ok;
}

/** Reads the events that the shard still retains. */
async function eventsOf({ events }: RedisStores, elicitationId: ElicitationId): Promise<readonly LoggedEvent[]> {
  const found: LoggedEvent[] = [];
  let after: string | undefined;
  while (true) {
    const read = await events.read(shardIn(elicitationId), { limit: BATCH, ...definedOnly({ after }) });
    found.push(...read.filter(({ event }) => event.elicitationId === elicitationId));
    after = read.at(-1)?.position;
    if (after === undefined || read.length < BATCH) return found;
  }
}

function textOf({ events, ...facts }: ElicitationReport): string {
  const rows = Object.entries(facts).flatMap(([name, value]) => rowsOf(name, value));
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
  return Object.entries(value).flatMap(([member, inner]) => rowsOf(`${name}.${member}`, inner));
}
