import {
  type Clock,
  FIRST_DELAY_MS,
  type FirstPasskey,
  isSameSubject,
  type NewPasskey,
  PASSKEY_NOTICE_MS,
  type Passkey,
  type PasskeyChange,
  type PasskeyStore,
  type PasskeysCountFrom,
  type Subject,
} from '@postern/elicitation';

/** The passkey port in one process. Atomic, because no verb awaits anything. */
export class MemoryPasskeyStore implements PasskeyStore {
  readonly #now: Clock;
  /** In insertion order. */
  #rows: readonly Passkey[] = [];
  readonly #reset = new Set<string>();
  readonly #from = new Map<string, PasskeysCountFrom>();
  readonly #changes = new Map<string, PasskeyChange>();

  constructor(now: Clock) {
    this.#now = now;
  }

  async list(subject: Subject): Promise<readonly Passkey[]> {
    return this.#of(subject);
  }

  async add(
    passkey: NewPasskey,
    max: number,
    permittedBy?: string,
    first: FirstPasskey = 'counts',
  ): Promise<'added' | 'exists' | 'full' | 'not_permitted'> {
    const own = this.#of(passkey.subject);
    if (own.some(({ passkeyId }) => passkeyId === passkey.passkeyId)) return 'exists';
    if (permittedBy !== undefined && own.every(({ passkeyId }) => passkeyId !== permittedBy)) return 'not_permitted';
    if (own.length >= max) return 'full';
    const key = keyOf(passkey.subject);
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
    return true;
  }

  async reset(subject: Subject): Promise<number> {
    const own = this.#of(subject);
    if (own.length === 0) return 0;
    this.#noteChange(subject);
    this.#rows = this.#rows.filter(passkey => !own.includes(passkey));
    this.#reset.add(keyOf(subject));
    return own.length;
  }

  async countFrom(subject: Subject): Promise<PasskeysCountFrom | undefined> {
    return this.#from.get(keyOf(subject));
  }

  async lastChange(subject: Subject): Promise<PasskeyChange | undefined> {
    return this.#changes.get(keyOf(subject));
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
