import {
  type BrowserSession,
  type BrowserSessionId,
  type BrowserSessionOwner,
  type BrowserSessionStore,
  compareBrowserSessions,
  digestOf,
  isListedFor,
  type ListedBrowserSession,
  type LogoutTarget,
  MAX_BROWSER_SESSIONS,
  type NewBrowserSession,
  QuotaExceededError,
  type StorageQuota,
  shardIn,
  vouchedBy,
} from '@postern/elicitation';
import type { Database } from './database.ts';
import type { Ledger } from './ledger.ts';
import { keyOf, Records } from './records.ts';

const SESSION_BYTES = 768;

/** `name` is the digest of the id, which is a bearer value and not in the file. */
interface Row {
  readonly session: ListedBrowserSession;
  readonly idleMs: number;
  readonly idleUntil: number;
}

export class SqliteBrowserSessionStore implements BrowserSessionStore {
  readonly #database: Database;
  readonly #ledger: Ledger;
  readonly #kind: string;
  readonly #rows: Records<Row>;
  /** Reports of logouts by their token. */
  readonly #reports: Records<{ readonly endsAt: number }>;

  /** @param kind keeps the sessions of users and of operators apart */
  constructor(database: Database, ledger: Ledger, kind: 'session' | 'operator session') {
    this.#database = database;
    this.#ledger = ledger;
    this.#kind = kind;
    this.#rows = new Records(database, kind, ({ session, idleUntil }) => ({
      endsAt: Math.min(idleUntil, session.endsAt),
      whose: keyOf(session.subject),
      rank: session.createdAt,
      ...(session.logoutName !== undefined && { list: this.#logoutList(session.logoutName) }),
    }));
    this.#reports = new Records(database, `${kind} logout report`, row => row);
  }

  async create(
    { id, ...session }: NewBrowserSession,
    lifetime: { readonly idleMs: number; readonly absoluteMs: number },
    quota?: StorageQuota,
  ): Promise<BrowserSession> {
    const now = this.#database.now();
    const created = { ...session, createdAt: now, endsAt: now + lifetime.absoluteMs };
    const [shard, voucher, name] = [shardIn(id), vouchedBy(session), digestOf(id)];
    this.#database.commit(() => {
      const own = this.#rows.of(keyOf(session.subject)).filter(row => vouchedBy(row.session) === voucher);
      const older = own.slice(0, Math.max(0, own.length - MAX_BROWSER_SESSIONS + 1));
      for (const row of older) this.#remove(row.session, shard);
      if (voucher !== undefined && quota !== undefined) {
        const charge = { id: name, endsAt: created.endsAt, bytes: SESSION_BYTES };
        const refused = this.#ledger.admit(shard, voucher, [charge], quota, 8);
        if (refused) throw new QuotaExceededError(voucher, refused.retryAfterMs);
      }
      const { idleMs } = lifetime;
      this.#rows.put(name, { session: { ...created, name }, idleMs, idleUntil: now + idleMs });
    });
    return { ...created, id };
  }

  async read(id: BrowserSessionId): Promise<BrowserSession | undefined> {
    const row = this.#rows.get(digestOf(id));
    if (row === undefined) return undefined;
    const { name: _, ...session } = row.session;
    return { ...session, id };
  }

  async touch(id: BrowserSessionId): Promise<void> {
    this.#database.commit(() => {
      const row = this.#rows.get(digestOf(id));
      if (row) this.#rows.put(row.session.name, { ...row, idleUntil: this.#database.now() + row.idleMs });
    });
  }

  async end(id: BrowserSessionId): Promise<void> {
    this.#database.commit(() => {
      const row = this.#rows.get(digestOf(id));
      if (row) this.#remove(row.session, shardIn(id));
    });
  }

  async list(owner: BrowserSessionOwner): Promise<readonly ListedBrowserSession[]> {
    return this.#of(owner).sort(compareBrowserSessions);
  }

  async endAll(owner: BrowserSessionOwner): Promise<void> {
    this.#database.commit(() => {
      for (const { name } of this.#of(owner)) this.#rows.delete(name);
    });
  }

  async logOut(
    target: LogoutTarget,
    { token, rememberMs }: { readonly token: string; readonly rememberMs: number },
  ): Promise<boolean> {
    return this.#database.commit(() => {
      if (this.#reports.get(token) !== undefined) return false;
      this.#reports.put(token, { endsAt: this.#database.now() + rememberMs });
      for (const { name } of this.#meant(target)) this.#rows.delete(name);
      return true;
    });
  }

  #remove({ name, origin }: ListedBrowserSession, shard: ReturnType<typeof shardIn>): void {
    this.#rows.delete(name);
    const voucher = vouchedBy({ origin });
    if (voucher !== undefined) this.#ledger.release(shard, voucher, name);
  }

  #meant(target: LogoutTarget): readonly ListedBrowserSession[] {
    if ('logoutName' in target) {
      const { logoutName } = target;
      return this.#rows.due(this.#logoutList(logoutName), Infinity, Infinity).map(({ session }) => session);
    }
    return this.#rows
      .of(keyOf(target.subject))
      .map(({ session }) => session)
      .filter(({ origin }) => 'identityProvider' in origin && origin.identityProvider === target.identityProvider);
  }

  #of(owner: BrowserSessionOwner): ListedBrowserSession[] {
    const all = this.#rows.of(keyOf(owner.subject)).map(({ session }) => session);
    return all.filter(session => isListedFor(owner, session));
  }

  #logoutList(logoutName: string): string {
    return `${this.#kind} logout ${logoutName}`;
  }
}
