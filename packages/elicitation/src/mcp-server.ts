import type { IdentityMode } from './elicitation.ts';
import type { Kind } from './requests.ts';
import type { StorageQuota } from './storage-quota.ts';

/** A registered caller of the API and what it may ask for. */
export interface McpServer {
  readonly mcpServerId: string;
  readonly identityMode: IdentityMode;
  /** Who owns the connections made for it: itself, or a group the operator declared. */
  readonly connectionOwner: string;
  readonly kinds: readonly Kind[];
  readonly providers: readonly string[];
  /** Which payments it may ask for; absent: none. A currency without a limit is refused. */
  readonly payment?: {
    readonly processors: readonly string[];
    /** Greatest amount of one payment by ISO 4217 currency, in minor units. */
    readonly maxMinorUnits: Readonly<Record<string, number>>;
  };
  /** Issuers whose subjects it may name. */
  readonly issuers: readonly string[];
  /** Matched exactly (RFC 9700 section 4.11). */
  readonly returnUrls: readonly string[];
  readonly limits: {
    readonly subjectMax: number;
    readonly subjectWindowMs: number;
    readonly maxTtlMs: number;
    readonly quota: StorageQuota;
  };
}

/** What the domain must know of a provider. */
export interface ProviderFacts {
  readonly defaultScopes: readonly string[];
}
