import { SHARDS, type StorageQuota } from '@postern/elicitation';
import type { McpServerConfig } from './mcp-server-config.ts';
import { hasRedis, type RedisConfig } from './redis-config.ts';

/** The sections that a quota depends on. */
interface QuotaConfig {
  readonly events: { readonly retained: number };
  readonly limits: { readonly storedRecords: number; readonly storedMegabytes: number };
  readonly redis: RedisConfig;
}

const MIB = 1024 * 1024;
/** Redis memory of one event in a feed, in bytes. Redis trims feeds in batches, so a feed holds up to 2 % more than configured. */
const BYTES_PER_EVENT = 160;
const SURPLUS = 1.02;
/** Minimum left for records, in bytes. */
const LEAST_BYTES = 32 * MIB;

/** Returns the storage quota of an MCP server without its feed. The feed counts as full, because events are never refused. */
export function storageQuotaOf({ limits }: Pick<McpServerConfig, 'limits'>, config: QuotaConfig): StorageQuota {
  const records = limits.storedRecords ?? config.limits.storedRecords;
  return { records, bytes: bytesOf({ limits }, config), parts: quotaPartsOf(config) };
}

export function leavesRoom(server: Pick<McpServerConfig, 'limits'>, config: Omit<QuotaConfig, 'redis'>): boolean {
  return bytesOf(server, config) >= LEAST_BYTES;
}

const bytesOf = ({ limits }: Pick<McpServerConfig, 'limits'>, config: Omit<QuotaConfig, 'redis'>) =>
  (limits.storedMegabytes ?? config.limits.storedMegabytes) * MIB - feedBytes(config);

function feedBytes({ events }: Pick<QuotaConfig, 'events'>): number {
  return Math.ceil(events.retained * SURPLUS * BYTES_PER_EVENT);
}

/** Equal parts of a quota, of which each person is in one. A file has one: the records in it are of the one person of this machine. */
const quotaPartsOf = (config: Pick<QuotaConfig, 'redis'>): number => (hasRedis(config) ? SHARDS.length : 1);
