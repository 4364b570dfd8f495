import { overAFile } from '../support/world-store.ts';

overAFile([
  ['api/audit.slow.test.ts', 'by an application', 'wrong person', 'foreign browser'],
  ['api/http-surface.test.ts', 'JSON to a page', 'without a', 'in the sign-in redirect', 'in pages and redirects'],
  ['api/isolation.test.ts', 'delays neither', 'an eighth'],
  ['api/limits.test.ts', 'whose caller has disconnected', 'do not stop people', 'sets the client address'],
  ['api/metrics.test.ts', 'follow an authorization', 'distinguish outcomes'],
  ['api/mute.test.ts'],
  ['api/stopping.test.ts'],
  ['api/tenancy.test.ts', 'verifyElicitation'],
  ['console/acts.test.ts', 'S209', '/webhooks/'],
  ['console/api-keys.test.ts'],
  ['console/pages.browser.test.ts', 'keeps the focus'],
  ['console/roles.test.ts'],
  ['reload/reload.test.ts', 'S107', 'each webhook', 'leave no listener'],
  ['security/stale-reads.test.ts'],
]);
