import type { RECORD_LAYOUT } from './elicitation.ts';
import type { Subject } from './subject.ts';

/** A person's WebAuthn credential, for approvals above a threshold. Holds a public key and nothing secret. */
export interface Passkey {
  readonly layout: typeof RECORD_LAYOUT;
  /** WebAuthn credential id, base64url. */
  readonly passkeyId: string;
  readonly subject: Subject;
  /** COSE key, base64url. */
  readonly publicKey: string;
  /** WebAuthn signature counter; 0 where the authenticator has none. */
  readonly signCount: number;
  readonly transports: readonly string[];
  /** Whether it is kept in more than one place (WebAuthn backup state). */
  readonly backedUp: boolean;
  /** What the person calls it, or the authenticator's own name. */
  readonly label: string;
  readonly createdAt: number;
  readonly lastUsedAt?: number;
}

export type NewPasskey = Omit<Passkey, 'layout' | 'createdAt' | 'lastUsedAt'>;

/**
 * A first passkey that does not count at once, as after a reset, counts this much later, in milliseconds: time for its person to notice what
 * they did not want.
 */
export const FIRST_DELAY_MS = 24 * 3_600_000;

/** For so long after a change of their passkeys, in milliseconds, pages tell the person, unless an older passkey was used since. */
export const PASSKEY_NOTICE_MS = 14 * 24 * 3_600_000;

/** Whether somebody's first passkey counts at once, until then within the limit for first passkeys, or only then. */
export type FirstPasskey = 'counts' | 'limited' | 'later';

/** Before `at`, in epoch milliseconds, the passkeys of a person approve what is within the limit for first passkeys, or nothing. */
export interface PasskeysCountFrom {
  readonly at: number;
  readonly isLimited: boolean;
}

/**
 * Changes to the passkeys of a person, in epoch milliseconds: the last one, and the first of those that no older passkey was used after. A
 * passkey that is older than `since` and was used after `at` shows that the person knows.
 */
export interface PasskeyChange {
  readonly since: number;
  readonly at: number;
}

export interface PasskeyStore {
  /** Oldest first. */
  list(subject: Subject): Promise<readonly Passkey[]>;
  /**
   * `full` when the person has `max` already; `exists` when this person has a passkey with that id; `not_permitted` when
   * `permittedBy`, the passkey that has permitted this one, is no longer there.
   * @param first of a person without passkeys; after a reset it is always `later`. Default `counts`.
   */
  add(
    passkey: NewPasskey,
    max: number,
    permittedBy?: string,
    first?: FirstPasskey,
  ): Promise<'added' | 'exists' | 'full' | 'not_permitted'>;
  /**
   * Notes a verified assertion. `stale` when the counter did not grow though the authenticator has one (WebAuthn 7.2 step 22):
   * nothing is written, and the assertion must not count. Two assertions with one counter cannot both be `used`.
   */
  use(p: {
    readonly subject: Subject;
    readonly passkeyId: string;
    readonly signCount: number;
    readonly backedUp: boolean;
  }): Promise<'used' | 'stale' | 'unknown'>;
  /** False where nothing was there. */
  remove(subject: Subject, passkeyId: string): Promise<boolean>;
  /**
   * Removes all of them, by the word of an operator, and returns how many there were. The next passkey of that person counts only
   * `FIRST_DELAY_MS` after it was added, and no earlier than that any passkey that it permits.
   */
  reset(subject: Subject): Promise<number>;
  /** Undefined where every passkey of this person counts. */
  countFrom(subject: Subject): Promise<PasskeysCountFrom | undefined>;
  /** Undefined where none is known. */
  lastChange(subject: Subject): Promise<PasskeyChange | undefined>;
}
