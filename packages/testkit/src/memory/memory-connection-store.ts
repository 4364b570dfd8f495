import {
  type BeginRefresh,
  type Clock,
  type Connection,
  type ConnectionId,
  type ConnectionStore,
  type ConnectionUse,
  definedOnly,
  isSameSubject,
  isUseNoted,
  type ListEntry,
  type LossReason,
  type NewConnection,
  type RefreshedTokens,
  type Refusals,
  type RevocationId,
  type Subject,
  shardIn,
  type TokenSetChange,
  type TokenSetOf,
} from '@postern/elicitation';
import type { MemoryLedger } from './memory-ledger.ts';
import type { MemoryNotifier } from './memory-notifier.ts';
import type { MemoryRevocationStore } from './memory-revocation-store.ts';

interface Row {
  connection: Connection;
  /** When the user connected last. */
  connectedAt: number;
  lease?: { readonly holder: string; readonly endsAt: number };
  backOff?: { readonly count: number; readonly endsAt: number };
  refreshedBy?: string;
  refusals?: Refusals;
  /** A lease of this token set expired without a result. */
  isUnfinished?: boolean;
}

export interface MemoryConnectionStoreDeps {
  readonly now: Clock;
  readonly notifier: MemoryNotifier;
  readonly revocations: MemoryRevocationStore;
  readonly ledger: MemoryLedger;
}

/** The connection port in one process. Atomic, because no verb awaits anything. */
export class MemoryConnectionStore implements ConnectionStore {
  readonly #deps: MemoryConnectionStoreDeps;
  readonly #rows = new Map<ConnectionId, Row>();

  constructor(deps: MemoryConnectionStoreDeps) {
    this.#deps = deps;
  }

  get(connectionId: ConnectionId): Connection | undefined {
    return this.#rows.get(connectionId)?.connection;
  }

  /** Called by the transition that completes an elicitation. */
  put(connection: NewConnection, now: number): void {
    const earlier = this.get(connection.connectionId);
    const connected: Connection = {
      ...connection,
      generation: (earlier?.generation ?? 0) + 1,
      ...(earlier?.lastUse === undefined ? {} : { lastUse: earlier.lastUse }),
      createdAt: earlier?.createdAt ?? now,
      updatedAt: now,
    };
    this.#rows.set(connection.connectionId, { connection: connected, connectedAt: now });
    this.#deps.notifier.wake(connection.connectionId);
  }

  /** All connections, for the lists of operators. */
  entries(): readonly ListEntry[] {
    return [...this.#rows].map(([id, { connectedAt }]) => ({ id, at: connectedAt }));
  }

  async read(connectionId: ConnectionId): Promise<Connection | undefined> {
    return this.get(connectionId);
  }

  async list(subject: Subject): Promise<readonly Connection[]> {
    return [...this.#rows.values()]
      .map(({ connection }) => connection)
      .filter(connection => isSameSubject(connection.subject, subject))
      .sort((a, b) => a.createdAt - b.createdAt || (a.connectionId < b.connectionId ? -1 : 1));
  }

  async beginRefresh(p: {
    readonly current: TokenSetOf;
    readonly holder: string;
    readonly leaseMs: number;
    readonly goneHolder?: string;
  }): Promise<BeginRefresh> {
    const now = this.#deps.now();
    const row = this.#row(p.current);
    if (row === undefined) return { result: 'missing' };
    const { connection, lease, backOff } = row;
    if (connection.generation !== p.current.generation || connection.lost !== undefined)
      return { result: 'superseded', connection };
    const isOthers = lease !== undefined && lease.holder !== p.holder;
    if (isOthers && lease.endsAt > now && lease.holder !== p.goneHolder)
      return { result: 'held', retryAfterMs: lease.endsAt - now, holder: lease.holder };
    if (backOff !== undefined && backOff.endsAt > now)
      return { result: 'postponed', retryAfterMs: backOff.endsAt - now, ...definedOnly({ refusals: row.refusals }) };
    if (isOthers && lease.endsAt <= now) row.isUnfinished = true;
    row.lease = { holder: p.holder, endsAt: now + p.leaseMs };
    return { result: 'begun', connection, failures: backOff?.count ?? 0, isUnfinished: row.isUnfinished === true };
  }

  async finishRefresh(p: {
    readonly current: TokenSetOf;
    readonly tokens: RefreshedTokens;
    readonly operationId: string;
  }): Promise<TokenSetChange> {
    const row = this.#row(p.current);
    if (row === undefined) return { result: 'missing' };
    if (row.refreshedBy === p.operationId) return { result: 'stored', connection: row.connection };
    if (row.connection.generation !== p.current.generation) return { result: 'superseded', connection: row.connection };
    const { accessTokenExpiresAt: _, lost: __, ...kept } = row.connection;
    const { sealedTokens, scopes, refreshable, accessTokenExpiresAt, rotates } = p.tokens;
    const connection = {
      ...kept,
      generation: kept.generation + 1,
      sealedTokens,
      scopes,
      refreshable,
      ...definedOnly({ accessTokenExpiresAt, rotates }),
      updatedAt: this.#deps.now(),
    };
    this.#store(connection, p.operationId);
    return { result: 'stored', connection };
  }

  async postponeRefresh(p: {
    readonly current: TokenSetOf;
    readonly holder: string;
    readonly delayMs: number;
    readonly isRefusal?: boolean;
  }): Promise<Refusals | undefined> {
    const row = this.#row(p.current);
    if (row?.connection.generation !== p.current.generation) return undefined;
    if (row.lease?.holder !== p.holder) return row.refusals;
    const now = this.#deps.now();
    delete row.lease;
    row.backOff = { count: (row.backOff?.count ?? 0) + 1, endsAt: now + p.delayMs };
    const { refusals } = row;
    if (p.isRefusal === true) {
      const { count = 0, firstAt = now } = refusals ?? {};
      row.refusals = { count: count + 1, firstAt, lastAt: now, isLatest: true };
    } else if (refusals !== undefined) row.refusals = { ...refusals, isLatest: false };
    this.#deps.notifier.wake(p.current.connectionId);
    return row.refusals;
  }

  async markLost(p: { readonly current: TokenSetOf; readonly reason: LossReason }): Promise<TokenSetChange> {
    const row = this.#row(p.current);
    if (row === undefined) return { result: 'missing' };
    const { connection } = row;
    if (connection.generation !== p.current.generation) return { result: 'superseded', connection };
    if (connection.lost !== undefined) return { result: 'stored', connection };
    const lost = { ...connection, lost: { reason: p.reason, at: this.#deps.now() } };
    this.#store(lost, row.refreshedBy);
    return { result: 'stored', connection: lost };
  }

  async recordUse(p: { readonly connectionId: ConnectionId; readonly use: ConnectionUse }): Promise<void> {
    const now = this.#deps.now();
    const row = this.#rows.get(p.connectionId);
    if (row === undefined || isUseNoted(row.connection, p.use, now)) return;
    row.connection = { ...row.connection, lastUse: { ...p.use, at: now } };
  }

  async remove(p: {
    readonly connectionId: ConnectionId;
    readonly revocationId?: RevocationId;
    readonly connectedUntil?: number;
  }): Promise<Connection | undefined> {
    const { connectionId, revocationId, connectedUntil } = p;
    if (revocationId !== undefined && shardIn(revocationId) !== shardIn(connectionId))
      throw new TypeError('A revocation lies in the shard of its connection.');
    const connection = this.get(connectionId);
    if (connection === undefined || connection.createdAt > (connectedUntil ?? Infinity)) return undefined;
    this.#rows.delete(connectionId);
    this.#deps.ledger.release(shardIn(connectionId), connection.owner, connectionId);
    if (revocationId !== undefined) this.#deps.revocations.put({ ...connection, revocationId });
    this.#deps.notifier.wake(connectionId);
    return connection;
  }

  /** Stores a token set, or its loss, and drops the lease and the back-off of the previous one. */
  #store(connection: Connection, refreshedBy?: string | undefined): void {
    const { connectionId } = connection;
    const connectedAt = this.#rows.get(connectionId)?.connectedAt ?? connection.updatedAt;
    this.#rows.set(connectionId, { connection, connectedAt, ...definedOnly({ refreshedBy }) });
    this.#deps.notifier.wake(connectionId);
  }

  /** Also undefined if the user has reconnected since. */
  #row({ connectionId, createdAt }: TokenSetOf): Row | undefined {
    const row = this.#rows.get(connectionId);
    return row?.connection.createdAt === createdAt ? row : undefined;
  }
}
