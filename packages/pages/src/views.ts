import type { ForeignText } from './foreign-text.ts';
import type { Locale } from './languages/languages.ts';

/** The operator's configuration of the look of the pages. */
export interface Branding {
  /** The operator's name, as users know it. */
  readonly name: string;
  /** An image for the header, with its size in pixels. One at least twice as wide as high replaces the name. */
  readonly logo?: LogoView & { readonly width: number; readonly height: number };
  /** Path of a square image for tabs and bookmarks. */
  readonly iconPath?: string;
  /** `#rrggbb`, not red. Adjusted where it is too close to the ground, and as text until it is readable. */
  readonly accent?: string;
  /** `#rrggbb` for dark pages; derived from `accent` when absent. */
  readonly accentDark?: string;
  /** `https:`, `mailto:` or a path on our own origin. */
  readonly supportUrl?: string;
  readonly privacyUrl?: string;
  readonly termsUrl?: string;
  /** Default: `soft`. */
  readonly corners?: 'square' | 'soft' | 'round';
  /** Font families of the users' devices: letters, digits and spaces only. */
  readonly fonts?: readonly string[];
}

/** An image on our own origin. */
export interface LogoView {
  readonly path: string;
  /** The variant for dark pages. */
  readonly darkPath?: string;
}

/** Data about the request that every page needs. */
export interface PageContext {
  readonly locale: Locale;
  /** IANA name of the reader's time zone; without it, times are in UTC and say so. */
  readonly timeZone?: string;
  /** Path and query of this page, where choosing another language leads back to. Without it, there is no choice. */
  readonly path?: string;
  readonly branding: Branding;
  /** From {@link stylesheet}. */
  readonly stylesheetPath: string;
  /**
   * Request id of a failure that only the operator can fix. Pages that explain a failure show it instead of suggesting
   * another attempt.
   */
  readonly operatorReference?: string;
  /** When a passkey of the user was added or removed, if the user may not know about it yet. Every page shows it. */
  readonly passkeysChangedAt?: Date;
}

/** The registered identity of the requesting MCP server. */
export interface McpServerView {
  readonly name: ForeignText;
  /** In the form of `displayHost`. */
  readonly host: string;
  /** A square image. Default: letters of its name. */
  readonly logo?: LogoView;
}

/** A provider as its users know it. */
export interface ProviderView {
  readonly providerName: string;
  /** One or two letters on the provider's colour, `#rrggbb`. Default: letters of its name. */
  readonly providerMark?: { readonly letters: string; readonly colour: string };
  /** A square image, which replaces the letters. */
  readonly providerLogo?: LogoView;
}

/** The user who is signed in in this browser. */
export interface PersonView {
  readonly displayName: string;
  /** Distinguishes accounts with the same name: an e-mail address or a user name. */
  readonly detail?: string;
  /** Host of the identity provider, as `displayHost` makes it. */
  readonly signInHost?: string;
}

/** One permission at a provider. */
export interface ScopeView {
  /** The provider's identifier; shown only without a description. */
  readonly scope: string;
  /** Stands alone: "See your name". */
  readonly description?: ForeignText;
  /** Language of the description (BCP 47), if it is known and not that of the page. */
  readonly language?: string;
  /** The most that it allows. Absent if unknown: shown with those that change something. */
  readonly access?: 'see' | 'change' | 'delete';
}

/** A permission that the user is asked to grant. */
export interface RequestedScopeView extends ScopeView {
  /** Not granted before. Marked only if other scopes were. */
  readonly isNew?: boolean;
}

/** The typed facts of an elicitation of kind `authorization`. */
export interface AuthorizationView extends ProviderView {
  /** In the form of `displayHost`. */
  readonly destinationHost: string;
  /** Host of the resource that the access is for, if known; in the form of `displayHost`. */
  readonly resourceHost?: string;
  readonly scopes: readonly RequestedScopeView[];
  /** Present if the user has connected this account before. */
  readonly reconnect?: {
    readonly reason: 'refused' | 'rejected' | 'expired' | 'more_scopes';
    readonly connectedAt: Date;
  };
}

/** A connected account as its user sees it. The user disconnects such an account as a whole. */
export interface ConnectedAccountView extends ProviderView {
  /** The account, as the provider names it. */
  readonly accountName?: string;
  /** All MCP servers that may use it; empty if none of them is registered. */
  readonly mcpServers: readonly McpServerView[];
}

/** The MCP server's claims about the origin of its request. Shown as claims, never trusted. */
export interface RequestedByView {
  readonly mcpClient?: string;
  readonly tool?: string;
}
