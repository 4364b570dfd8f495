import type { BrowserSessionId, ElicitationId, Subject } from './ids.ts';
import type { StorageQuota } from './mcp-server.ts';

/** A signed-in browser. The id is the cookie's value; stores keep only its digest. */
export interface BrowserSession {
  readonly id: BrowserSessionId;
  readonly subject: Subject;
  /** The identity provider that signed the user in, or the MCP server whose application vouched for them. */
  readonly origin: { readonly identityProvider: string } | { readonly vouchedBy: string };
  /** For display to the user; never compared. */
  readonly displayName: string;
  readonly detail?: string;
  /** When the user last authenticated (OpenID Connect Core `auth_time`), epoch milliseconds. */
  readonly authTime?: number;
  /** The elicitation whose page required this sign-in (`max_age=0`). */
  readonly provedFor?: ElicitationId;
  /** Product names of the browser and its system, for display to the user. Absent if unknown. */
  readonly browser?: string;
  /** Names the session at the identity provider (`sid`), so that its end ends this one. A digest of issuer and `sid`. */
  readonly logoutName?: string;
  /** Of an operator only: the values of the configured claim that name a role. */
  readonly groups?: readonly string[];
  readonly createdAt: number;
  /** Absolute end of the session, epoch milliseconds. */
  readonly endsAt: number;
}

export type NewBrowserSession = Omit<BrowserSession, 'createdAt' | 'endsAt'>;

/** The user of a browser session, and the authority that identified them. */
export type BrowserSessionOwner = Pick<BrowserSession, 'subject' | 'origin'>;

/** A browser session in the list of its user. `name` is the digest of its id, which is a bearer value. */
export type ListedBrowserSession = Omit<BrowserSession, 'id'> & { readonly name: string };

/** The MCP server whose application vouched for the user. */
export const vouchedBy = ({ origin }: Pick<BrowserSession, 'origin'>): string | undefined =>
  'vouchedBy' in origin ? origin.vouchedBy : undefined;

/** Whether `list` shows a session of the same user to its caller. */
export const isListedFor = (owner: BrowserSessionOwner, session: Pick<BrowserSession, 'origin'>): boolean =>
  vouchedBy(owner) === undefined || vouchedBy(owner) === vouchedBy(session);

/** Orders sessions as `list` does. */
export const compareBrowserSessions = (a: ListedBrowserSession, b: ListedBrowserSession): number =>
  b.createdAt - a.createdAt || (a.name < b.name ? -1 : 1);

/** The sessions that an identity provider reported as ended: those of one session there, or all that it signed in for a user. */
export type LogoutTarget =
  | { readonly logoutName: string }
  | { readonly subject: Subject; readonly identityProvider: string };

export interface BrowserSessionStore {
  /**
   * Creates a session. Of more than 20 that identity providers signed a user in with, or that one application vouched for, the oldest end.
   * @param quota of the MCP server whose application vouched for the user: the session counts against it until its absolute end
   * @throws QuotaExceededError
   */
  create(
    session: NewBrowserSession,
    lifetime: { readonly idleMs: number; readonly absoluteMs: number },
    quota?: StorageQuota,
  ): Promise<BrowserSession>;
  /** Does not extend the session. Returns undefined past its idle or absolute lifetime. */
  read(id: BrowserSessionId): Promise<BrowserSession | undefined>;
  /** Restarts the idle time, never beyond the absolute lifetime. */
  touch(id: BrowserSessionId): Promise<void>;
  end(id: BrowserSessionId): Promise<void>;
  /**
   * Browser sessions of a user that have not ended, newest first. For a user whom an application vouched for, only those that the same
   * application vouched for.
   */
  list(owner: BrowserSessionOwner): Promise<readonly ListedBrowserSession[]>;
  /**
   * Ends all sessions that `list` could show, in one step. A session that is created later is not affected. After a
   * failure, the session `owner.id` is either alive, or over with its record.
   * @param absoluteMs the longest time that a session can last
   */
  endAll(owner: BrowserSessionOwner & Partial<Pick<BrowserSession, 'id'>>, absoluteMs: number): Promise<void>;
  /**
   * Ends the sessions that an identity provider reported as ended, in one step. A session that is created later is not affected.
   * @param p.token digest that identifies the report
   * @param p.rememberMs how long the report is remembered
   * @returns false if this report was handled before: nothing is ended
   */
  logOut(
    target: LogoutTarget,
    p: { readonly token: string; readonly rememberMs: number; readonly absoluteMs: number },
  ): Promise<boolean>;
}
