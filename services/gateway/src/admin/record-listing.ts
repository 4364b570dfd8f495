import {
  type Connection,
  type Elicitation,
  type ElicitationId,
  type ElicitationStatus,
  isSameSubject,
  isTerminal,
  type Kind,
  type ListEntry,
  type LoggedEvent,
  parseConnectionId,
  parseCredentialId,
  parseElicitationId,
  type Stores,
  type Subject,
  shardIn,
  shardOf,
} from '@postern/elicitation';
import type { RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import { paymentsOf } from '../payments/refunds.ts';
import type { Pseudonyms } from '../platform/audit/audit-events.ts';
import type { Actor, RecordAct } from './admin-audit.ts';
import { type AuditSearch, linesAbout } from './audit-search.ts';
import { ownerOf } from './connection-search.ts';
import { reportOf } from './elicitation-report.ts';
import { giveWay } from './paced-reads.ts';
import { connectionItem, credentialItem, elicitationItem, paymentItem } from './record-items.ts';
import { type PageRequest, pageOf } from './shard-lists.ts';

export interface ElicitationQuery extends PageRequest {
  readonly phase: 'open' | 'ended';
  readonly kind?: Kind;
  readonly status?: ElicitationStatus;
  readonly mcpServerId?: string;
  readonly provider?: string;
  readonly subject?: Subject;
}

export interface ConnectionQuery extends PageRequest {
  readonly mcpServerId?: string;
  readonly provider?: string;
  /** Connections whose tokens were stored at this time or later. */
  readonly since?: Date;
  readonly isLost?: boolean;
  readonly subject?: Subject;
}

export interface OwnedQuery extends PageRequest {
  readonly mcpServerId?: string;
  readonly subject?: Subject;
}

export interface RecordListingDeps {
  readonly stores: Pick<Stores, 'lists' | 'elicitations' | 'connections' | 'credentials' | 'events' | 'payments'>;
  readonly mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  readonly pseudonym: Pseudonyms;
  readonly record: RecordAct;
  readonly auditSearch: AuditSearch;
}

const EVENTS_AT_ONCE = 25;

/** Reads the events of an elicitation that its shard still has, oldest first. */
async function eventsOf(
  { events }: Pick<Stores, 'events'>,
  elicitationId: ElicitationId,
): Promise<readonly LoggedEvent[]> {
  const found: LoggedEvent[] = [];
  let after: string | undefined;
  while (true) {
    const read = await events.read(shardIn(elicitationId), { limit: EVENTS_AT_ONCE, after });
    found.push(...read.filter(({ event }) => event.elicitationId === elicitationId));
    after = read.at(-1)?.position;
    if (after === undefined || read.length < EVENTS_AT_ONCE) return found;
    await giveWay();
  }
}

/** Lists of records, and one elicitation in full. */
export function createRecordListing({ stores, mcpServers, pseudonym, record, auditSearch }: RecordListingDeps) {
  /** A list without a person shows pseudonyms only. A search for a person is a view of that person's data. */
  async function scopeOf(actor: Actor, list: string, subject: Subject | undefined) {
    if (subject === undefined) return {};
    await record(actor, { event: 'admin.person_viewed', subject, what: list });
    return { shards: [shardOf(subject)] };
  }

  function isOwnedBy({ owner }: Pick<Connection, 'owner'>, mcpServerId: string): boolean {
    return owner === ownerOf(mcpServers, mcpServerId);
  }

  async function elicitationAt({ id }: ListEntry): Promise<Elicitation | undefined> {
    const elicitationId = parseElicitationId(id);
    return elicitationId === undefined ? undefined : stores.elicitations.read(elicitationId);
  }

  function matches(of: Elicitation, q: Partial<ElicitationQuery>): boolean {
    return (
      (q.kind === undefined || of.request.kind === q.kind) &&
      (q.status === undefined || of.status === q.status) &&
      (q.mcpServerId === undefined || of.mcpServerId === q.mcpServerId) &&
      (q.subject === undefined || isSameSubject(of.subject, q.subject))
    );
  }

  return {
    async elicitations(actor: Actor, q: ElicitationQuery) {
      const scope = await scopeOf(actor, 'elicitations', q.subject);
      return pageOf(stores.lists, {
        ...scope,
        ...q,
        list: q.phase,
        async read(entry) {
          const of = await elicitationAt(entry);
          // The record may have ended since its entry was read.
          if (of === undefined || isTerminal(of) !== (q.phase === 'ended') || !matches(of, q)) return undefined;
          const item = elicitationItem(of, pseudonym);
          return q.provider === undefined || item.provider === q.provider ? item : undefined;
        },
      });
    },

    async payments(actor: Actor, q: OwnedQuery & Pick<ElicitationQuery, 'phase'>) {
      const scope = await scopeOf(actor, 'payments', q.subject);
      return pageOf(stores.lists, {
        ...scope,
        ...q,
        list: q.phase,
        async read(entry) {
          const of = await elicitationAt(entry);
          const isListed = of !== undefined && isTerminal(of) === (q.phase === 'ended') && matches(of, q);
          if (!isListed || of.request.kind !== 'payment') return undefined;
          return paymentItem(of, await paymentsOf(stores.payments, of.elicitationId), pseudonym);
        },
      });
    },

    async connections(actor: Actor, q: ConnectionQuery) {
      const scope = await scopeOf(actor, 'connections', q.subject);
      return pageOf(stores.lists, {
        ...scope,
        ...q,
        list: 'connections',
        async read({ id }) {
          const connectionId = parseConnectionId(id);
          const of = connectionId && (await stores.connections.read(connectionId));
          if (of === undefined) return undefined;
          const isMatch =
            (q.provider === undefined || of.provider === q.provider) &&
            (q.mcpServerId === undefined || isOwnedBy(of, q.mcpServerId)) &&
            (q.since === undefined || of.updatedAt >= q.since.getTime()) &&
            (q.isLost === undefined || (of.lost !== undefined) === q.isLost) &&
            (q.subject === undefined || isSameSubject(of.subject, q.subject));
          return isMatch ? connectionItem(of, pseudonym) : undefined;
        },
      });
    },

    async credentials(actor: Actor, q: OwnedQuery) {
      const scope = await scopeOf(actor, 'credentials', q.subject);
      return pageOf(stores.lists, {
        ...scope,
        ...q,
        list: 'credentials',
        async read({ id }) {
          const credentialId = parseCredentialId(id);
          const of = credentialId && (await stores.credentials.read(credentialId));
          if (of === undefined) return undefined;
          const isMatch =
            (q.mcpServerId === undefined || isOwnedBy(of, q.mcpServerId)) &&
            (q.subject === undefined || isSameSubject(of.subject, q.subject));
          return isMatch ? credentialItem(of, pseudonym) : undefined;
        },
      });
    },

    /**
     * What support may know of an elicitation, its person, and what happened to it in order. Lines of the audit trail carry request ids;
     * they are there while `audit.stream` is on. Undefined if it is unknown or its record has expired.
     */
    async elicitation(actor: Actor, elicitationId: ElicitationId) {
      const of = await stores.elicitations.read(elicitationId);
      if (of === undefined) return undefined;
      await record(actor, {
        event: 'admin.person_viewed',
        subject: of.subject,
        what: 'elicitation',
        elicitationId,
        mcpServerId: of.mcpServerId,
      });
      const [logged, { lines, isComplete }] = await Promise.all([
        eventsOf(stores, elicitationId),
        linesAbout(auditSearch, { elicitationId, since: new Date(of.createdAt) }),
      ]);
      const { events, ...report } = reportOf(of, logged, pseudonym);
      const committed = events.map(({ at, type, eventId }) => ({
        at,
        source: 'event' as const,
        name: type,
        detail: { eventId },
      }));
      const timeline = [...committed, ...lines].sort((a, b) => a.at.localeCompare(b.at));
      return { ...report, person: of.subject, timeline, isTimelineComplete: isComplete };
    },
  };
}
