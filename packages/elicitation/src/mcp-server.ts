import type { IdentityMode, Kind } from './elicitation.ts';

/** A registered caller of the API and what it may ask for. */
export interface McpServer {
  readonly mcpServerId: string;
  readonly identityMode: IdentityMode;
  /** Who owns the connections made for it: itself, or a group the operator declared. */
  readonly connectionOwner: string;
  readonly kinds: readonly Kind[];
  readonly providers: readonly string[];
  /** Issuers whose subjects it may name. */
  readonly issuers: readonly string[];
  /** Matched exactly (RFC 9700 section 4.11). */
  readonly returnUrls: readonly string[];
  readonly limits: { readonly subjectMax: number; readonly subjectWindowMs: number; readonly maxTtlMs: number };
}

/** What the domain must know of a provider. */
export interface ProviderFacts {
  readonly defaultScopes: readonly string[];
}
