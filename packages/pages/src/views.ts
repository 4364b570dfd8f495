import type { Locale } from './locale.ts';

/** What the operator configured about the look of the pages. */
export interface Branding {
  /** The name people know the operator by. */
  readonly name: string;
  /** Path of an image on our own origin. */
  readonly logoPath?: string;
  /** `#rrggbb`. Used as it is for surfaces, and made readable where it is text. */
  readonly accent?: string;
  /** `#rrggbb` for dark pages; derived from `accent` when absent. */
  readonly accentDark?: string;
  /** `https:`, `mailto:` or a path on our own origin. */
  readonly supportUrl?: string;
}

/** What every page needs to know about the request it answers. */
export interface PageContext {
  readonly locale: Locale;
  readonly branding: Branding;
  /** From {@link stylesheet}. */
  readonly stylesheetPath: string;
  /**
   * Request id of a failure that only the operator can mend. Pages that say why something failed say so, and name it, instead of
   * sending the person into another attempt.
   */
  readonly operatorReference?: string;
  /** When a passkey of the person was added or removed, as long as they may not know. Every page says so. */
  readonly passkeysChangedAt?: Date;
}

/** The registered identity of the MCP server that asks. */
export interface McpServerView {
  readonly name: string;
  /** As `displayHost` makes it. */
  readonly host: string;
  /** Path of an image on our own origin. */
  readonly logoPath?: string;
}

/** Who is signed in in this browser. */
export interface PersonView {
  readonly displayName: string;
  /** What tells two accounts of the same name apart: an e-mail address or a user name. */
  readonly detail?: string;
  /** Host of the identity provider, as `displayHost` makes it. */
  readonly signInHost?: string;
}

/** One permission at a provider. */
export interface ScopeView {
  /** The provider's own identifier; shown only when there is no description. */
  readonly scope: string;
  /** What it allows, in words that complete "It would be able to …". */
  readonly description?: string;
}

/** A permission that the person is asked for. */
export interface RequestedScopeView extends ScopeView {
  /** Not agreed to before. Only told apart where others were. */
  readonly isNew?: boolean;
}

/** The typed facts of an elicitation of kind `authorization`. */
export interface AuthorizationView {
  readonly providerName: string;
  /** As `displayHost` makes it. */
  readonly destinationHost: string;
  readonly scopes: readonly RequestedScopeView[];
  /** Present where the person connected this account before. */
  readonly reconnect?: {
    readonly reason: 'refused' | 'rejected' | 'expired' | 'more_scopes';
    readonly connectedAt: Date;
  };
}

/** An account that MCP servers may use, as its person sees it. One of these is what can be disconnected. */
export interface ConnectedAccountView {
  readonly providerName: string;
  /** The account, as the provider names it. */
  readonly accountName?: string;
  /** All that may use it. Empty where none of them is registered any more. */
  readonly mcpServers: readonly McpServerView[];
}

/** What the MCP server claims about where its request comes from. Shown as a claim, never trusted. */
export interface RequestedByView {
  readonly mcpClient?: string;
  readonly tool?: string;
}
