import { directed } from '../../directed.ts';
import type { Scenario } from '../../scenario.ts';

const authorization = (file: string) => `packages/authorization/src/${file}.test.ts`;
const e2e = (file: string) => `test/e2e/${file}.test.ts`;

/** Items that existing tests show. */
export const directedNetworkTests: readonly Scenario[] = [
  directed('N1', 'the token endpoint answers a code with 500, 503 or 429, disconnects, or sends an invalid response', {
    file: e2e('provider-failures.slow'),
    test: 'one request, nothing stored, and a retry works',
  }),
  directed('N1', 'a provider fails during a token refresh', {
    file: e2e('token-refresh-failures.slow'),
    test: 'N1:',
  }),
  directed('N2', 'the provider refreshes a token, and its response is lost', {
    file: e2e('token-refresh-failures.slow'),
    test: 'N2:',
  }),
  directed('N2', 'no response in time to a code exchange', { file: authorization('provider'), test: 'N2:' }),
  directed('N3', 'malformed responses to a code exchange', { file: authorization('provider-evil'), test: 'N3:' }),
  directed('N3', 'malformed responses to a refresh, in a complete gateway', {
    file: e2e('token-refresh-failures.slow'),
    test: 'N3:',
  }),
  directed('N3', 'responses that are not JSON, have duplicate names, or are too long', {
    file: authorization('token-request'),
    test: 'N3:',
  }),
  directed('N4', 'ID tokens with one invalid member; key sets that rotate, are huge or endless', {
    file: authorization('sign-in'),
    test: 'N4:',
  }),
  directed('N5', 'iss differs, is missing, has a slash or capitals, with codes and errors', {
    file: authorization('callback'),
    test: 'N5:',
  }),
  directed('N5', 'a wrong iss in a complete gateway: no token request, and no part of the response is shown', {
    file: e2e('provider-failures.slow'),
    test: 'S15:',
  }),
  directed('N6', 'DNS that rebinds, is slow, fails, or resolves to private addresses', {
    file: authorization('outbound/outbound-fetch'),
    test: 'N6:',
  }),
  directed('N6', 'private addresses in every notation', {
    file: authorization('outbound/outbound-policy'),
    test: 'isPublicAddress',
  }),
  directed(
    'N8',
    'receivers that redirect, answer 410, hang, respond slowly or endlessly, or have an invalid certificate',
    {
      file: 'services/gateway/src/events/webhooks/webhooks.test.ts',
      test: 'N8:',
    },
  ),
  directed('N9', 'an event stream disconnects and resumes with its last id', {
    file: 'test/api/events.test.ts',
    test: 'N9:',
  }),
  directed('N9', 'event streams disconnect and lose replicas', {
    file: 'test/replicas/events.slow.test.ts',
    test: 'N9:',
  }),
  directed('N11', 'tokens from an issuer with a wrong clock: 30 seconds are tolerated', {
    file: authorization('access-token-verifier'),
    test: 'N11:',
  }),
  directed('N11', 'a clock that makes webhook signatures look old is logged', {
    file: 'services/gateway/src/events/webhooks/deliver.test.ts',
    test: 'N11:',
  }),
  directed('N12', 'the identity provider is down: a page says so, and signed-in users continue', {
    file: e2e('sign-in-failures'),
    test: 'N12:',
  }),
  directed('N13', 'a provider has revoked the grant: the user is asked again', {
    file: e2e('token-refresh-failures.slow'),
    test: 'answers 409 with one audit event, and the next ask shows the reason',
  }),
  directed('N13', 'a provider changes its issuer', {
    file: authorization('server-metadata'),
    test: 'N13:',
  }),
];
