import { SHARDS } from './ids.ts';

/** How much may be stored for one MCP server at once, until it expires. */
export interface StorageQuota {
  readonly records: number;
  readonly bytes: number;
}

/**
 * What each shard may keep of a quota. A record commits in the slot of its subject, so a shard cannot know what the others keep: the even
 * part is the most with which all of them together never exceed the quota.
 */
export function shareOf({ records, bytes }: StorageQuota): StorageQuota {
  return { records: Math.floor(records / SHARDS.length), bytes: Math.floor(bytes / SHARDS.length) };
}
