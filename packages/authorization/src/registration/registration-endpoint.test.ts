import {
  type EvilProvider,
  hostileRegistrationAnswers,
  hostileRegistrationClientUris,
  startEvilProvider,
} from '@postern/testkit/providers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { canaries, failureCodeOf, failureOf } from '../failure-of.ts';
import type { ServerMetadata } from '../server-metadata.ts';
import { clientKey, jwksUri, RegistrationEndpoint, redirectUri, replica } from './registration-fixture.ts';

let endpoint: RegistrationEndpoint;
beforeEach(async () => {
  endpoint = await new RegistrationEndpoint().start();
});
afterEach(() => endpoint.close());

describe('what is asked for', () => {
  it('one redirect URI, code and refresh token, a secret where nothing else is said', async () => {
    const registered = await replica().resolve(endpoint.metadata(), redirectUri);
    expect(registered).toEqual({
      clientId: 'client-1',
      clientAuthentication: 'client_secret_basic',
      clientSecret: canaries.clientSecret,
    });
    expect(endpoint.posted).toEqual([
      {
        client_name: 'Issue Tracker',
        redirect_uris: [redirectUri.href],
        application_type: 'web',
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'client_secret_basic',
      },
    ]);
  });

  it('MCP: on a loopback address it is a native application', async () => {
    await replica().resolve(endpoint.metadata(), new URL('http://127.0.0.1:1/callback/issues/tracker'));
    expect(endpoint.posted).toMatchObject([{ application_type: 'native' }]);
  });

  it('only grant types that the authorization server knows', async () => {
    await replica().resolve(endpoint.metadata({ grant_types_supported: ['authorization_code'] }), redirectUri);
    expect(endpoint.posted).toMatchObject([{ grant_types: ['authorization_code'] }]);
  });

  it.each([
    [['none'], 'none'],
    [['none', 'client_secret_post'], 'client_secret_post'],
    [['client_secret_post', 'client_secret_basic', 'private_key_jwt'], 'client_secret_basic'],
  ])('of %j it is %s', async (supported, method) => {
    const metadata = endpoint.metadata({ token_endpoint_auth_methods_supported: supported });
    expect(await replica().resolve(metadata, redirectUri)).toMatchObject({ clientAuthentication: method });
    expect(endpoint.posted).toMatchObject([{ token_endpoint_auth_method: method }]);
    expect(endpoint.posted[0]).not.toHaveProperty('jwks_uri');
  });

  it('private_key_jwt where there is a key, which is published and not sent', async () => {
    const metadata = endpoint.metadata({
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'private_key_jwt'],
    });
    expect(await replica(undefined, { clientKey }).resolve(metadata, redirectUri)).toEqual({
      clientId: 'client-1',
      clientAuthentication: 'private_key_jwt',
      clientKey,
    });
    expect(endpoint.posted).toMatchObject([{ token_endpoint_auth_method: 'private_key_jwt', jwks_uri: jwksUri }]);
    expect(JSON.stringify(endpoint.posted)).not.toContain(clientKey.jwk.d);
  });

  it('no endpoint → registration_unavailable', async () => {
    const { registration_endpoint: _, ...metadata } = endpoint.metadata();
    expect(await failureCodeOf(replica().resolve(metadata, redirectUri))).toBe('registration_unavailable');
  });

  it('no method that we speak → registration_unavailable, and nobody is asked', async () => {
    const metadata = endpoint.metadata({
      token_endpoint_auth_methods_supported: ['tls_client_auth', 'private_key_jwt'],
    });
    expect(await failureCodeOf(replica().resolve(metadata, redirectUri))).toBe('registration_unavailable');
    expect(endpoint.asked).toEqual([]);
  });
});

describe('what is answered', () => {
  it.each([
    ['without our redirect URI', { redirect_uris: ['https://postern.example/callback/other/tracker'] }],
    ['without any', { redirect_uris: undefined }],
    ['with ours nearly', { redirect_uris: [`${redirectUri.href}/`] }],
    ['without a client', { client_id: undefined }],
    ['with a client that is no text', { client_id: 7 }],
    ['with a control character in the client', { client_id: 'a\nb' }],
    ['with a method that we do not speak', { token_endpoint_auth_method: 'tls_client_auth' }],
    ['with client_secret_jwt', { token_endpoint_auth_method: 'client_secret_jwt' }],
    ['with keys that it was not told', { token_endpoint_auth_method: 'private_key_jwt' }],
    ['with a method by secret and no secret', { client_secret: undefined }],
    ['with a secret that is no text', { client_secret: ['a'] }],
    ['with a secret and not how long it is good', { client_secret_expires_at: undefined }],
    ['with an expiry that is no number', { client_secret_expires_at: '0' }],
    ['with a secret that is over', { client_secret_expires_at: 1 }],
  ])('%s → invalid_registration, and nothing is stored', async (_, changes) => {
    endpoint.changes = changes;
    const { resolve, store } = replica(undefined, { now: () => 2000 });
    expect(await failureCodeOf(resolve(endpoint.metadata(), redirectUri))).toBe('invalid_registration');
    expect(store.values.size).toBe(0);
  });

  it.each([
    ['another method by secret', { token_endpoint_auth_method: 'client_secret_post' }, 'client_secret_post'],
    ['none, and a secret all the same', { token_endpoint_auth_method: 'none' }, 'none'],
    ['no method', { token_endpoint_auth_method: undefined }, 'client_secret_basic'],
  ])('%s is taken as it is', async (_, changes, method) => {
    endpoint.changes = changes;
    const registered = await replica().resolve(endpoint.metadata(), redirectUri);
    expect(registered.clientAuthentication).toBe(method);
    expect(registered.clientSecret).toBe(method === 'none' ? undefined : canaries.clientSecret);
  });

  it.each([
    [400, 'invalid_redirect_uri', 'invalid_redirect_uri'],
    [401, 'invalid_token', 'invalid_token'],
    [403, canaries.description, 'unregistered'],
    [404, undefined, 'unregistered'],
  ])('%i %s → registration_refused', async (status, error, providerError) => {
    Object.assign(endpoint, { status, changes: { error, error_description: canaries.description } });
    const failure = await failureOf(replica().resolve(endpoint.metadata(), redirectUri));
    expect(failure).toMatchObject({ code: 'registration_refused', providerError, retryable: false });
  });

  it('trouble is no refusal, and the next attempt is a new one', async () => {
    endpoint.status = 503;
    const { resolve } = replica();
    expect(await failureCodeOf(resolve(endpoint.metadata(), redirectUri))).toBe('provider_unavailable');
    endpoint.status = 201;
    expect(await resolve(endpoint.metadata(), redirectUri)).toMatchObject({ clientId: 'client-2' });
  });

  it('another status, or a redirect, is no registration', async () => {
    endpoint.status = 202;
    expect(await failureCodeOf(replica().resolve(endpoint.metadata(), redirectUri))).toBe('invalid_registration');
    endpoint.status = 302;
    expect(await failureCodeOf(replica().resolve(endpoint.metadata(), redirectUri))).toBe('outbound_redirect');
  });
});

describe('answers of the catalogue', () => {
  let evil: EvilProvider;
  beforeEach(async () => {
    evil = await startEvilProvider({ clientId: 'postern' });
    evil.offer('registration_endpoint');
  });
  afterEach(() => evil.close());
  const resolve = (at = replica()) => at.resolve(evil.metadata as ServerMetadata, redirectUri);
  const honest = {
    client_id: 'postern',
    client_secret: canaries.clientSecret,
    client_secret_expires_at: 0,
    redirect_uris: [redirectUri.href],
    token_endpoint_auth_method: 'client_secret_basic',
  };

  it('the honest one is none of them', async () => {
    evil.registrationAnswer = () => ({ status: 201, body: honest });
    expect(await resolve()).toMatchObject({ clientId: 'postern' });
  });

  it.each(Object.entries(hostileRegistrationAnswers(honest)))('%s → refused', async (_, answer) => {
    evil.registrationAnswer = () => answer;
    const at = replica(undefined, { now: () => 2000 });
    expect(['invalid_registration', 'outbound_too_large', 'outbound_redirect']).toContain(
      await failureCodeOf(resolve(at)),
    );
    expect(at.store.values.size).toBe(0);
  });

  it.each(hostileRegistrationClientUris)('%s gets no registration access token', async uri => {
    const body = { ...honest, registration_client_uri: uri, registration_access_token: canaries.accessToken };
    evil.registrationAnswer = () => ({ status: 201, body });
    const at = replica();
    await resolve(at);
    expect([...at.store.values.values()].join()).not.toContain(canaries.accessToken);
  });
});
