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
];
