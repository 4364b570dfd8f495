import {
  type BrowserSession,
  type BrowserSessionId,
  type BrowserSessionOwner,
  type BrowserSessionStore,
  type Clock,
  digestOf,
  isSameSubject,
  type ListedBrowserSession,
  type LogoutTarget,
  type NewBrowserSession,
} from '@postern/elicitation';

/** Maximum number of browser sessions listed for one user, and of those that one application vouched for. */
const LISTED = 20;

export class MemoryBrowserSessionStore implements BrowserSessionStore {
  readonly #now: Clock;
  readonly #rows = new Map<BrowserSessionId, { session: BrowserSession; readonly idleMs: number; idleUntil: number }>();

  readonly #reports = new Set<string>();

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

  async list(owner: BrowserSessionOwner): Promise<readonly ListedBrowserSession[]> {
    const listed = new Map<string, number>();
    return this.#of(owner)
      .map(({ id, ...session }) => ({ ...session, name: digestOf(id) }))
      .sort((a, b) => b.createdAt - a.createdAt || (a.name < b.name ? -1 : 1))
      .filter(({ origin }) => {
        const voucher = 'vouchedBy' in origin ? origin.vouchedBy : '';
        const nth = (listed.get(voucher) ?? 0) + 1;
        listed.set(voucher, nth);
        return nth <= LISTED;
      });
  }

  async endAll(owner: BrowserSessionOwner): Promise<void> {
    for (const { id } of this.#of(owner)) this.#rows.delete(id);
  }

  async logOut(target: LogoutTarget, { token }: { readonly token: string }): Promise<boolean> {
    if (this.#reports.has(token)) return false;
    this.#reports.add(token);
    for (const { session } of [...this.#rows.values()]) {
      const isMeant =
        'logoutName' in target
          ? session.logoutName === target.logoutName
          : isSameSubject(session.subject, target.subject) &&
            'identityProvider' in session.origin &&
            session.origin.identityProvider === target.identityProvider;
      if (isMeant) this.#rows.delete(session.id);
    }
    return true;
  }

  #of({ subject, origin }: BrowserSessionOwner): readonly BrowserSession[] {
    return [...this.#rows.values()]
      .map(({ session }) => session)
      .filter(session => this.#alive(session.id) !== undefined && isSameSubject(session.subject, subject))
      .filter(
        session =>
          !('vouchedBy' in origin) || ('vouchedBy' in session.origin && session.origin.vouchedBy === origin.vouchedBy),
      );
  }

  #alive(id: BrowserSessionId) {
    const row = this.#rows.get(id);
    const now = this.#now();
    return row && now < row.idleUntil && now < row.session.endsAt ? row : undefined;
  }
}
