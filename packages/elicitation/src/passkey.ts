import type { Shard, Subject } from './ids.ts';
import type { StorageQuota } from './mcp-server.ts';

/** A user's WebAuthn credential, for approvals above a threshold. Contains a public key and no secret. */
export interface Passkey {
  /** WebAuthn credential id, base64url. */
  readonly passkeyId: string;
  readonly subject: Subject;
  /** COSE key, base64url. */
  readonly publicKey: string;
  /** WebAuthn signature counter; 0 if the authenticator has none. */
  readonly signCount: number;
  readonly transports: readonly string[];
  /** Whether it is stored in more than one place (WebAuthn backup state). */
  readonly backedUp: boolean;
  /** The name that the user chose, or the authenticator's name. */
  readonly label: string;
  readonly createdAt: number;
  readonly lastUsedAt?: number;
}

export type NewPasskey = Omit<Passkey, 'createdAt' | 'lastUsedAt'>;

/**
 * Delay in milliseconds before a first passkey counts if it does not count immediately, as after a reset. It gives the user time
 * to notice a passkey that they did not add.
 */
export const FIRST_DELAY_MS = 24 * 3_600_000;

/** How long pages show that the user's passkeys have changed, in milliseconds. An assertion by an older passkey ends it early. */
export const PASSKEY_NOTICE_MS = 14 * 24 * 3_600_000;

/**
 * Whether a first passkey counts immediately, approves only payments within the limit for first passkeys until the delay has passed, or
 * counts only then.
 */
export type FirstPasskey = 'counts' | 'limited' | 'later';

/** Before `at`, in epoch milliseconds, the user's passkeys approve only payments within the limit for first passkeys, or none. */
export interface PasskeysCountFrom {
  readonly at: number;
  readonly isLimited: boolean;
}

/**
 * Changes to the passkeys of a user, in epoch milliseconds: the last change, and the first one after which no older passkey was
 * used. A passkey older than `since` that is used after `at` shows that the user knows of the changes.
 */
export interface PasskeyChange {
  readonly since: number;
  readonly at: number;
}

/** The MCP server that says who a user is, and its quota, which counts the passkeys of the user. */
export interface PasskeyPayer {
  readonly mcpServerId: string;
  readonly quota: StorageQuota;
}

/** A passkey change that the operator is notified of. It identifies the user only to holders of the key. */
export interface PasskeyAnnouncement {
  /** Stable: a repeat of the same announcement has the same id. */
  readonly eventId: string;
  readonly type: 'passkey.added' | 'passkey.removed' | 'passkey.reset';
  /** Keyed pseudonym of the user. */
  readonly pseudonym: string;
  /** Epoch milliseconds. */
  readonly occurredAt: number;
}

/** Announcements, from the commit of the change until their delivery. */
export interface PasskeyAnnouncements {
  /** Oldest first. */
  read(shard: Shard, limit: number): Promise<readonly PasskeyAnnouncement[]>;
  remove(announcement: PasskeyAnnouncement): Promise<void>;
}

/** With `announcedAs`, the pseudonym of the user, the commit of a change also stores its announcement. */
export interface PasskeyStore {
  /** Oldest first. */
  list(subject: Subject): Promise<readonly Passkey[]>;
  /**
   * Returns `full` if the user already has `max` passkeys, `exists` if this user has a passkey with that id, and `not_permitted`
   * if `permittedBy`, the passkey that authorized this one, no longer exists.
   * @param first for a user without passkeys; after a reset it is always `later`. Default `counts`.
   * @param payer for a first passkey, unless a sign-in at an identity provider says who the user is. It pays for further ones too.
   * @throws QuotaExceededError
   */
  add(
    passkey: NewPasskey,
    max: number,
    permittedBy?: string,
    first?: FirstPasskey,
    announcedAs?: string,
    payer?: PasskeyPayer,
  ): Promise<'added' | 'exists' | 'full' | 'not_permitted'>;
  /**
   * Records a verified assertion. `stale` if the authenticator has a counter that did not grow (WebAuthn 7.2 step 22): nothing is
   * written, and the assertion must not count. Two assertions with the same counter cannot both be `used`.
   */
  use(p: {
    readonly subject: Subject;
    readonly passkeyId: string;
    readonly signCount: number;
    readonly backedUp: boolean;
  }): Promise<'used' | 'stale' | 'unknown'>;
  /** Changes the name. Returns false if there was none. */
  rename(subject: Subject, passkeyId: string, label: string): Promise<boolean>;
  /** Returns false if there was none. */
  remove(subject: Subject, passkeyId: string, announcedAs?: string): Promise<boolean>;
  /**
   * Removes all passkeys for an operator, and returns their number. The user's next passkey counts only `FIRST_DELAY_MS` after it
   * was added, and no passkey that it authorizes counts earlier.
   */
  reset(subject: Subject, announcedAs?: string): Promise<number>;
  /** Undefined if every passkey of this user counts. */
  countFrom(subject: Subject): Promise<PasskeysCountFrom | undefined>;
  /** Undefined if no change is recorded. */
  lastChange(subject: Subject): Promise<PasskeyChange | undefined>;
}
