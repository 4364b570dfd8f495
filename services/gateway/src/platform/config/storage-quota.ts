import { SHARDS, type StorageQuota } from '@postern/elicitation';
import type { GatewayConfig } from './config-schema.ts';
import type { McpServerConfig } from './mcp-server-config.ts';
import { hasRedis } from './redis-config.ts';

const MIB = 1024 * 1024;
/** Redis memory of one event in a feed, in bytes. Redis trims feeds in batches, so a feed holds up to 2 % more than configured. */
const BYTES_PER_EVENT = 160;
const SURPLUS = 1.02;
/** Minimum left for records, in bytes. */
const LEAST_BYTES = 32 * MIB;

/** Returns the storage quota of an MCP server without its feed. The feed counts as full, because events are never refused. */
export function storageQuotaOf(
  { limits }: Pick<McpServerConfig, 'limits'>,
  config: Pick<GatewayConfig, 'events' | 'limits' | 'redis'>,
): StorageQuota {
  const records = limits.storedRecords ?? config.limits.storedRecords;
  return { records, bytes: bytesOf({ limits }, config), parts: quotaPartsOf(config) };
}

export function leavesRoom(
  server: Pick<McpServerConfig, 'limits'>,
  config: Pick<GatewayConfig, 'events' | 'limits'>,
): boolean {
  return bytesOf(server, config) >= LEAST_BYTES;
}

const bytesOf = ({ limits }: Pick<McpServerConfig, 'limits'>, config: Pick<GatewayConfig, 'events' | 'limits'>) =>
  (limits.storedMegabytes ?? config.limits.storedMegabytes) * MIB - feedBytes(config);

function feedBytes({ events }: Pick<GatewayConfig, 'events'>): number {
  return Math.ceil(events.retained * SURPLUS * BYTES_PER_EVENT);
}

/** Equal parts of a quota, of which each person is in one. A file has one: the records in it are of the one person of this machine. */
const quotaPartsOf = (config: Pick<GatewayConfig, 'redis'>): number => (hasRedis(config) ? SHARDS.length : 1);
