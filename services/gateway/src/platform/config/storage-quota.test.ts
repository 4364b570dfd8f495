import { SHARDS, shardOf, shareOf } from '@postern/elicitation';
import { isShortRun } from '@postern/testkit/run-size';
import { describe, expect, it } from 'vitest';
import { sampleConfig, sampleMcpServer } from '../../testing/sample-config.ts';
import { parseConfig } from './load-config.ts';
import { leavesRoom, storageQuotaOf } from './mcp-server-config.ts';

const MIB = 1024 * 1024;
const ISSUER = 'https://id.example';

function quotaWith(config: Parameters<typeof sampleConfig>[0] = {}, limits = {}) {
  const parsed = parseConfig(sampleConfig({ ...config, mcpServers: [{ ...sampleMcpServer, limits }] }));
  const [server] = parsed.mcpServers;
  if (server === undefined) throw new Error('Expected an MCP server.');
  return storageQuotaOf(server, parsed);
}

describe('the storage quota of an MCP server', () => {
  it('the storage quota of an MCP server is that of the gateway unless the MCP server has its own', () => {
    const limits = { storedRecords: 30_000, storedMegabytes: 100 };
    expect(quotaWith({ limits })).toEqual(quotaWith({}, limits));
    expect(quotaWith({ limits }, { storedRecords: 40_000 })).toEqual({ ...quotaWith({ limits }), records: 40_000 });
  });

  it('one person has all of it on a file, and with Redis the part of a shard', () => {
    const limits = { storedRecords: 30_000, storedMegabytes: 100 };
    const server = { ...sampleMcpServer, identity: { mode: 'loopback' as const } };
    const local = { publicUrl: 'http://127.0.0.1:8080', redis: {}, identityProviders: [], providers: [], limits };
    const parsed = parseConfig(sampleConfig({ ...local, mcpServers: [{ ...server, providers: [] }] }));
    const [first] = parsed.mcpServers;
    expect(first && shareOf(storageQuotaOf(first, parsed)).records).toBe(30_000);
    expect(shareOf(quotaWith({ limits })).records).toBe(Math.floor(30_000 / SHARDS.length));
  });

  it('S73: leaves out the feed of events, which counts as full', () => {
    const least = quotaWith({ events: { retained: 100 } });
    const most = quotaWith({ events: { retained: 1_000_000 } });
    expect(least.bytes).toBeLessThan(256 * MIB);
    expect(least.bytes - most.bytes).toBeGreaterThan(999_900 * 150);
  });

  it('the storage quota of an MCP server is refused where the feed leaves too little', () => {
    const config = { events: { retained: 1_000_000, retainedDays: 7 }, limits: { pageRequestsPerMinute: 1 } };
    const limits = { storedRecords: 30_000, storedMegabytes: 64 };
    const parsed = parseConfig(sampleConfig());
    const [server] = parsed.mcpServers;
    if (server === undefined) throw new Error('Expected an MCP server.');
    expect(leavesRoom(server, { ...config, limits: { ...config.limits, ...limits } })).toBe(false);
    expect(leavesRoom(server, parsed)).toBe(true);
  });

  /** Bytes that a typical ask and the record of its Idempotency-Key are charged: 400 and 134 bytes of text. */
  const ASK_BYTES = 400 * 1.25 + 2_048;
  const KEY_BYTES = 134 * 1.25 + 256;

  /** Asks of as many people as there are, each once, until the first is refused. */
  function asksBeforeRefusal(run: number): number {
    const share = shareOf(quotaWith());
    const used = new Map(SHARDS.map(shard => [shard, { records: 0, bytes: 0 }]));
    const store = (name: string) => {
      const shard = used.get(shardOf({ issuer: ISSUER, subject: name })) ?? { records: 0, bytes: 0 };
      shard.records += 2;
      shard.bytes += ASK_BYTES + KEY_BYTES;
      return shard.records <= (share.records * 7) / 8 && shard.bytes <= (share.bytes * 7) / 8;
    };
    let asks = 0;
    while (store(`user-${run}-${asks}`)) asks += 1;
    return asks;
  }

  /** Users with one connection each, until the first of them finds no room. Half of a share is for lasting records. */
  function usersBeforeRefusal(connectionBytes: number): number {
    const most = shareOf(quotaWith()).bytes / 2;
    const used = new Map<string, number>();
    for (let users = 0; ; users += 1) {
      const shard = shardOf({ issuer: ISSUER, subject: `user-${users}` });
      const bytes = (used.get(shard) ?? 0) + connectionBytes;
      if (bytes > most) return users;
      used.set(shard, bytes);
    }
  }

  it('S203: has room for the connections of as many users as docs/redis.md says', () => {
    // Opaque tokens of 40 characters; JSON Web Tokens of 2,200 and 1,500 characters.
    expect(usersBeforeRefusal(2_100)).toBeGreaterThan(45_000);
    expect(usersBeforeRefusal(8_230)).toBeGreaterThan(10_000);
  });

  it('S73: refuses an honest MCP server with many users no sooner than docs/redis.md says: at three quarters of the bound', () => {
    const { bytes } = quotaWith();
    const asks = (isShortRun ? [1] : [1, 2, 3]).map(asksBeforeRefusal);
    for (const each of asks) {
      expect((each * (ASK_BYTES + KEY_BYTES)) / bytes).toBeGreaterThan(0.7);
      expect(each).toBeGreaterThan(50_000);
    }
  });
});
