import { type ElicitationId, parseElicitationId, shardIn } from '@postern/elicitation';
import type { LoggedEvent, RedisStores } from '@postern/store-redis';
import { CliError, type CliIo, type ExitCode, exitCodes } from './cli-io.ts';
import { type ElicitationReport, reportOf } from './elicitation-report.ts';
import { openStore } from './open-store.ts';
import { printable } from './printable.ts';
import { tableOf } from './table.ts';

const BATCH = 1000;

/** `postern elicitations show`. Reads the store and changes nothing. Ends with 1 when there is no such elicitation. */
export async function elicitationsShow(
  p: { readonly configPath: string; readonly json: boolean; readonly elicitationId: string },
  io: CliIo,
): Promise<ExitCode> {
  // The part of the URL after /e/ is what people can copy; the whole URL will do.
  const elicitationId = parseElicitationId(
    p.elicitationId.replace(/^https?:\/\/.*\/e\//, '').split(/[/?#]/, 1)[0] ?? '',
  );
  if (elicitationId === undefined) throw new CliError('That is not the id of an elicitation (el_…), nor its URL.');
  await using store = await openStore(p.configPath, io);
  const elicitation = await store.stores.elicitations.read(elicitationId);
  if (elicitation === undefined)
    throw new CliError('There is no such elicitation. What has ended is forgotten after a day; the log may know more.');
  const report = reportOf(elicitation, await eventsOf(store.stores, elicitationId), store.pseudonym);
  io.out(printable(p.json ? `${JSON.stringify(report)}\n` : textOf(report)));
  return exitCodes.fine;
}

/** Those that its shard still keeps, which are the newest of all its people. */
async function eventsOf({ events }: RedisStores, elicitationId: ElicitationId): Promise<readonly LoggedEvent[]> {
  const found: LoggedEvent[] = [];
  let after: string | undefined;
  while (true) {
    const read = await events.read(shardIn(elicitationId), { limit: BATCH, ...(after === undefined ? {} : { after }) });
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
    happened.length === 0 ? 'No event of it is kept any more.' : tableOf(['at', 'event', 'event id'], happened),
    '',
  ].join('\n');
}

function rowsOf(name: string, value: unknown): string[][] {
  if (Array.isArray(value)) return [[name, value.length === 0 ? '(none)' : value.join(', ')]];
  if (typeof value !== 'object' || value === null) return [[name, String(value)]];
  return Object.entries(value).flatMap(([member, inner]) => rowsOf(`${name}.${member}`, inner));
}
