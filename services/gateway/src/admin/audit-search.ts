import { setTimeout as delay } from 'node:timers/promises';
import { type AuditStreamName, isAuditPosition, type Stores, type Subject } from '@postern/elicitation';
import type { Pseudonyms } from '../platform/audit/audit-events.ts';
import type { Actor, RecordAct } from './admin-audit.ts';
import { giveWay } from './paced-reads.ts';
import { InvalidCursorError, type Page, type PageRequest } from './shard-lists.ts';

/** A line of the audit trail. */
export interface AuditItem {
  /** Place in the audit trail. */
  readonly position: string;
  readonly time: string;
  readonly event: string;
  /** The whole line, as it was logged. */
  readonly line: Readonly<Record<string, unknown>>;
}

export interface AuditQuery extends PageRequest {
  readonly subject?: Subject;
  readonly mcpServerId?: string;
  readonly elicitationId?: string;
  /** The key that a request was authenticated with, or that an operator changed. */
  readonly apiKeyId?: string;
  readonly event?: string;
  /** Value of any member of the line. */
  readonly anyMember?: string;
  readonly since?: Date;
  readonly until?: Date;
}

/** Lines that a page reads at most. */
const READ_PER_PAGE = 10_000;
/** Few, because the requests of users and MCP servers wait meanwhile. */
const READ_AT_ONCE = 25;
/** Of a command, which has a process of its own. */
const EXPORTED_AT_ONCE = 500;
/** Lines of one elicitation that its timeline shows at most. */
const TIMELINE = 200;

/** Parses a stored line. A line of another release is returned as far as it is known; text that is no JSON never gets here. */
function auditItem(position: string, text: string): AuditItem {
  const line: unknown = JSON.parse(text);
  if (typeof line !== 'object' || line === null) throw new TypeError('Not a line of the audit trail.');
  const fields = Object.fromEntries(Object.entries(line));
  const { time, event } = fields;
  return { position, time: String(time), event: String(event), line: fields };
}

/** What a line must be about. The pseudonym stands for the subject. */
type AuditFilter = Pick<AuditQuery, 'mcpServerId' | 'elicitationId' | 'apiKeyId' | 'event' | 'anyMember'> & {
  readonly pseudonym?: string | undefined;
};

/** Parses a stored line if it is about what the query names. Most lines that a search reads need no parsing for that. */
function matcher(q: AuditFilter): (position: string, text: string) => AuditItem | undefined {
  const isCandidate = mayMatch(q);
  return (position, text) => {
    if (!isCandidate(text)) return undefined;
    const item = auditItem(position, text);
    return matchesAudit(item, q) ? item : undefined;
  };
}

/**
 * Reads until `limit` lines match, the trail ends, or a page has read its share.
 * @param p.read the next lines
 * @param p.pass notes how far the trail was read
 */
async function pageOf<Line extends { readonly position: string; readonly line: string }>(
  q: AuditFilter & Pick<PageRequest, 'limit'>,
  p: { readonly read: () => Promise<readonly Line[]>; readonly pass: (line: Line) => void },
): Promise<{ readonly items: readonly AuditItem[]; readonly isAtEnd: boolean }> {
  const match = matcher(q);
  const items: AuditItem[] = [];
  for (let read = 0; read < READ_PER_PAGE; read += READ_AT_ONCE) {
    const lines = await p.read();
    for (const line of lines) {
      p.pass(line);
      const item = match(line.position, line.line);
      if (item === undefined) continue;
      items.push(item);
      if (items.length === q.limit) return { items, isAtEnd: false };
    }
    if (lines.length < READ_AT_ONCE) return { items, isAtEnd: true };
    await giveWay();
  }
  return { items, isAtEnd: false };
}

/** Tells without parsing that a stored line cannot match. */
function mayMatch({ pseudonym, event, ...ids }: AuditFilter): (text: string) => boolean {
  const named = [pseudonym, ids.mcpServerId, ids.elicitationId, ids.apiKeyId, event, ids.anyMember].filter(
    value => value !== undefined,
  );
  // As in the line, without the quotes.
  const wanted = named.map(value => JSON.stringify(value).slice(1, -1));
  return text => wanted.every(value => text.includes(value));
}

/** Whether a line is about what the query names. */
function matchesAudit({ event, line }: AuditItem, q: AuditFilter): boolean {
  return (
    (q.pseudonym === undefined || line['subject'] === q.pseudonym || line['visitor'] === q.pseudonym) &&
    (q.mcpServerId === undefined || line['mcpServerId'] === q.mcpServerId) &&
    (q.elicitationId === undefined || line['elicitationId'] === q.elicitationId) &&
    (q.apiKeyId === undefined || line['apiKeyId'] === q.apiKeyId) &&
    (q.anyMember === undefined || Object.values(line).includes(q.anyMember)) &&
    (q.event === undefined || event === q.event || event.startsWith(`${q.event}.`))
  );
}

/** How far each stream was read, as a cursor: `~` for one that was not. */
const cursorAt = (after: Places): string => auditStreams.map(stream => after[stream] ?? NOT_READ).join('.');
const NOT_READ = '~';
type Places = Partial<Record<AuditStreamName, string>>;
const auditStreams: readonly AuditStreamName[] = ['people', 'operators'];

/** @throws InvalidCursorError */
function placesAt(cursor: string): Places {
  const places = cursor.split('.');
  if (places.length !== auditStreams.length || !places.every(place => place === NOT_READ || isAuditPosition(place)))
    throw new InvalidCursorError('The cursor is not one that a page returned.');
  return Object.fromEntries(
    auditStreams.flatMap((stream, at) => (places[at] === NOT_READ ? [] : [[stream, places[at]]])),
  );
}

/** Searches the audit trail in Redis, newest first. */
export function createAuditSearch({ audits, pseudonym }: { audits: Stores['audits']; pseudonym: Pseudonyms }) {
  return async (q: AuditQuery): Promise<Page<AuditItem>> => {
    if (q.cursor !== undefined && !isAuditPosition(q.cursor))
      throw new InvalidCursorError('The cursor is not one that a page returned.');
    const of = { ...q, pseudonym: q.subject && pseudonym(q.subject) };
    let before = q.cursor;
    const { items, isAtEnd } = await pageOf(of, {
      read: () => audits.readBack({ limit: READ_AT_ONCE, before, since: q.since, until: q.until }),
      pass({ position }) {
        before = position;
      },
    });
    return isAtEnd ? { items } : { items, next: before };
  };
}

export type AuditSearch = ReturnType<typeof createAuditSearch>;

/** Pause before the end of the audit trail is read again. */
const FOLLOW_MS = 500;

/** The search as verbs: looking for a person is a view of that person's data. */
export function createAuditVerbs(p: {
  readonly search: AuditSearch;
  readonly record: RecordAct;
  readonly audits: Stores['audits'];
  readonly pseudonym: Pseudonyms;
  /** Whether the trail has the events of users and MCP servers too. */
  readonly hasUsers: boolean;
}) {
  async function recordSearch(actor: Actor, subject: Subject | undefined): Promise<void> {
    if (subject !== undefined) await p.record(actor, { event: 'admin.person_viewed', subject, what: 'audit' });
  }

  return {
    /** A page, newest first. */
    async audit(actor: Actor, q: AuditQuery): Promise<Page<AuditItem>> {
      await recordSearch(actor, q.subject);
      return p.search(q);
    },

    /** A page, oldest first, from a cursor on. It may be short, even empty, before the end. */
    async auditAfter(q: Omit<AuditQuery, 'subject' | 'anyMember' | 'until'>) {
      const after: Places = q.cursor === undefined ? {} : placesAt(q.cursor);
      const page = await pageOf(q, {
        read: () => p.audits.read({ limit: READ_AT_ONCE, after, since: q.since }),
        pass({ stream, position }) {
          after[stream] = position;
        },
      });
      return { ...page, next: cursorAt(after), hasUsers: p.hasUsers };
    },

    /** All matching lines, oldest first; `text` is the line as it was logged. With `follow`, waits for further lines until it is aborted. */
    async *auditLines(
      actor: Actor,
      q: Pick<AuditQuery, 'subject' | 'mcpServerId' | 'elicitationId' | 'apiKeyId' | 'event' | 'since'> & {
        readonly follow: boolean;
        readonly signal: AbortSignal;
      },
    ): AsyncGenerator<AuditItem & { readonly text: string }, void, undefined> {
      await recordSearch(actor, q.subject);
      const match = matcher({ ...q, pseudonym: q.subject && p.pseudonym(q.subject) });
      const after: Places = {};
      while (!q.signal.aborted) {
        const lines = await p.audits.read({ limit: EXPORTED_AT_ONCE, after, since: q.since });
        for (const { stream, position, line: text } of lines) {
          after[stream] = position;
          const item = match(position, text);
          if (item !== undefined) yield { ...item, text };
        }
        if (lines.length === EXPORTED_AT_ONCE) continue;
        if (!q.follow) return;
        await delay(FOLLOW_MS, undefined, { signal: q.signal }).catch(() => undefined);
      }
    },
  };
}

/** The newest lines about one elicitation, for its timeline. `isComplete` is false if the search ended before the elicitation was issued. */
export async function linesAbout(search: AuditSearch, q: { readonly elicitationId: string; readonly since: Date }) {
  const { items, next } = await search({ ...q, limit: TIMELINE });
  const lines = items.map(({ time, event, line }) => {
    const { requestId, level: _l, instance: _i, audit: _a, time: _t, event: _e, message: _m, ...detail } = line;
    const found = typeof requestId === 'string' ? requestId : undefined;
    return { at: time, source: 'audit' as const, name: event, requestId: found, detail };
  });
  return { lines, isComplete: next === undefined };
}
