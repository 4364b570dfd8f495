import {
  type Clock,
  FIRST_DELAY_MS,
  type FirstPasskey,
  isSameSubject,
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
import type { MemoryLedger } from './memory-ledger.ts';

/** What the facts about the passkeys of a user and each passkey are charged. */
const FACTS_BYTES = 1_024;
const PASSKEY_BYTES = 1_024;

/** The passkey port in one process. Atomic, because no verb awaits anything. */
export class MemoryPasskeyStore implements PasskeyStore {
  readonly #now: Clock;
  /** In insertion order. */
  #rows: readonly Passkey[] = [];
  readonly #reset = new Set<string>();
  readonly #from = new Map<string, PasskeysCountFrom>();
  readonly #changes = new Map<string, PasskeyChange>();
  readonly #ledger: MemoryLedger;
  readonly #payers = new Map<string, string>();

  constructor(now: Clock, ledger: MemoryLedger) {
    this.#now = now;
    this.#ledger = ledger;
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
    const own = this.#of(passkey.subject);
    if (own.some(({ passkeyId }) => passkeyId === passkey.passkeyId)) return 'exists';
    if (permittedBy !== undefined && own.every(({ passkeyId }) => passkeyId !== permittedBy)) return 'not_permitted';
    if (own.length >= max) return 'full';
    const key = keyOf(passkey.subject);
    this.#charge(passkey.subject, own.length + 1, payer);
    this.#noteChange(passkey.subject);
    const isReset = this.#reset.delete(key);
    if (isReset || (first !== 'counts' && own.length === 0)) {
      const before = this.#from.get(key);
      const isWaiting = before !== undefined && before.at > this.#now() && !before.isLimited;
      const isLimited = !isReset && !isWaiting && first === 'limited';
      this.#from.set(key, { at: this.#now() + FIRST_DELAY_MS, isLimited });
    }
    this.#rows = [...this.#rows, { ...passkey, createdAt: this.#now() }];
    return 'added';
  }

  async use(p: Parameters<PasskeyStore['use']>[0]): Promise<'used' | 'stale' | 'unknown'> {
    const passkey = this.#of(p.subject).find(({ passkeyId }) => passkeyId === p.passkeyId);
    if (passkey === undefined) return 'unknown';
    const hasCounter = passkey.signCount !== 0 || p.signCount !== 0;
    if (hasCounter && p.signCount <= passkey.signCount) return 'stale';
    const { signCount, backedUp } = p;
    const used = { ...passkey, signCount, backedUp, lastUsedAt: this.#now() };
    this.#rows = this.#rows.map(each => (each === passkey ? used : each));
    return 'used';
  }

  async rename(subject: Subject, passkeyId: string, label: string): Promise<boolean> {
    const own = this.#of(subject).find(passkey => passkey.passkeyId === passkeyId);
    this.#rows = this.#rows.map(passkey => (passkey === own ? { ...passkey, label } : passkey));
    return own !== undefined;
  }

  async remove(subject: Subject, passkeyId: string): Promise<boolean> {
    const own = this.#of(subject).find(passkey => passkey.passkeyId === passkeyId);
    if (own === undefined) return false;
    this.#noteChange(subject);
    this.#rows = this.#rows.filter(passkey => passkey !== own);
    this.#charge(subject, this.#of(subject).length);
    return true;
  }

  async reset(subject: Subject): Promise<number> {
    const own = this.#of(subject);
    if (own.length === 0) return 0;
    this.#noteChange(subject);
    this.#rows = this.#rows.filter(passkey => !own.includes(passkey));
    this.#charge(subject, 0);
    this.#reset.add(keyOf(subject));
    return own.length;
  }

  async countFrom(subject: Subject): Promise<PasskeysCountFrom | undefined> {
    return this.#from.get(keyOf(subject));
  }

  async lastChange(subject: Subject): Promise<PasskeyChange | undefined> {
    return this.#changes.get(keyOf(subject));
  }

  /** Counts the passkeys of a user again, if an MCP server pays for them. @throws QuotaExceededError */
  #charge(subject: Subject, count: number, payer?: PasskeyPayer): void {
    const key = keyOf(subject);
    const mcpServerId = payer?.mcpServerId ?? this.#payers.get(key);
    if (mcpServerId === undefined) return;
    const charge = { id: key, bytes: FACTS_BYTES + count * PASSKEY_BYTES };
    const refused = this.#ledger.refuseLasting(
      shardOf(subject),
      mcpServerId,
      { ...charge, owner: mcpServerId },
      payer && shareOf(payer.quota),
    );
    if (refused) throw new QuotaExceededError(mcpServerId, refused.retryAfterMs);
    this.#ledger.charge(shardOf(subject), mcpServerId, [{ ...charge, endsAt: Infinity }], false);
    this.#payers.set(key, mcpServerId);
  }

  /** Called before the change itself. */
  #noteChange(subject: Subject): void {
    const now = this.#now();
    const known = this.#changes.get(keyOf(subject));
    const isGoingOn =
      known !== undefined &&
      now - known.at < PASSKEY_NOTICE_MS &&
      !this.#of(subject).some(({ createdAt, lastUsedAt = 0 }) => createdAt < known.since && lastUsedAt > known.at);
    this.#changes.set(keyOf(subject), { since: isGoingOn ? known.since : now, at: now });
  }

  #of(subject: Subject): readonly Passkey[] {
    return this.#rows.filter(passkey => isSameSubject(passkey.subject, subject));
  }
}

const keyOf = ({ issuer, subject }: Subject) => JSON.stringify([issuer, subject]);
