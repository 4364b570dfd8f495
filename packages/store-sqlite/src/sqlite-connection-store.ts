import {
  type BeginRefresh,
  type Connection,
  type ConnectionId,
  type ConnectionStore,
  isUseNoted,
  type NewConnection,
  oldestFirst,
  type Refusals,
  type Subject,
  shardIn,
  type TokenSetChange,
  type TokenSetOf,
} from '@postern/elicitation';
import type { Database } from './database.ts';
import type { Ledger } from './ledger.ts';
import { isRunning, keyOf, listOf, Records, type Span } from './records.ts';
import type { SqliteRevocationStore } from './sqlite-revocation-store.ts';

export interface ConnectionRow {
  readonly connection: Connection;
  /** When the user connected last. */
  readonly connectedAt: number;
  readonly lease?: Span & { readonly holder: string };
  readonly backOff?: Span & { readonly count: number };
  readonly refreshedBy?: string;
  readonly refusals?: Refusals;
  /** A lease of this token set expired without a result. */
  readonly isUnfinished?: boolean;
}

export interface SqliteConnectionStoreDeps {
  readonly database: Database;
  readonly revocations: SqliteRevocationStore;
  readonly ledger: Ledger;
}

export class SqliteConnectionStore implements ConnectionStore {
  readonly #deps: SqliteConnectionStoreDeps;
  readonly #rows: Records<ConnectionRow>;

  constructor(deps: SqliteConnectionStoreDeps) {
    this.#deps = deps;
    this.#rows = new Records(deps.database, 'connection', ({ connection: { subject, connectionId }, connectedAt }) => ({
      whose: keyOf(subject),
      list: listOf('connections', shardIn(connectionId)),
      rank: connectedAt,
    }));
  }

  get(connectionId: ConnectionId): Connection | undefined {
    return this.#rows.get(connectionId)?.connection;
  }

  /** Called within the commit that completes an elicitation. */
  put(connection: NewConnection, now: number): void {
    const earlier = this.get(connection.connectionId);
    const connected: Connection = {
      ...connection,
      generation: (earlier?.generation ?? 0) + 1,
      ...(earlier?.lastUse === undefined ? {} : { lastUse: earlier.lastUse }),
      createdAt: earlier?.createdAt ?? now,
      updatedAt: now,
    };
    this.#put({ connection: connected, connectedAt: now });
  }

  async read(connectionId: ConnectionId): Promise<Connection | undefined> {
    return this.get(connectionId);
  }

  async list(subject: Subject): Promise<readonly Connection[]> {
    const connections = this.#rows.of(keyOf(subject)).map(({ connection }) => connection);
    return connections.sort(oldestFirst(({ connectionId: id, createdAt: at }) => ({ id, at })));
  }

  async beginRefresh(p: Parameters<ConnectionStore['beginRefresh']>[0]): Promise<BeginRefresh> {
    return this.#deps.database.commit(() => {
      const now = this.#deps.database.now();
      const row = this.#row(p.current);
      if (row === undefined) return { result: 'missing' };
      const { connection, lease, backOff } = row;
      if (connection.generation !== p.current.generation || connection.lost !== undefined)
        return { result: 'superseded', connection };
      const isOthers = lease !== undefined && lease.holder !== p.holder;
      if (isOthers && isRunning(lease, now) && lease.holder !== p.goneHolder)
        return { result: 'held', retryAfterMs: lease.endsAt - now, holder: lease.holder };
      if (backOff !== undefined && isRunning(backOff, now))
        return { result: 'postponed', retryAfterMs: backOff.endsAt - now, refusals: row.refusals };
      const isUnfinished = row.isUnfinished === true || (isOthers && !isRunning(lease, now));
      this.#rows.put(connection.connectionId, {
        ...row,
        isUnfinished,
        lease: { holder: p.holder, from: now, endsAt: now + p.leaseMs },
      });
      return { result: 'begun', connection, failures: backOff?.count ?? 0, isUnfinished };
    });
  }

  async finishRefresh(p: Parameters<ConnectionStore['finishRefresh']>[0]): Promise<TokenSetChange> {
    return this.#deps.database.commit(() => {
      const row = this.#row(p.current);
      if (row === undefined) return { result: 'missing' };
      if (row.refreshedBy === p.operationId) return { result: 'stored', connection: row.connection };
      if (row.connection.generation !== p.current.generation)
        return { result: 'superseded', connection: row.connection };
      const { accessTokenExpiresAt: _, lost: __, ...kept } = row.connection;
      const { sealedTokens, scopes, refreshable, accessTokenExpiresAt, rotates } = p.tokens;
      const connection = {
        ...kept,
        generation: kept.generation + 1,
        sealedTokens,
        scopes,
        refreshable,
        accessTokenExpiresAt,
        rotates: rotates ?? kept.rotates,
        updatedAt: this.#deps.database.now(),
      };
      // Drops the lease and the back-off of the previous token set.
      this.#put({ connection, connectedAt: row.connectedAt, refreshedBy: p.operationId });
      return { result: 'stored', connection };
    });
  }

  async postponeRefresh(p: Parameters<ConnectionStore['postponeRefresh']>[0]): Promise<Refusals | undefined> {
    return this.#deps.database.commit(() => {
      const row = this.#row(p.current);
      if (row?.connection.generation !== p.current.generation) return undefined;
      if (row.lease?.holder !== p.holder) return row.refusals;
      const now = this.#deps.database.now();
      const { lease: _, ...rest } = row;
      const backOff = { count: (row.backOff?.count ?? 0) + 1, from: now, endsAt: now + p.delayMs };
      const refusals = refusalsAfter(row.refusals, p.isRefusal === true, now);
      this.#put({ ...rest, backOff, refusals: refusals ?? rest.refusals });
      return refusals;
    });
  }

  async markLost(p: Parameters<ConnectionStore['markLost']>[0]): Promise<TokenSetChange> {
    return this.#deps.database.commit(() => {
      const row = this.#row(p.current);
      if (row === undefined) return { result: 'missing' };
      const { connection, connectedAt, refreshedBy } = row;
      if (connection.generation !== p.current.generation) return { result: 'superseded', connection };
      if (connection.lost !== undefined) return { result: 'stored', connection };
      const lost = { ...connection, lost: { reason: p.reason, at: this.#deps.database.now() } };
      this.#put({ connection: lost, connectedAt, refreshedBy });
      return { result: 'stored', connection: lost };
    });
  }

  async recordUse(p: Parameters<ConnectionStore['recordUse']>[0]): Promise<void> {
    this.#deps.database.commit(() => {
      const at = this.#deps.database.now();
      const row = this.#rows.get(p.connectionId);
      if (row === undefined || isUseNoted(row.connection, p.use, at)) return;
      this.#rows.put(p.connectionId, { ...row, connection: { ...row.connection, lastUse: { ...p.use, at } } });
    });
  }

  async remove(p: Parameters<ConnectionStore['remove']>[0]): Promise<Connection | undefined> {
    const { connectionId, revocationId, connectedUntil } = p;
    if (revocationId !== undefined && shardIn(revocationId) !== shardIn(connectionId))
      throw new TypeError('A revocation lies in the shard of its connection.');
    return this.#deps.database.commit(() => {
      const connection = this.get(connectionId);
      if (connection === undefined || connection.createdAt > (connectedUntil ?? Infinity)) return undefined;
      this.#rows.delete(connectionId);
      this.#deps.ledger.release(shardIn(connectionId), connection.owner, connectionId);
      if (revocationId !== undefined) this.#deps.revocations.put({ ...connection, revocationId });
      this.#deps.database.wake(connectionId);
      return connection;
    });
  }

  #put(row: ConnectionRow): void {
    this.#rows.put(row.connection.connectionId, row);
    this.#deps.database.wake(row.connection.connectionId);
  }

  /** Also undefined if the user has reconnected since. */
  #row({ connectionId, createdAt }: TokenSetOf): ConnectionRow | undefined {
    const row = this.#rows.get(connectionId);
    return row?.connection.createdAt === createdAt ? row : undefined;
  }
}

function refusalsAfter(refusals: Refusals | undefined, isRefusal: boolean, now: number): Refusals | undefined {
  if (!isRefusal) return refusals && { ...refusals, isLatest: false };
  const { count = 0, firstAt = now } = refusals ?? {};
  return { count: count + 1, firstAt, lastAt: now, isLatest: true };
}
