import type { Fault } from '../fault.ts';

/** S73: what is stored for an MCP server is counted, and bounded. */
export const storageQuotaFaults: readonly Fault[] = [
  {
    name: 'Lua: an ask over the storage quota is stored',
    breaks: 'S73',
    file: 'packages/store-redis/src/commands/create-elicitation.lua',
    original: "if not is_within(ledger, 7) then return { 'over_quota', retry_after(ledger) } end\n",
    replacement: '',
    foundBy: ['packages/store-redis/src/redis-stores.integration.test.ts'],
    only: 'Redis: quota of an MCP server',
  },
  {
    name: 'Lua: an Idempotency-Key over the storage quota is stored',
    breaks: 'S73',
    file: 'packages/store-redis/src/commands/begin-idempotency.lua',
    original: "if not is_within(ledger, 7) then return { 'over_quota', retry_after(ledger) } end\n",
    replacement: '',
    foundBy: ['packages/store-redis/src/redis-stores.integration.test.ts'],
    only: 'Redis: quota of an MCP server',
  },
  {
    name: 'Lua: a result over the storage quota is stored',
    breaks: 'S73',
    file: 'packages/store-redis/src/commands/transition-elicitation.lua',
    original: "if is_adding and not is_within(ledger, 8) then return { 'over_quota', retry_after(ledger) } end\n",
    replacement: '',
    foundBy: ['packages/store-redis/src/redis-stores.integration.test.ts'],
    only: 'Redis: quota of an MCP server',
  },
  {
    name: 'Lua: an elicitation is no longer counted once it has ended',
    breaks: 'S73',
    file: 'packages/store-redis/src/commands/transition-elicitation.lua',
    original: 'local charged = charge(ledger, ends, math.max(bytes, bytes_of(charged_before)))',
    replacement:
      "local charged = ARGV[7] == 'ended' and '' or charge(ledger, ends, math.max(bytes, bytes_of(charged_before)))",
    foundBy: ['packages/store-redis/src/redis-stores.integration.test.ts'],
    only: 'Redis: quota of an MCP server',
  },
  {
    name: 'Lua: a payment is no longer counted while nobody knows whether it was made',
    breaks: 'S73',
    file: 'packages/store-redis/src/commands/transition-elicitation.lua',
    original: "local ends = now + tonumber(ARGV[7] == 'charging' and ARGV[21] or ARGV[8])",
    replacement: 'local ends = now + tonumber(ARGV[8])',
    foundBy: ['packages/store-redis/src/redis-stores.integration.test.ts'],
    only: 'Redis: quota of an MCP server',
  },
  {
    name: 'the shards together keep twice the storage quota',
    breaks: 'S73',
    file: 'packages/elicitation/src/storage-quota.ts',
    original: 'records: Math.floor(records / SHARDS.length)',
    replacement: 'records: Math.floor((2 * records) / SHARDS.length)',
    foundBy: ['packages/store-redis/src/redis-stores.integration.test.ts'],
    only: 'Redis: quota of an MCP server',
  },
  {
    name: 'the feed is not taken off the storage quota',
    breaks: 'S73',
    file: 'services/gateway/src/config/storage-quota.ts',
    original: ' * MIB - feedBytes(config)',
    replacement: ' * MIB',
    foundBy: ['services/gateway/src/config/storage-quota.test.ts'],
  },
];
