import type { RECORD_LAYOUT } from './elicitation.ts';
import type { BrowserSessionId, ElicitationId } from './ids.ts';
import type { Subject } from './subject.ts';

/** A signed-in browser. The id is the cookie's value; stores keep only its digest. */
export interface BrowserSession {
  readonly layout: typeof RECORD_LAYOUT;
  readonly id: BrowserSessionId;
  readonly subject: Subject;
  /** The identity provider that signed the person in, or the MCP server whose application vouched. */
  readonly origin: { readonly identityProvider: string } | { readonly vouchedBy: string };
  /** For the person's own eyes; never compared. */
  readonly displayName: string;
  readonly detail?: string;
  /** When the person last proved who they are (OpenID Connect Core `auth_time`), epoch milliseconds. */
  readonly authTime?: number;
  /** The elicitation for which they proved it: the sign-in was demanded by its page, and nothing older would do (`max_age=0`). */
  readonly provedFor?: ElicitationId;
  readonly createdAt: number;
  /** Epoch milliseconds after which it is over whatever happens. */
  readonly endsAt: number;
}

export type NewBrowserSession = Omit<BrowserSession, 'layout' | 'createdAt' | 'endsAt'>;
