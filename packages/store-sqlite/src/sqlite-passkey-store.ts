import {
  FIRST_DELAY_MS,
  type FirstPasskey,
  type NewPasskey,
  PASSKEY_NOTICE_MS,
  type Passkey,
  type PasskeyChange,
  type PasskeyPayer,
  type PasskeyStore,
  type PasskeysCountFrom,
  QuotaExceededError,
  type Subject,
  shardOf,
  shareOf,
} from '@postern/elicitation';
import type { Database } from './database.ts';
import type { Ledger } from './ledger.ts';
import { keyOf, Records } from './records.ts';

/** What the facts about the passkeys of a user and each passkey are charged. */
const FACTS_BYTES = 1_024;
const PASSKEY_BYTES = 1_024;

/** About all passkeys of a user. */
interface Facts {
  /** The last passkeys were removed by an operator. */
  readonly isReset?: boolean;
  readonly from?: PasskeysCountFrom;
  readonly change?: PasskeyChange;
  /** The MCP server that pays. */
  readonly payer?: string;
}

export class SqlitePasskeyStore implements PasskeyStore {
  readonly #database: Database;
  readonly #ledger: Ledger;
  /** In insertion order. */
  readonly #rows: Records<Passkey>;
  readonly #facts: Records<Facts>;

  constructor(database: Database, ledger: Ledger) {
    this.#database = database;
    this.#ledger = ledger;
    this.#rows = new Records(database, 'passkey', ({ subject }) => ({ whose: keyOf(subject) }));
    this.#facts = new Records(database, 'passkey facts');
  }

  async list(subject: Subject): Promise<readonly Passkey[]> {
    return this.#of(subject);
  }

  async add(
    passkey: NewPasskey,
    max: number,
    permittedBy?: string,
    first: FirstPasskey = 'counts',
    _announcedAs?: string,
    payer?: PasskeyPayer,
  ): Promise<'added' | 'exists' | 'full' | 'not_permitted'> {
    const { subject } = passkey;
    return this.#database.commit(() => {
      const now = this.#database.now();
      const own = this.#of(subject);
      if (own.some(({ passkeyId }) => passkeyId === passkey.passkeyId)) return 'exists';
      if (permittedBy !== undefined && own.every(({ passkeyId }) => passkeyId !== permittedBy)) return 'not_permitted';
      if (own.length >= max) return 'full';
      this.#charge(subject, own.length + 1, payer);
      this.#noteChange(subject);
      const { isReset = false, from: before } = this.#factsOf(subject);
      if (isReset || (first !== 'counts' && own.length === 0)) {
        const isWaiting = before !== undefined && before.at > now && !before.isLimited;
        const isLimited = !isReset && !isWaiting && first === 'limited';
        this.#note(subject, { isReset: false, from: { at: now + FIRST_DELAY_MS, isLimited } });
      }
      this.#put({ ...passkey, createdAt: now });
      return 'added';
    });
  }

  async use(p: Parameters<PasskeyStore['use']>[0]): Promise<'used' | 'stale' | 'unknown'> {
    return this.#database.commit(() => {
      const passkey = this.#rows.get(keyOf(p.subject, p.passkeyId));
      if (passkey === undefined) return 'unknown';
      const hasCounter = passkey.signCount !== 0 || p.signCount !== 0;
      if (hasCounter && p.signCount <= passkey.signCount) return 'stale';
      const { signCount, backedUp } = p;
      this.#put({ ...passkey, signCount, backedUp, lastUsedAt: this.#database.now() });
      return 'used';
    });
  }

  async rename(subject: Subject, passkeyId: string, label: string): Promise<boolean> {
    return this.#database.commit(() => {
      const passkey = this.#rows.get(keyOf(subject, passkeyId));
      if (passkey !== undefined) this.#put({ ...passkey, label });
      return passkey !== undefined;
    });
  }

  async remove(subject: Subject, passkeyId: string): Promise<boolean> {
    return this.#database.commit(() => {
      if (this.#rows.get(keyOf(subject, passkeyId)) === undefined) return false;
      this.#noteChange(subject);
      this.#rows.delete(keyOf(subject, passkeyId));
      this.#charge(subject, this.#of(subject).length);
      return true;
    });
  }

  async reset(subject: Subject): Promise<number> {
    return this.#database.commit(() => {
      const { length } = this.#of(subject);
      if (length === 0) return 0;
      this.#noteChange(subject);
      this.#rows.deleteOf(keyOf(subject));
      this.#charge(subject, 0);
      this.#note(subject, { isReset: true });
      return length;
    });
  }

  async countFrom(subject: Subject): Promise<PasskeysCountFrom | undefined> {
    return this.#factsOf(subject).from;
  }

  async lastChange(subject: Subject): Promise<PasskeyChange | undefined> {
    return this.#factsOf(subject).change;
  }

  /** Counts the passkeys of a user again, if an MCP server pays for them. @throws QuotaExceededError */
  #charge(subject: Subject, count: number, payer?: PasskeyPayer): void {
    const mcpServerId = payer?.mcpServerId ?? this.#factsOf(subject).payer;
    if (mcpServerId === undefined) return;
    const charge = { id: keyOf(subject), bytes: FACTS_BYTES + count * PASSKEY_BYTES };
    const refused = this.#ledger.refuseLasting(
      shardOf(subject),
      mcpServerId,
      { ...charge, owner: mcpServerId },
      payer && shareOf(payer.quota),
    );
    if (refused) throw new QuotaExceededError(mcpServerId, refused.retryAfterMs);
    this.#ledger.charge(shardOf(subject), mcpServerId, [{ ...charge, endsAt: Infinity }], false);
    this.#note(subject, { payer: mcpServerId });
  }

  /** Called before the change itself. */
  #noteChange(subject: Subject): void {
    const now = this.#database.now();
    const known = this.#factsOf(subject).change;
    const isGoingOn =
      known !== undefined &&
      now - known.at < PASSKEY_NOTICE_MS &&
      !this.#of(subject).some(({ createdAt, lastUsedAt = 0 }) => createdAt < known.since && lastUsedAt > known.at);
    this.#note(subject, { change: { since: isGoingOn ? known.since : now, at: now } });
  }

  #note(subject: Subject, change: Facts): void {
    this.#facts.put(keyOf(subject), { ...this.#factsOf(subject), ...change });
  }

  #factsOf(subject: Subject): Facts {
    return this.#facts.get(keyOf(subject)) ?? {};
  }

  #put(passkey: Passkey): void {
    this.#rows.put(keyOf(passkey.subject, passkey.passkeyId), passkey);
  }

  #of(subject: Subject): readonly Passkey[] {
    return this.#rows.of(keyOf(subject));
  }
}
