import type { StorageQuota } from '@postern/elicitation';
import type { GatewayConfig } from './config-schema.ts';
import type { McpServerConfig } from './mcp-server-config.ts';

const MIB = 1024 * 1024;
/** Redis memory of one event in a feed, in bytes. Redis trims feeds in batches, so a feed holds up to 2 % more than configured. */
const BYTES_PER_EVENT = 160;
const SURPLUS = 1.02;
/** Minimum left for records, in bytes. */
const LEAST_BYTES = 32 * MIB;

type QuotaConfig = Pick<GatewayConfig, 'events' | 'limits'>;

/** Returns the storage quota of an MCP server without its feed. The feed counts as full, because events are never refused. */
export function storageQuotaOf({ limits }: Pick<McpServerConfig, 'limits'>, config: QuotaConfig): StorageQuota {
  return {
    records: limits.storedRecords ?? config.limits.storedRecords,
    bytes: (limits.storedMegabytes ?? config.limits.storedMegabytes) * MIB - feedBytes(config),
  };
}

export function leavesRoom(server: Pick<McpServerConfig, 'limits'>, config: QuotaConfig): boolean {
  return storageQuotaOf(server, config).bytes >= LEAST_BYTES;
}

function feedBytes({ events }: Pick<GatewayConfig, 'events'>): number {
  return Math.ceil(events.retained * SURPLUS * BYTES_PER_EVENT);
}
