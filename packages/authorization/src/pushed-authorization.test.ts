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
import { createOutboundFetch } from './outbound/outbound-fetch.ts';
import type { ProviderConfigInput } from './provider-config.ts';
import { connectBy, providerFrom, redirectUri } from './testing/connect-fixture.ts';
import { canaries, failureCodeOf } from './testing/failure-of.ts';
import { finish } from './testing/finish.ts';

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
    ['confidential', {}],
    ['public', { clientId: 'postern-public' }],
  ])(
    'uses PAR if it is offered, so the URL contains only client id and request URI (%s client)',
    async (_, changes) => {
      const at = provider(offering, { authorizationParameters: { audience: 'api' }, ...changes });
      const { authorizationUrl } = await at.start({ ...request, expectedAccount: 'octocat' });
      expect([...authorizationUrl.searchParams.keys()].sort()).toEqual(['client_id', 'request_uri']);
      expect(offering.requests('pushed_authorization_request')[0]).toMatchObject({
        method: 'POST',
        form: {
          response_type: 'code',
          redirect_uri: redirectUri.href,
          state,
          scope: 'repo',
          login_hint: 'octocat',
          code_challenge_method: 'S256',
          audience: 'api',
        },
      });
      expect((await connect(at)).scopes).toEqual(['repo']);
    },
  );

  it('T7: parameters that are added to the URL have no effect', async () => {
    const at = provider(offering);
    const start = await at.start(request);
    const tampered = new URL(start.authorizationUrl);
    tampered.searchParams.set('scope', 'repo gist');
    tampered.searchParams.set('response_mode', 'fragment');
    tampered.searchParams.set('state', 'of somebody else');
    tampered.searchParams.set('redirect_uri', 'https://attacker.example/callback');
    const callbackUrl = await driveAuthorization(tampered, 'alice');
    expect(callbackUrl.origin + callbackUrl.pathname).toBe(redirectUri.href);
    expect((await finish(at, { ...start, callbackUrl, ...request })).scopes).toEqual(['repo']);
  });

  it('the provider accepts a pushed request once', async () => {
    const at = provider(offering);
    const { authorizationUrl } = await at.start(request);
    await driveAuthorization(authorizationUrl, 'alice');
    const again = await driveAuthorization(authorizationUrl, 'alice');
    expect([again.searchParams.get('error'), again.searchParams.has('code')]).toEqual(['invalid_request_uri', false]);
  });

  it('does not use PAR if the operator turns it off, unless the provider requires it', async () => {
    const off = { pushedAuthorization: 'off' } as const;
    const { authorizationUrl } = await provider(offering, off).start(request);
    expect(authorizationUrl.searchParams.get('scope')).toBe('repo');
    expect(offering.requests('pushed_authorization_request')).toHaveLength(0);
    expect((await connect(provider(requiring, off))).scopes).toEqual(['repo']);
    expect(requiring.requests('pushed_authorization_request')).toHaveLength(1);
  });

  it('the start fails if PAR is required and not offered', async () => {
    const at = provider(without, { pushedAuthorization: 'required' });
    expect(await failureCodeOf(at.start(request))).toBe('par_unsupported');
    expect((await connect(provider(without))).scopes).toEqual(['repo']);
  });

  it('uses PAR with explicit endpoints', async () => {
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
    ['refuses', { status: 400, body: '{"error":"invalid_request"}' }, 'provider_error'],
    ['is unavailable', { status: 503 }, 'provider_unavailable'],
    ['drops the connection', { drop: 'before' }, 'provider_unavailable'],
  ] as const)(
    'the start fails if the PAR endpoint %s, and sends no parameters through the browser',
    async (_, fault, code) => {
      offering.fault({ endpoint: 'pushed_authorization_request', times: 1, ...fault });
      expect(await failureCodeOf(provider(offering).start(request))).toBe(code);
      expect(offering.requests('pushed_authorization_request')).toHaveLength(1);
    },
  );
});

describe('S18: responses of a hostile PAR endpoint', () => {
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

  it.each(Object.entries(hostilePushedAnswers))('are rejected: %s', async (name, answer) => {
    evil.pushedAuthorizationAnswer = () => answer;
    const code = name === 'redirect' ? 'outbound_redirect' : 'invalid_pushed_authorization';
    expect(await failureCodeOf(start())).toBe(name.includes('1 MiB') ? 'outbound_too_large' : code);
  });

  it.each([
    ['a duplicate name', '{"request_uri":"urn:a","request_uri":"urn:b","expires_in":60}'],
    ['a script as request URI', { request_uri: 'javascript:alert(1)', expires_in: 60 }],
    ['text as request URI', { request_uri: 'a b', expires_in: 60 }],
  ])('are rejected with %s', async (_, body) => {
    pushed(body);
    expect(await failureCodeOf(start())).toBe('invalid_pushed_authorization');
  });

  it.each(trickyRequestUris.filter(uri => !uri.startsWith('javascript:')))(
    'pass on %s as a single parameter',
    async uri => {
      pushed({ request_uri: uri, expires_in: 60 });
      const { authorizationUrl, destinationHost } = await start();
      expect(Object.fromEntries(authorizationUrl.searchParams)).toEqual({ client_id: 'postern', request_uri: uri });
      expect(authorizationUrl.hash).toBe('');
      expect(destinationHost).toBe(new URL(evil.issuer).host);
    },
  );
});
