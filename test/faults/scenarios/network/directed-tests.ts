import { directed } from '../../directed.ts';
import type { Scenario } from '../../scenario.ts';

const authorization = (file: string) => `packages/authorization/src/${file}.test.ts`;
const e2e = (file: string) => `test/e2e/${file}.test.ts`;

/** What directed tests show already. */
export const directedNetworkTests: readonly Scenario[] = [
  directed('N1', 'the token endpoint answers a code with 500, 503 or 429, breaks off, or talks nonsense', {
    file: e2e('provider-trouble.all'),
    test: 'one request, nothing stored, and trying again works',
  }),
  directed('N1', 'a provider in trouble when a token is renewed', {
    file: e2e('token-refresh-trouble.all'),
    test: 'N1:',
  }),
  directed('N2', 'the provider has renewed, and its answer is lost', {
    file: e2e('token-refresh-trouble.all'),
    test: 'N2:',
  }),
  directed('N2', 'no answer in time to a code', { file: authorization('provider'), test: 'N2:' }),
  directed('N3', 'malformed answers to a code', { file: authorization('provider-evil'), test: 'N3:' }),
  directed('N3', 'malformed answers to a refresh, in the whole gateway', {
    file: e2e('token-refresh-trouble.all'),
    test: 'N3:',
  }),
  directed('N3', 'answers that are not JSON, twice the same, or too long', {
    file: authorization('token-answer'),
    test: 'N3:',
  }),
  directed('N4', 'ID tokens with one thing wrong; key sets that rotate, are huge or do not end', {
    file: authorization('sign-in'),
    test: 'N4:',
  }),
  directed('N5', 'iss is another, missing, with a slash or in capitals, beside codes and errors', {
    file: authorization('callback'),
    test: 'N5:',
  }),
  directed('N5', 'the same in the whole gateway: no token request, nothing of it shown', {
    file: e2e('provider-trouble.all'),
    test: 'S15:',
  }),
  directed('N6', 'DNS that rebinds, is slow, knows nothing, or leads to private addresses', {
    file: authorization('outbound-fetch'),
    test: 'N6:',
  }),
  directed('N6', 'addresses in every notation', { file: authorization('outbound-address'), test: 'isPublicAddress' }),
  directed('N8', 'receivers that redirect, are gone, hang, drip, talk without end or have a bad certificate', {
    file: 'services/gateway/src/webhooks/webhooks.integration.test.ts',
    test: 'N8:',
  }),
  directed('N9', 'a listener drops and comes back with the id it heard last', {
    file: 'test/api/events.test.ts',
    test: 'N9:',
  }),
  directed('N9', 'listeners that drop and lose replicas', { file: 'test/replicas/events.all.test.ts', test: 'N9:' }),
  directed('N11', 'tokens of others by a clock that is off: 30 seconds are tolerated', {
    file: authorization('access-token-verifier'),
    test: 'N11:',
  }),
  directed('N11', 'a clock that makes webhook signatures look old is told', {
    file: 'services/gateway/src/webhooks/clock-watch.test.ts',
    test: 'N11:',
  }),
  directed('N12', 'the identity provider is down: a page says so, and who is signed in goes on', {
    file: e2e('sign-in-trouble'),
    test: 'N12:',
  }),
  directed('N13', 'a provider that has revoked the grant: the person is asked again', {
    file: e2e('token-refresh-trouble.all'),
    test: '409, one audit event, and the next ask shows its person why',
  }),
  directed('N13', 'a provider that names another issuer than before', {
    file: authorization('server-metadata'),
    test: 'N13:',
  }),
];
