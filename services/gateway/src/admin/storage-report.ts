import { type StorageQuota, type Stores, shareOf } from '@postern/elicitation';
import type { RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';

/** Of the share of a shard: above it, the gateway refuses new requests. Users can still answer. */
const REFUSES_ABOVE = 7 / 8;
/** From this part of lasting records on, the gateway refuses requests for new ones. */
const REFUSES_LASTING_FROM = 1 / 2;

/** How much of its storage quota each MCP server uses, without its events, which have a part of their own. The fullest first. */
export function createStorageReport(p: {
  readonly stores: { readonly storageUse: Pick<Stores['storageUse'], 'read'> };
  readonly mcpServers: ReadonlyMap<
    string,
    Pick<RegisteredMcpServer, 'mcpServerId' | 'connectionOwner'> & {
      readonly limits: Pick<RegisteredMcpServer['limits'], 'quota'>;
    }
  >;
}) {
  return async () => {
    const servers = [...p.mcpServers.values()];
    const owners = new Set(servers.flatMap(({ mcpServerId, connectionOwner }) => [mcpServerId, connectionOwner]));
    const found = new Map((await p.stores.storageUse.read([...owners])).map(use => [use.owner, use]));
    return servers
      .flatMap(({ mcpServerId, connectionOwner, limits: { quota } }) => {
        const [own, shared] = [found.get(mcpServerId), found.get(connectionOwner)];
        if (own === undefined || shared === undefined) return [];
        const share = shareOf(quota);
        const fullestOf = (shards: readonly StorageQuota[]) =>
          shards.reduce((most, { records, bytes }) => Math.max(most, records / share.records, bytes / share.bytes), 0);
        const fullest = fullestOf(own.shards);
        const fullestLasting = fullestOf(shared.shards.map(({ lasting }) => lasting));
        return [
          {
            mcpServerId,
            records: own.records,
            recordsQuota: quota.records,
            bytes: own.bytes,
            bytesQuota: quota.bytes,
            /** Used part of the fullest shard. The quota is divided equally among the shards, and each person is in one. */
            fullestShard: Math.round(fullest * 1000) / 1000,
            isRefusing: fullest > REFUSES_ABOVE || fullestLasting >= REFUSES_LASTING_FROM,
          },
        ];
      })
      .sort((a, b) => b.fullestShard - a.fullestShard || (a.mcpServerId < b.mcpServerId ? -1 : 1));
  };
}
