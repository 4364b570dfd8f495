import { expect, test } from 'vitest';
import { createStorageReport } from './storage-report.ts';

const quota = { records: 256 * 16, bytes: 256 * 65_536 };
const NONE = { records: 0, bytes: 0 };

/** Reports MCP servers whose fullest shard has these numbers of records, in all and lasting. */
async function refusing(uses: Readonly<Record<string, readonly [records: number, lasting: number]>>) {
  const server = (mcpServerId: string, connectionOwner = mcpServerId) =>
    [mcpServerId, { mcpServerId, connectionOwner, limits: { quota } }] as const;
  const report = createStorageReport({
    stores: {
      storageUse: {
        read: async owners =>
          owners.map(owner => {
            const [records, lasting] = uses[owner] ?? [0, 0];
            const full = { records, bytes: 0, lasting: { records: lasting, bytes: 0 } };
            return { owner, records, bytes: 0, shards: [{ ...NONE, lasting: NONE }, full] };
          }),
      },
    },
    mcpServers: new Map([server('alone'), server('one', 'group:team'), server('two', 'group:team')]),
  });
  return (await report()).filter(({ isRefusing }) => isRefusing).map(({ mcpServerId }) => mcpServerId);
}

test('S203: an MCP server refuses above seven eighths of its quota, and from half of it in lasting records, its own or its group’s', async () => {
  expect(await refusing({ alone: [14, 7], 'group:team': [7, 7] })).toEqual([]);
  expect(await refusing({ alone: [15, 0] })).toEqual(['alone']);
  expect(await refusing({ alone: [8, 8] })).toEqual(['alone']);
  expect(await refusing({ 'group:team': [8, 8] })).toEqual(['one', 'two']);
});
