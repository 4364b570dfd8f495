import type {
  BrowserSession,
  BrowserSessionId,
  BrowserSessionStore,
  Clock,
  NewBrowserSession,
} from '@postern/elicitation';

export class MemoryBrowserSessionStore implements BrowserSessionStore {
  readonly #now: Clock;
  readonly #rows = new Map<BrowserSessionId, { session: BrowserSession; readonly idleMs: number; idleUntil: number }>();

  constructor(now: Clock) {
    this.#now = now;
  }

  async create(
    session: NewBrowserSession,
    lifetime: { readonly idleMs: number; readonly absoluteMs: number },
  ): Promise<BrowserSession> {
    const now = this.#now();
    const created = { ...session, createdAt: now, endsAt: now + lifetime.absoluteMs } as const;
    this.#rows.set(session.id, { session: created, idleMs: lifetime.idleMs, idleUntil: now + lifetime.idleMs });
    return created;
  }

  async read(id: BrowserSessionId): Promise<BrowserSession | undefined> {
    return this.#alive(id)?.session;
  }

  async touch(id: BrowserSessionId): Promise<void> {
    const row = this.#alive(id);
    if (row) row.idleUntil = this.#now() + row.idleMs;
  }

  async end(id: BrowserSessionId): Promise<void> {
    this.#rows.delete(id);
  }

  #alive(id: BrowserSessionId) {
    const row = this.#rows.get(id);
    const now = this.#now();
    return row && now < row.idleUntil && now < row.session.endsAt ? row : undefined;
  }
}
