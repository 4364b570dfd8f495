import { shareOf } from '@postern/elicitation';
import type { RedisStores } from '@postern/store-redis';
import type { RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';

/** Of the share of a shard: above it, the gateway refuses new requests. Users can still answer. */
const REFUSES_ABOVE = 7 / 8;

/** How much of its storage quota each MCP server uses, without its events, which have a part of their own. The fullest first. */
export function createStorageReport(p: {
  readonly stores: Pick<RedisStores, 'storageUse'>;
  readonly mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
}) {
  return async () => {
    const found = await p.stores.storageUse.read([...p.mcpServers.keys()]);
    return found
      .flatMap(({ mcpServerId, records, bytes, shards }) => {
        const quota = p.mcpServers.get(mcpServerId)?.limits.quota;
        if (quota === undefined) return [];
        const share = shareOf(quota);
        const fullest = shards.reduce(
          (most, shard) => Math.max(most, shard.records / share.records, shard.bytes / share.bytes),
          0,
        );
        return [
          {
            ...{ mcpServerId, records, recordsQuota: quota.records, bytes, bytesQuota: quota.bytes },
            /** Used part of the fullest shard. The quota is divided equally among the shards, and each person is in one. */
            fullestShard: Math.round(fullest * 1000) / 1000,
            isRefusing: fullest > REFUSES_ABOVE,
          },
        ];
      })
      .sort((a, b) => b.fullestShard - a.fullestShard || (a.mcpServerId < b.mcpServerId ? -1 : 1));
  };
}
