import {
  assertMove,
  type Clock,
  type Connection,
  type ConnectionId,
  type ConnectionStore,
  type CreateElicitation,
  type CreateResult,
  committed,
  DomainError,
  type Elicitation,
  type ElicitationEvent,
  type ElicitationId,
  type ElicitationStore,
  eventOf,
  isSameSubject,
  isTerminal,
  type NewConnection,
  RECORD_LAYOUT,
  type Shard,
  type Subject,
  shardIn,
  type TransitionElicitation,
  type TransitionResult,
} from '@postern/elicitation';
import type { MemoryNotifier } from './memory-notifier.ts';
import type { MemoryOneTimeStore } from './memory-one-time-store.ts';

interface Row {
  elicitation: Elicitation;
  readonly coalescingDigest: string;
  readonly createdBy: string;
  movedBy?: string;
  keepUntil: number;
}

export interface MemoryElicitationStoreDeps {
  readonly now: Clock;
  readonly retentionMs: number;
  readonly notifier: MemoryNotifier;
  readonly oneTime: MemoryOneTimeStore;
}

/**
 * The elicitation and connection ports in one process. Atomic because every verb runs without awaiting anything.
 */
export class MemoryElicitationStore implements ElicitationStore {
  readonly connections: ConnectionStore;
  /** Announced so far, oldest first. */
  readonly events: ElicitationEvent[] = [];
  readonly #deps: MemoryElicitationStoreDeps;
  readonly #rows = new Map<ElicitationId, Row>();
  readonly #open = new Map<string, ElicitationId>();
  readonly #limits = new Map<string, { count: number; readonly endsAt: number }>();
  readonly #connections = new Map<ConnectionId, Connection>();

  constructor(deps: MemoryElicitationStoreDeps) {
    this.#deps = deps;
    this.connections = {
      read: async connectionId => this.#connections.get(connectionId),
      list: async of => this.#connectionsOf(of),
    };
  }

  async create(request: CreateElicitation): Promise<CreateResult> {
    const now = this.#deps.now();
    const { elicitation, seen, coalescingDigest, subjectLimit } = request;
    const { elicitationId } = elicitation;

    const made = this.#row(elicitationId);
    if (made) {
      if (made.createdBy === request.operationId) return { result: 'created', elicitation: made.elicitation };
      throw new DomainError('contention', 'The elicitation id belongs to another operation.');
    }

    const open = this.#open.get(coalescingDigest);
    const other = open === undefined ? undefined : this.#row(open)?.elicitation;
    if (other && !isTerminal(other) && other.expiresAt > now && open !== undefined && open !== seen.openId) {
      return { result: 'open', elicitationId: open };
    }

    const connection = this.#connections.get(request.connectionId);
    if (connection && connection.generation !== seen.connectionGeneration) return { result: 'connected', connection };

    const { issuer, subject } = elicitation.subject;
    const limitKey = JSON.stringify([elicitation.mcpServerId, issuer, subject]);
    const found = this.#limits.get(limitKey);
    const window = found && found.endsAt > now ? found : { count: 0, endsAt: now + subjectLimit.windowMs };
    if (window.count >= subjectLimit.max) return { result: 'limited', retryAfterMs: window.endsAt - now };

    this.#limits.set(limitKey, { count: window.count + 1, endsAt: window.endsAt });
    const expiresAt = now + request.ttlMs;
    const created: Elicitation = {
      ...elicitation,
      layout: RECORD_LAYOUT,
      version: 1,
      status: 'pending',
      createdAt: now,
      expiresAt,
    };
    this.#rows.set(elicitationId, {
      elicitation: created,
      coalescingDigest,
      createdBy: request.operationId,
      keepUntil: expiresAt + this.#deps.retentionMs,
    });
    this.#open.set(coalescingDigest, elicitationId);
    this.#announce(created);
    return { result: 'created', elicitation: created };
  }

  async read(elicitationId: ElicitationId): Promise<Elicitation | undefined> {
    return this.#row(elicitationId)?.elicitation;
  }

  async transition(request: TransitionElicitation): Promise<TransitionResult> {
    const now = this.#deps.now();
    const { current, events, next, putOneTime, putConnection } = request;
    assertMove(current.status, events, next.status);

    const row = this.#row(current.elicitationId);
    if (!row) return { result: 'missing' };
    const stored = row.elicitation;
    if (row.movedBy === request.operationId) return { result: 'applied', elicitation: stored };
    if (stored.version !== current.version) return { result: 'conflict', current: stored };
    const isOver = now >= stored.expiresAt;
    const isUntimely = events.includes('expire')
      ? !isOver
      : isOver && !(stored.status === 'verifying' && events.includes('fail'));
    if (isUntimely) return { result: 'untimely', current: stored };

    const expiresAt = Math.min(stored.expiresAt, now + (request.expiresWithinMs ?? Number.POSITIVE_INFINITY));
    const moved = committed(request, { now, expiresAt });
    row.elicitation = moved;
    row.movedBy = request.operationId;
    if (isTerminal(moved)) {
      row.keepUntil = now + this.#deps.retentionMs;
      if (this.#open.get(row.coalescingDigest) === moved.elicitationId) this.#open.delete(row.coalescingDigest);
    }
    if (putOneTime) this.#deps.oneTime.put(shardIn(moved.elicitationId), putOneTime.record, putOneTime.ttlMs);
    if (putConnection) this.#putConnection(putConnection, now);
    this.#announce(moved);
    return { result: 'applied', elicitation: moved };
  }

  async due(shard: Shard, limit: number): Promise<readonly ElicitationId[]> {
    const now = this.#deps.now();
    return [...this.#rows.values()]
      .filter(row => row.keepUntil > now)
      .map(row => row.elicitation)
      .filter(({ elicitationId }) => shardIn(elicitationId) === shard)
      .filter(elicitation => !isTerminal(elicitation) && elicitation.expiresAt <= now)
      .sort((a, b) => a.expiresAt - b.expiresAt)
      .slice(0, limit)
      .map(({ elicitationId }) => elicitationId);
  }

  #row(elicitationId: ElicitationId): Row | undefined {
    const row = this.#rows.get(elicitationId);
    return row && row.keepUntil > this.#deps.now() ? row : undefined;
  }

  #putConnection(connection: NewConnection, now: number): void {
    const earlier = this.#connections.get(connection.connectionId);
    this.#connections.set(connection.connectionId, {
      ...connection,
      layout: RECORD_LAYOUT,
      generation: (earlier?.generation ?? 0) + 1,
      createdAt: earlier?.createdAt ?? now,
      updatedAt: now,
    });
  }

  #connectionsOf(of: { readonly owner: string; readonly subject: Subject }): readonly Connection[] {
    return [...this.#connections.values()]
      .filter(({ owner, subject }) => owner === of.owner && isSameSubject(subject, of.subject))
      .sort((a, b) => a.createdAt - b.createdAt || (a.connectionId < b.connectionId ? -1 : 1));
  }

  #announce(elicitation: Elicitation): void {
    this.events.push(eventOf(elicitation));
    this.#deps.notifier.wake(elicitation.elicitationId);
  }
}
