import type { IdentityMode, Kind } from './elicitation.ts';
import { SHARDS } from './ids.ts';

/** A registered caller of the API, and its permissions. */
export interface McpServer {
  readonly mcpServerId: string;
  readonly identityMode: IdentityMode;
  /** Owner of its connections: itself, or a group that the operator declared. */
  readonly connectionOwner: string;
  readonly kinds: readonly Kind[];
  readonly providers: readonly string[];
  /** Allowed payments; absent: none. A currency without a limit is refused. */
  readonly payment?: {
    readonly processors: readonly string[];
    /** Maximum amount of one payment by ISO 4217 currency, in minor units. */
    readonly maxMinorUnits: Readonly<Record<string, number>>;
  };
  /** Issuers whose subjects it may name. */
  readonly issuers: readonly string[];
  /** Matched exactly (RFC 9700 section 4.11). */
  readonly returnUrls: readonly string[];
  readonly limits: {
    readonly subjectMax: number;
    readonly subjectWindowMs: number;
    /** Maximum number of open elicitations per subject. */
    readonly openMax: number;
    readonly maxTtlMs: number;
    readonly quota: StorageQuota;
  };
}

/** The domain's view of a provider. */
export interface ProviderFacts {
  readonly defaultScopes: readonly string[];
}

/** Maximum number of unexpired records, and their size, for one MCP server. */
export interface StorageQuota {
  readonly records: number;
  readonly bytes: number;
  /** Equal parts, of which each shard has one. Default: as many as there are shards. */
  readonly parts?: number;
}

/**
 * The share of a quota in each shard. A record commits in the slot of its subject, so a shard cannot know the usage of the
 * others. An even share is the most with which all shards together never exceed the quota.
 */
export function shareOf({ records, bytes, parts = SHARDS.length }: StorageQuota): StorageQuota {
  return { records: Math.floor(records / parts), bytes: Math.floor(bytes / parts) };
}
