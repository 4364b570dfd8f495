import type { Fault } from '../fault.ts';

export const consoleFaults: readonly Fault[] = [
  {
    name: 'the console gives an operator a role that nobody configured',
    breaks: 'S137',
    file: 'services/gateway/src/console/roles.ts',
    original: 'configured[role].some(value => groups.includes(value))',
    replacement: 'configured[role].length > 0',
    foundBy: ['services/gateway/src/console/roles.test.ts'],
  },
  {
    name: 'a lower role suffices for a page of a higher one',
    breaks: 'S137',
    file: 'services/gateway/src/console/roles.ts',
    original: 'roles.indexOf(role) >= roles.indexOf(needed)',
    replacement: 'roles.includes(role)',
    foundBy: ['services/gateway/src/console/roles.test.ts'],
  },
  {
    name: 'the console sends a browser to another site after the sign-in',
    breaks: 'S135',
    file: 'services/gateway/src/console/console-guard.ts',
    original: '(?![/\\\\])',
    replacement: '',
    foundBy: ['services/gateway/src/console/roles.test.ts'],
  },
  {
    name: 'a repeated job removes the connection that its user made since',
    breaks: 'S146',
    file: 'packages/store-redis/src/commands/remove-connection.lua',
    original: "if ARGV[6] ~= '' and tonumber(found[2]) > tonumber(ARGV[6]) then return {} end",
    replacement: '',
    foundBy: ['packages/store-redis/src/redis-stores.integration.test.ts'],
  },
  {
    name: 'a replica that has lost its lease moves a job',
    breaks: 'S146',
    file: 'packages/store-redis/src/commands/move-job.lua',
    original: "string.match(found[2] or '', '^%d+ (.*)$') ~= ARGV[2]",
    replacement: 'false',
    foundBy: ['packages/store-redis/src/redis-job-store.integration.test.ts'],
  },
];
