import {
  driveAuthorization,
  type EvilProvider,
  hostilePushedAnswers,
  startEvilProvider,
  startOpenIdProvider,
  type TestProvider,
  trickyRequestUris,
} from '@postern/testkit/providers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { connectBy, providerFrom, redirectUri } from './connect-fixture.ts';
import { canaries, failureCodeOf } from './failure-of.ts';
import { createOutboundFetch } from './outbound-fetch.ts';
import type { ProviderConfigInput } from './provider-config.ts';

const { state, clientSecret } = canaries;
const fetch = createOutboundFetch({ allowLoopback: true });
const connect = connectBy(driveAuthorization);
afterAll(() => fetch.close());
const request = { redirectUri, state, scopes: ['repo'] };

describe('S18: pushed authorization requests at a real provider', () => {
  const clients = [
    { clientId: 'postern', clientSecret, redirectUris: [redirectUri.href] },
    { clientId: 'postern-public', redirectUris: [redirectUri.href] },
  ];
  let offering: TestProvider;
  let requiring: TestProvider;
  let without: TestProvider;
  beforeAll(async () => {
    const scopes = ['repo', 'gist'];
    offering = await startOpenIdProvider({ clients, scopes, pushedAuthorization: 'offered' });
    requiring = await startOpenIdProvider({ clients, scopes, pushedAuthorization: 'required' });
    without = await startOpenIdProvider({ clients, scopes });
  });
  beforeEach(() => offering.clearRequests());
  afterAll(() => Promise.all([offering.close(), requiring.close(), without.close()]));

  const provider = (op: TestProvider, changes: Partial<ProviderConfigInput> = {}) =>
    providerFrom({ issuer: op.issuer, ...(!('clientId' in changes) && { clientSecret }), ...changes }, { fetch });

  it.each([
    ['with a secret', {}],
    ['public', { clientId: 'postern-public' }],
  ])('used where offered: the browser sees who asks and nothing of what (client %s)', async (_, changes) => {
    const at = provider(offering, { authorizationParameters: { audience: 'api' }, ...changes });
    const { authorizationUrl } = await at.start({ ...request, expectedAccount: 'octocat' });
    expect([...authorizationUrl.searchParams.keys()].sort()).toEqual(['client_id', 'request_uri']);
    expect(offering.requests('pushed_authorization_request')[0]).toMatchObject({
      method: 'POST',
      form: {
        ...{ response_type: 'code', redirect_uri: redirectUri.href, state, scope: 'repo', login_hint: 'octocat' },
        ...{ code_challenge_method: 'S256', audience: 'api' },
      },
    });
    expect((await connect(at)).scopes).toEqual(['repo']);
  });

  it('T7: what is changed in the URL on its way has no effect', async () => {
    const at = provider(offering);
    const start = await at.start(request);
    const tampered = new URL(start.authorizationUrl);
    tampered.searchParams.set('scope', 'repo gist');
    tampered.searchParams.set('response_mode', 'fragment');
    tampered.searchParams.set('state', 'of somebody else');
    tampered.searchParams.set('redirect_uri', 'https://attacker.example/callback');
    const callbackUrl = await driveAuthorization(tampered, 'alice');
    expect(callbackUrl.origin + callbackUrl.pathname).toBe(redirectUri.href);
    expect((await at.finish({ ...start, callbackUrl, ...request })).scopes).toEqual(['repo']);
  });

  it('a request is good for one authorization', async () => {
    const at = provider(offering);
    const { authorizationUrl } = await at.start(request);
    await driveAuthorization(authorizationUrl, 'alice');
    const again = await driveAuthorization(authorizationUrl, 'alice');
    expect([again.searchParams.get('error'), again.searchParams.has('code')]).toEqual(['invalid_request_uri', false]);
  });

  it('off where the operator says so, unless the provider insists', async () => {
    const off = { pushedAuthorization: 'off' } as const;
    const { authorizationUrl } = await provider(offering, off).start(request);
    expect(authorizationUrl.searchParams.get('scope')).toBe('repo');
    expect(offering.requests('pushed_authorization_request')).toHaveLength(0);
    expect((await connect(provider(requiring, off))).scopes).toEqual(['repo']);
    expect(requiring.requests('pushed_authorization_request')).toHaveLength(1);
  });

  it('required and not offered → no start', async () => {
    const at = provider(without, { pushedAuthorization: 'required' });
    expect(await failureCodeOf(at.start(request))).toBe('par_unsupported');
    expect((await connect(provider(without))).scopes).toEqual(['repo']);
  });

  it('with explicit endpoints', async () => {
    const at = provider(offering, {
      issuer: undefined,
      authorizationEndpoint: `${offering.issuer}/auth`,
      tokenEndpoint: `${offering.issuer}/token`,
      pushedAuthorizationEndpoint: `${offering.issuer}/request`,
      pushedAuthorization: 'required',
    });
    expect((await connect(at)).scopes).toEqual(['repo']);
    expect(offering.requests('pushed_authorization_request')).toHaveLength(1);
  });

  it.each([
    ['refused', { status: 400, body: '{"error":"invalid_request"}' }, 'provider_error'],
    ['unavailable', { status: 503 }, 'provider_unavailable'],
    ['gone', { drop: 'before' }, 'provider_unavailable'],
  ] as const)('%s → no start, and no way round through the browser', async (_, fault, code) => {
    offering.fault({ endpoint: 'pushed_authorization_request', times: 1, ...fault });
    expect(await failureCodeOf(provider(offering).start(request))).toBe(code);
    expect(offering.requests('pushed_authorization_request')).toHaveLength(1);
  });
});

describe('S18: answers of a hostile provider', () => {
  let evil: EvilProvider;
  beforeEach(async () => {
    evil = await startEvilProvider({ clientId: 'postern' });
    evil.offer('pushed_authorization_request_endpoint');
  });
  afterEach(() => evil.close());
  const start = () => providerFrom({ issuer: evil.issuer, clientSecret }, { fetch }).start(request);
  const pushed = (body: object | string) => {
    evil.pushedAuthorizationAnswer = () => ({ status: 201, body });
  };

  it.each(Object.entries(hostilePushedAnswers))('%s → refused', async (name, answer) => {
    evil.pushedAuthorizationAnswer = () => answer;
    const code = name === 'redirect' ? 'outbound_redirect' : 'invalid_pushed_authorization';
    expect(await failureCodeOf(start())).toBe(name.includes('1 MiB') ? 'outbound_too_large' : code);
  });

  it.each([
    ['a name twice', '{"request_uri":"urn:a","request_uri":"urn:b","expires_in":60}'],
    ['a script', { request_uri: 'javascript:alert(1)', expires_in: 60 }],
    ['text', { request_uri: 'a b', expires_in: 60 }],
  ])('%s → refused', async (_, body) => {
    pushed(body);
    expect(await failureCodeOf(start())).toBe('invalid_pushed_authorization');
  });

  it.each(trickyRequestUris.filter(uri => !uri.startsWith('javascript:')))('%s is one parameter', async uri => {
    pushed({ request_uri: uri, expires_in: 60 });
    const { authorizationUrl, destinationHost } = await start();
    expect(Object.fromEntries(authorizationUrl.searchParams)).toEqual({ client_id: 'postern', request_uri: uri });
    expect(authorizationUrl.hash).toBe('');
    expect(destinationHost).toBe(new URL(evil.issuer).host);
  });
});
