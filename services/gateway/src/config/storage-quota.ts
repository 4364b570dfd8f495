import type { StorageQuota } from '@postern/elicitation';
import type { GatewayConfig, McpServerConfig } from './config-schema.ts';

const MIB = 1024 * 1024;
/** Redis memory of one event in a feed. Redis drops the oldest a few at a time, so a feed has up to a fiftieth more than it keeps. */
const BYTES_PER_EVENT = 160;
const SURPLUS = 1.02;
/** What is left for records at least, in bytes. */
const LEAST_BYTES = 32 * MIB;

type QuotaConfig = Pick<GatewayConfig, 'events' | 'limits'>;

/** What may be stored for an MCP server beside its feed. The feed counts as full, because no event may be refused. */
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
