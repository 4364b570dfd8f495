import { overAFile } from '../support/world-store.ts';

overAFile([
  ['e2e/happy-path.browser.test.ts'],
  ['e2e/growing-scopes.test.ts'],
  ['e2e/reconnecting.test.ts'],
  ['e2e/disconnecting.slow.test.ts'],
  ['e2e/partial-revocation.slow.test.ts'],
  ['e2e/token-refresh.test.ts', 'grace period', 'if the other refresh'],
  ['e2e/token-refresh-failures.slow.test.ts', 'does not end the newer'],
  ['e2e/device-flow.browser.test.ts', 'a GET of the code page', 'only the user sees', 'identity mode external'],
  ['e2e/provider-failures.slow.test.ts'],
  ['e2e/outbound-failures.test.ts', 'a wrong client secret', 'a failed credential check'],
  [
    'e2e/account.test.ts',
    'signs all of them out',
    'the history',
    'the download holds',
    'removes connections',
    'many concurrent',
    'leaves audit',
  ],
  [
    'e2e/connections-page.browser.test.ts',
    'until it is answered',
    'verified by an application',
    'a hundred GETs',
    'works without JavaScript',
  ],
]);
