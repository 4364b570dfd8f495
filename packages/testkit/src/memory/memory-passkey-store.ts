import {
  type Clock,
  isSameSubject,
  type NewPasskey,
  type Passkey,
  type PasskeyStore,
  RECORD_LAYOUT,
  RESET_DELAY_MS,
  type Subject,
} from '@postern/elicitation';

/** The passkey port in one process. Atomic because every verb runs without awaiting anything. */
export class MemoryPasskeyStore implements PasskeyStore {
  readonly #now: Clock;
  /** In the order in which they were added. */
  #rows: readonly Passkey[] = [];
  readonly #reset = new Set<string>();
  readonly #from = new Map<string, number>();

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
  ): Promise<'added' | 'exists' | 'full' | 'not_permitted'> {
    const own = this.#of(passkey.subject);
    if (own.some(({ passkeyId }) => passkeyId === passkey.passkeyId)) return 'exists';
    if (permittedBy !== undefined && own.every(({ passkeyId }) => passkeyId !== permittedBy)) return 'not_permitted';
    if (own.length >= max) return 'full';
    const key = keyOf(passkey.subject);
    if (this.#reset.delete(key)) this.#from.set(key, this.#now() + RESET_DELAY_MS);
    this.#rows = [...this.#rows, { ...passkey, layout: RECORD_LAYOUT, createdAt: this.#now() }];
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

  async remove(subject: Subject, passkeyId: string): Promise<boolean> {
    const own = this.#of(subject).find(passkey => passkey.passkeyId === passkeyId);
    this.#rows = this.#rows.filter(passkey => passkey !== own);
    return own !== undefined;
  }

  async reset(subject: Subject): Promise<number> {
    const own = this.#of(subject);
    this.#rows = this.#rows.filter(passkey => !own.includes(passkey));
    if (own.length > 0) this.#reset.add(keyOf(subject));
    return own.length;
  }

  async countFrom(subject: Subject): Promise<number | undefined> {
    return this.#from.get(keyOf(subject));
  }

  #of(subject: Subject): readonly Passkey[] {
    return this.#rows.filter(passkey => isSameSubject(passkey.subject, subject));
  }
}

const keyOf = ({ issuer, subject }: Subject) => JSON.stringify([issuer, subject]);
