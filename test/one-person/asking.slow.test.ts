import { overAFile } from '../support/world-store.ts';

overAFile([
  ['e2e/confirmation.test.ts'],
  ['e2e/credential.test.ts'],
  ['e2e/credential-depth.test.ts'],
  ['e2e/decline.browser.test.ts'],
  ['e2e/endings.test.ts'],
  ['e2e/expiry.browser.test.ts', 'login transaction'],
  ['e2e/foreign-credentials.test.ts'],
  ['e2e/form-round-trip.browser.test.ts'],
  ['e2e/races.test.ts', 'sign-in', 'ticket', 'verify'],
  ['e2e/sealed-delivery.test.ts'],
  ['e2e/secret-fields.browser.test.ts'],
  ['e2e/tabs-and-reloads.slow.test.ts', 'sign-ins', 'at every step', 'S11'],
  ['api/caller.test.ts', 'describes the MCP server', 'page of the application'],
  ['api/contract.test.ts', 'verify', 'verification'],
  ['api/events.test.ts', 'limits streams', 'write nothing', 'with a retry delay'],
  ['api/idempotency.test.ts'],
  ['api/waiting.test.ts'],
]);
