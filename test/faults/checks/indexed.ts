import { terminalStatuses } from '@postern/api';
import type { EntryOf, HistoryEntry } from '../history-entry.ts';

export interface Call {
  readonly request: EntryOf<'request'>;
  /** Absent while the result of the request is unknown. */
  readonly response: EntryOf<'response'> | undefined;
}

/** An elicitation that an MCP server received with a 201. */
export interface Acknowledged {
  readonly elicitationId: string;
  readonly mcpServerId: string;
  readonly subject: string | undefined;
  readonly kind: string | undefined;
  /** Time of the acknowledgement. */
  readonly at: number;
}

/** An observation of an elicitation's status by any party, in any way. */
export interface Sighting {
  readonly elicitationId: string;
  readonly status: string;
  readonly outcome: string | undefined;
  /** The status applied at some time between these two. */
  readonly from: number;
  readonly to: number;
  readonly how: string;
  /** A read of the record, as opposed to an event or webhook that may be late. */
  readonly isReading: boolean;
}

export interface CheckedHistory {
  readonly entries: readonly HistoryEntry[];
  of<W extends HistoryEntry['what']>(what: W): readonly EntryOf<W>[];
  readonly calls: readonly Call[];
  readonly acknowledged: ReadonlyMap<string, Acknowledged>;
  /** By elicitation, ordered by the end of the observation. */
  readonly sightings: ReadonlyMap<string, readonly Sighting[]>;
}

const terminal: ReadonlySet<string> = new Set(terminalStatuses);
export const isTerminal = (status: string | undefined): status is string =>
  status !== undefined && terminal.has(status);
export const mcpServerOf = (who: string): string | undefined => /^mcp:(.+)$/.exec(who)?.[1];
export const personOf = (who: string): string | undefined => /^person:(.+)$/.exec(who)?.[1];

export function indexed(entries: readonly HistoryEntry[]): CheckedHistory {
  const byWhat = Map.groupBy(entries, ({ what }) => what);
  const of = <W extends HistoryEntry['what']>(what: W) => (byWhat.get(what) ?? []) as EntryOf<W>[];
  const responses = new Map(of('response').map(response => [response.call, response]));
  const calls = of('request').map(request => ({ request, response: responses.get(request.call) }));
  return { entries, of, calls, acknowledged: acknowledgedIn(calls), sightings: sightingsIn(calls, of) };
}

function acknowledgedIn(calls: readonly Call[]): Map<string, Acknowledged> {
  const known = new Map<string, Acknowledged>();
  for (const { request, response } of calls) {
    const mcpServerId = mcpServerOf(request.who);
    const { elicitationId } = response ?? {};
    if (request.op !== 'issue' || response?.http !== 201 || mcpServerId === undefined || elicitationId === undefined)
      continue;
    const earlier = known.get(elicitationId);
    if (earlier !== undefined && earlier.at <= response.at) continue;
    const { subject, kind } = request;
    known.set(elicitationId, { elicitationId, mcpServerId, subject, kind, at: response.at });
  }
  return known;
}

function sightingsIn(calls: readonly Call[], of: CheckedHistory['of']): ReadonlyMap<string, readonly Sighting[]> {
  const all: Sighting[] = [];
  for (const { request, response } of calls) {
    if (response?.status === undefined) continue;
    const elicitationId = response.elicitationId ?? request.elicitationId;
    // A repeated issue returns the first response, however old that is.
    if (elicitationId === undefined || request.op === 'issue') continue;
    const { status, outcome } = response;
    const how = `${request.op} at ${request.to}`;
    all.push({ elicitationId, status, outcome, from: request.at, to: response.at, how, isReading: true });
  }
  for (const announcement of [...of('event'), ...of('delivery')]) {
    const { elicitationId, status, at } = announcement;
    const how = announcement.what === 'event' ? `event ${announcement.position}` : `delivery ${announcement.eventId}`;
    all.push({ elicitationId, status, outcome: undefined, from: 0, to: at, how, isReading: false });
  }
  for (const { elicitationId, status, outcome, at, replica } of of('final'))
    if (status !== undefined)
      all.push({
        elicitationId,
        status,
        outcome,
        from: at,
        to: at,
        how: `final reading of ${replica}`,
        isReading: true,
      });
  return Map.groupBy(
    all.sort((one, other) => one.to - other.to),
    ({ elicitationId }) => elicitationId,
  );
}
