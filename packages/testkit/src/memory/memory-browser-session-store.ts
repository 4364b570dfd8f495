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
  QuotaExceededError,
  type StorageQuota,
  shardIn,
} from '@postern/elicitation';
import type { MemoryLedger } from './memory-ledger.ts';

/** Maximum number of browser sessions of one user, and of those that one application vouched for. */
const MOST = 20;
const SESSION_BYTES = 768;
const voucherOf = ({ origin }: Pick<BrowserSession, 'origin'>) =>
  'vouchedBy' in origin ? origin.vouchedBy : undefined;

export class MemoryBrowserSessionStore implements BrowserSessionStore {
  readonly #now: Clock;
  readonly #rows = new Map<BrowserSessionId, { session: BrowserSession; readonly idleMs: number; idleUntil: number }>();

  readonly #reports = new Set<string>();

  readonly #ledger: MemoryLedger;

  constructor(now: Clock, ledger: MemoryLedger) {
    this.#now = now;
    this.#ledger = ledger;
  }

  async create(
    session: NewBrowserSession,
    lifetime: { readonly idleMs: number; readonly absoluteMs: number },
    quota?: StorageQuota,
  ): Promise<BrowserSession> {
    const now = this.#now();
    const created = { ...session, createdAt: now, endsAt: now + lifetime.absoluteMs } as const;
    const [shard, voucher] = [shardIn(session.id), voucherOf(session)];
    const older = [...this.#rows.values()]
      .filter(row => isSameSubject(row.session.subject, session.subject) && voucherOf(row.session) === voucher)
      .filter(row => row.session.endsAt > now)
      .sort((one, other) => other.session.createdAt - one.session.createdAt)
      .slice(MOST - 1);
    if (voucher !== undefined && quota !== undefined) {
      for (const row of older) this.#ledger.release(shard, voucher, row.session.id);
      const charge = { id: session.id, endsAt: created.endsAt, bytes: SESSION_BYTES };
      const refused = this.#ledger.admit(shard, voucher, [charge], quota, 8);
      if (refused) throw new QuotaExceededError(voucher, refused.retryAfterMs);
    }
    for (const row of older) this.#rows.delete(row.session.id);
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
    const voucher = voucherOf(this.#rows.get(id)?.session ?? { origin: { identityProvider: '' } });
    if (voucher !== undefined) this.#ledger.release(shardIn(id), voucher, id);
    this.#rows.delete(id);
  }

  async list(owner: BrowserSessionOwner): Promise<readonly ListedBrowserSession[]> {
    return this.#of(owner)
      .map(({ id, ...session }) => ({ ...session, name: digestOf(id) }))
      .sort((a, b) => b.createdAt - a.createdAt || (a.name < b.name ? -1 : 1));
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
