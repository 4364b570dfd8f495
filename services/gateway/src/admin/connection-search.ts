import {
  type Connection,
  type ConnectionId,
  isSameSubject,
  type ListEntry,
  parseConnectionId,
  SHARDS,
  type Shard,
  type Stores,
  type Subject,
  UnknownRecordLayoutError,
} from '@postern/elicitation';
import type { RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import { fewAtOnce } from './paced-reads.ts';

/** Connections that match every given member. At least one member other than `since` is given. */
export interface DisconnectTarget {
  readonly connectionId?: ConnectionId;
  readonly subject?: Subject;
  readonly provider?: string;
  /** The connections that this MCP server may use: those of its group, if it is in one. */
  readonly mcpServerId?: string;
  /** Connections whose tokens were stored at this time or later. */
  readonly since?: Date;
}

/** One step of a search. */
interface FoundConnections {
  readonly connections: readonly Connection[];
  /** Records that the step has read. */
  readonly read: number;
  readonly unreadable: number;
  /** The search continues from here, also in another process. */
  readonly cursor: string;
  /** Share of the search that is done, 0 to 1. */
  readonly share: number;
}

export interface ConnectionSearchDeps {
  readonly stores: Pick<Stores, 'connections' | 'lists' | 'sealedRecords'>;
  readonly mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
}

/** Entries that are read from a list at once. */
const PAGE = 64;
/** The second part of a search, which has no position that outlives its process. */
const SCAN = 'scan';
/** What the first part counts as. */
const LISTS_SHARE = 0.8;
const CURSOR = /^([0-9a-f]{2}) (\d{1,15}) (cn_[0-9a-f]{2}[A-Za-z0-9_-]{43})$/;

/** A group owns the records of its members. */
export const ownerOf = (mcpServers: ConnectionSearchDeps['mcpServers'], mcpServerId: string): string =>
  mcpServers.get(mcpServerId)?.connectionOwner ?? mcpServerId;

/** Where the search of the lists continues. */
function placeOf(cursor: string): { readonly at: number; readonly before?: ListEntry } {
  const [, shard = '', at = '', id = ''] = CURSOR.exec(cursor) ?? [];
  const found = SHARDS.indexOf(shard as Shard);
  return found < 0 ? { at: 0 } : { at: found, before: { at: Number(at), id } };
}

/**
 * Finds connections: those of one person at once, others through the lists of all shards and then through all keys, which
 * also shows the records that this release cannot read. It may return a connection twice. One that is created meanwhile may be missed.
 */
export function createConnectionSearch({ stores, mcpServers }: ConnectionSearchDeps) {
  function matches(of: Connection, q: DisconnectTarget): boolean {
    return (
      (q.connectionId === undefined || of.connectionId === q.connectionId) &&
      (q.subject === undefined || isSameSubject(of.subject, q.subject)) &&
      (q.provider === undefined || of.provider === q.provider) &&
      (q.mcpServerId === undefined || of.owner === ownerOf(mcpServers, q.mcpServerId)) &&
      (q.since === undefined || of.updatedAt >= q.since.getTime())
    );
  }

  /** Undefined also for a record that this release cannot read: the search of all keys counts those. */
  async function readable(id: string): Promise<Connection | undefined> {
    const connectionId = parseConnectionId(id);
    if (connectionId === undefined) return undefined;
    return stores.connections.read(connectionId).catch((error: unknown) => {
      if (error instanceof UnknownRecordLayoutError) return undefined;
      throw error;
    });
  }

  async function matching(ids: readonly string[], q: DisconnectTarget): Promise<readonly Connection[]> {
    const found = await fewAtOnce(ids, readable);
    return found.filter(of => of !== undefined).filter(of => matches(of, q));
  }

  async function* inLists(q: DisconnectTarget, cursor: string): AsyncGenerator<FoundConnections, void, undefined> {
    const start = placeOf(cursor);
    for (const [at, shard] of SHARDS.entries()) {
      if (at < start.at) continue;
      let before = at === start.at ? start.before : undefined;
      while (true) {
        const entries = await stores.lists.page({ list: 'connections', shard, before, limit: PAGE });
        const ids = entries.map(({ id }) => id);
        before = entries.at(-1) ?? before;
        yield {
          connections: await matching(ids, q),
          read: ids.length,
          unreadable: 0,
          cursor: before === undefined ? cursor : `${shard} ${before.at} ${before.id}`,
          share: (LISTS_SHARE * at) / SHARDS.length,
        };
        if (entries.length < PAGE) break;
      }
    }
  }

  async function* inAllKeys(q: DisconnectTarget): AsyncGenerator<FoundConnections, void, undefined> {
    for await (const { records, unreadable } of stores.sealedRecords.walk()) {
      const ids = records.flatMap(of =>
        of.kind === 'connection' && (q.provider === undefined || of.provider === q.provider) ? [of.id] : [],
      );
      yield {
        connections: await matching(ids, q),
        read: records.length,
        cursor: SCAN,
        share: LISTS_SHARE,
        unreadable: unreadable.filter(({ kind }) => kind === 'connection').length,
      };
    }
  }

  /** @param from `cursor` of an earlier step, which may be of another process */
  return async function* search(q: DisconnectTarget, from = ''): AsyncGenerator<FoundConnections, void, undefined> {
    if (q.connectionId !== undefined || q.subject !== undefined) {
      const of =
        q.connectionId === undefined
          ? q.subject && (await stores.connections.list(q.subject))
          : [await stores.connections.read(q.connectionId)];
      const connections = (of ?? []).filter(each => each !== undefined).filter(each => matches(each, q));
      yield { connections, read: connections.length, unreadable: 0, cursor: '', share: 1 };
      return;
    }
    if (from !== SCAN) yield* inLists(q, from);
    yield* inAllKeys(q);
  };
}
