import { anyAnswers, FLOOD_BYTES, floods, startAnsweringMachine } from '@postern/testkit/any-answer';
import {
  type EvilProvider,
  hostileRegistrationAnswers,
  hostileRegistrationClientUris,
  startEvilProvider,
} from '@postern/testkit/providers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AuthorizationError } from '../authorization-error.ts';
import { createOutboundFetch } from '../outbound/outbound-fetch.ts';
import type { ServerMetadata } from '../server-metadata.ts';
import { canaries, failureCodeOf, failureOf } from '../testing/failure-of.ts';
import { clientKey, jwksUri, RegistrationEndpoint, redirectUri, replica } from '../testing/registration-fixture.ts';
import { deleteClient } from './registration-endpoint.ts';

let endpoint: RegistrationEndpoint;
beforeEach(async () => {
  endpoint = await new RegistrationEndpoint().start();
});
afterEach(() => endpoint.close());

describe('a registration request', () => {
  it('has one redirect URI, code and refresh token, and by default a client secret', async () => {
    const registered = await replica().register(endpoint.metadata(), redirectUri);
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

  it('MCP: has the type native for a loopback address', async () => {
    await replica().register(endpoint.metadata(), new URL('http://127.0.0.1:1/callback/issues/tracker'));
    expect(endpoint.posted).toMatchObject([{ application_type: 'native' }]);
  });

  it('has only grant types that the authorization server supports', async () => {
    await replica().register(endpoint.metadata({ grant_types_supported: ['authorization_code'] }), redirectUri);
    expect(endpoint.posted).toMatchObject([{ grant_types: ['authorization_code'] }]);
  });

  it.each([
    [['none'], 'none'],
    [['none', 'client_secret_post'], 'client_secret_post'],
    [['client_secret_post', 'client_secret_basic', 'private_key_jwt'], 'client_secret_basic'],
  ])('chooses among the authentication methods %j: %s', async (supported, method) => {
    const metadata = endpoint.metadata({ token_endpoint_auth_methods_supported: supported });
    expect(await replica().register(metadata, redirectUri)).toMatchObject({ clientAuthentication: method });
    expect(endpoint.posted).toMatchObject([{ token_endpoint_auth_method: method }]);
    expect(endpoint.posted[0]).not.toHaveProperty('jwks_uri');
  });

  it('chooses private_key_jwt if a key is configured, and sends only the URL of the public key', async () => {
    const metadata = endpoint.metadata({
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'private_key_jwt'],
    });
    expect(await replica(undefined, { clientKey }).register(metadata, redirectUri)).toEqual({
      clientId: 'client-1',
      clientAuthentication: 'private_key_jwt',
      clientKey,
    });
    expect(endpoint.posted).toMatchObject([{ token_endpoint_auth_method: 'private_key_jwt', jwks_uri: jwksUri }]);
    expect(JSON.stringify(endpoint.posted)).not.toContain(clientKey.jwk.d);
  });

  it('fails with registration_unavailable without an endpoint', async () => {
    const { registration_endpoint: _, ...metadata } = endpoint.metadata();
    expect(await failureCodeOf(replica().register(metadata, redirectUri))).toBe('registration_unavailable');
  });

  it('fails with registration_unavailable before any request if no authentication method is supported', async () => {
    const metadata = endpoint.metadata({
      token_endpoint_auth_methods_supported: ['tls_client_auth', 'private_key_jwt'],
    });
    expect(await failureCodeOf(replica().register(metadata, redirectUri))).toBe('registration_unavailable');
    expect(endpoint.asked).toEqual([]);
  });
});

describe('a registration response', () => {
  it.each([
    ['without our redirect URI', { redirect_uris: ['https://postern.example/callback/other/tracker'] }],
    ['without redirect URIs', { redirect_uris: undefined }],
    ['with a redirect URI that differs by a slash', { redirect_uris: [`${redirectUri.href}/`] }],
    ['without a client id', { client_id: undefined }],
    ['with a number as client id', { client_id: 7 }],
    ['with a control character in the client id', { client_id: 'a\nb' }],
    ['with an unsupported authentication method', { token_endpoint_auth_method: 'tls_client_auth' }],
    ['with client_secret_jwt', { token_endpoint_auth_method: 'client_secret_jwt' }],
    ['with private_key_jwt after a request without keys', { token_endpoint_auth_method: 'private_key_jwt' }],
    ['without the secret that its authentication method needs', { client_secret: undefined }],
    ['with an array as secret', { client_secret: ['a'] }],
    ['with words as expiry', { client_secret_expires_at: 'never' }],
    ['with an expired secret', { client_secret_expires_at: 1 }],
  ])('%s fails with invalid_registration and is not stored', async (_, changes) => {
    endpoint.changes = changes;
    const { register, store } = replica(undefined, { now: () => 2000 });
    expect(await failureCodeOf(register(endpoint.metadata(), redirectUri))).toBe('invalid_registration');
    expect(store.values.size).toBe(0);
  });

  it.each([
    ['another method with a secret', { token_endpoint_auth_method: 'client_secret_post' }, 'client_secret_post'],
    ['none with an unneeded secret', { token_endpoint_auth_method: 'none' }, 'none'],
    ['no method', { token_endpoint_auth_method: undefined }, 'client_secret_basic'],
  ])('determines the authentication method: %s', async (_, changes, method) => {
    endpoint.changes = changes;
    const registered = await replica().register(endpoint.metadata(), redirectUri);
    expect(registered.clientAuthentication).toBe(method);
    expect(registered.clientSecret).toBe(method === 'none' ? undefined : canaries.clientSecret);
  });

  it.each([
    [400, 'invalid_redirect_uri', 'invalid_redirect_uri'],
    [401, 'invalid_token', 'invalid_token'],
    [403, canaries.description, 'unregistered'],
    [404, undefined, 'unregistered'],
  ])('with status %i and error %s fails with registration_refused', async (status, error, providerError) => {
    Object.assign(endpoint, { status, changes: { error, error_description: canaries.description } });
    const failure = await failureOf(replica().register(endpoint.metadata(), redirectUri));
    expect(failure).toMatchObject({ code: 'registration_refused', providerError, retryable: false });
  });

  it('with status 503 is retryable, and the next attempt registers a new client', async () => {
    endpoint.status = 503;
    const { register } = replica();
    expect(await failureCodeOf(register(endpoint.metadata(), redirectUri))).toBe('provider_unavailable');
    endpoint.status = 201;
    expect(await register(endpoint.metadata(), redirectUri)).toMatchObject({ clientId: 'client-2' });
  });

  it('with a redirect is rejected', async () => {
    endpoint.status = 302;
    expect(await failureCodeOf(replica().register(endpoint.metadata(), redirectUri))).toBe('outbound_redirect');
  });
});

describe('hostile registration responses', () => {
  let evil: EvilProvider;
  beforeEach(async () => {
    evil = await startEvilProvider({ clientId: 'postern' });
    evil.offer('registration_endpoint');
  });
  afterEach(() => evil.close());
  const register = (at = replica()) => at.register(evil.metadata as ServerMetadata, redirectUri);
  const honest = {
    client_id: 'postern',
    client_secret: canaries.clientSecret,
    client_secret_expires_at: 0,
    redirect_uris: [redirectUri.href],
    token_endpoint_auth_method: 'client_secret_basic',
  };

  it('do not include the honest response', async () => {
    evil.registrationAnswer = () => ({ status: 201, body: honest });
    expect(await register()).toMatchObject({ clientId: 'postern' });
  });

  it.each(Object.entries(hostileRegistrationAnswers(honest)))('are rejected: %s', async (_, answer) => {
    evil.registrationAnswer = () => answer;
    const at = replica(undefined, { now: () => 2000 });
    expect(['invalid_registration', 'outbound_too_large', 'outbound_redirect']).toContain(
      await failureCodeOf(register(at)),
    );
    expect(at.store.values.size).toBe(0);
  });

  it.each(hostileRegistrationClientUris)('cannot make the gateway store a management token for %s', async uri => {
    const body = { ...honest, registration_client_uri: uri, registration_access_token: canaries.accessToken };
    evil.registrationAnswer = () => ({ status: 201, body });
    const at = replica();
    await register(at);
    expect([...at.store.values.values()].join()).not.toContain(canaries.accessToken);
  });
});

it('deleting an unused client never throws, whatever the response', async () => {
  await using machine = await startAnsweringMachine();
  await using fetch = createOutboundFetch({ allowLoopback: true });
  const management = { url: `http://localhost:${machine.port}/reg/client`, accessToken: 'a-management-token' };
  for (const [name, damage] of Object.entries({ ...anyAnswers('Canary-7Q2-Canary'), ...floods })) {
    using order = machine.answer(() => true, damage);
    const outcome = await deleteClient(management, fetch).catch((error: unknown) => error);
    const isExpected = typeof outcome === 'boolean' || outcome instanceof AuthorizationError;
    expect({ name, isExpected, isAsked: order.count > 0 }).toEqual({ name, isExpected: true, isAsked: true });
    for (const sent of await order.floods())
      expect({ name, isCut: sent < FLOOD_BYTES / 2 }).toEqual({ name, isCut: true });
  }
});
