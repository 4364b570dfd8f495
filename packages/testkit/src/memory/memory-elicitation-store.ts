import {
  assertTransition,
  type Clock,
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
  RECORD_LAYOUT,
  type SeenConnection,
  type Shard,
  type Subject,
  shardIn,
  type TransitionElicitation,
  type TransitionResult,
} from '@postern/elicitation';
import type { MemoryConnectionStore } from './memory-connection-store.ts';
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
  readonly connections: MemoryConnectionStore;
  readonly oneTime: MemoryOneTimeStore;
}

/** As many open elicitations of one person as are listed. */
const LISTED = 100;

/** The elicitation port in one process. Atomic because every verb runs without awaiting anything. */
export class MemoryElicitationStore implements ElicitationStore {
  /** Announced so far, oldest first. */
  readonly events: ElicitationEvent[] = [];
  readonly #deps: MemoryElicitationStoreDeps;
  readonly #rows = new Map<ElicitationId, Row>();
  readonly #open = new Map<string, ElicitationId>();
  readonly #limits = new Map<string, { count: number; readonly endsAt: number }>();

  constructor(deps: MemoryElicitationStoreDeps) {
    this.#deps = deps;
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

    const connection = this.#deps.connections.get(request.connectionId);
    if (connection && !isSeen(connection, seen.connection)) return { result: 'connected', connection };

    const open = this.#open.get(coalescingDigest);
    const other = open === undefined ? undefined : this.#row(open)?.elicitation;
    if (other && !isTerminal(other) && other.expiresAt > now && open !== undefined && open !== seen.openId) {
      return { result: 'open', elicitationId: open };
    }

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
    const { current, events, putOneTime, putConnection } = request;
    assertTransition(request);

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
    if (putConnection) this.#deps.connections.put(putConnection, now);
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

  async listOpen(subject: Subject): Promise<readonly Elicitation[]> {
    const now = this.#deps.now();
    return [...this.#rows.values()]
      .map(row => row.elicitation)
      .filter(elicitation => isSameSubject(elicitation.subject, subject))
      .filter(elicitation => !isTerminal(elicitation) && elicitation.expiresAt > now)
      .sort((a, b) => b.expiresAt - a.expiresAt)
      .slice(0, LISTED)
      .sort((a, b) => a.createdAt - b.createdAt || (a.elicitationId < b.elicitationId ? -1 : 1));
  }

  #row(elicitationId: ElicitationId): Row | undefined {
    const row = this.#rows.get(elicitationId);
    return row && row.keepUntil > this.#deps.now() ? row : undefined;
  }

  #announce(elicitation: Elicitation): void {
    this.events.push(eventOf(elicitation));
    this.#deps.notifier.wake(elicitation.elicitationId);
  }
}

function isSeen(connection: SeenConnection, seen: SeenConnection | undefined): boolean {
  return connection.createdAt === seen?.createdAt && connection.generation === seen.generation;
}
