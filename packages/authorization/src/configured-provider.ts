import * as client from 'openid-client';
import { accountFrom } from './account.ts';
import { AuthorizationError } from './authorization-error.ts';
import { validateCallback } from './callback.ts';
import {
  type ClientRegistrationSource,
  type EndpointMetadata,
  explicitEndpoints,
  type ResolvedClient,
} from './client-registration.ts';
import { type DpopKey, dpopAlgorithm, dpopProof, dpopThumbprint, newDpopKey } from './dpop.ts';
import { createOauthClient } from './oauth-client.ts';
import type { OutboundFetch } from './outbound-fetch.ts';
import type { Provider } from './provider.ts';
import type { ProviderConfig } from './provider-config.ts';
import { pushesAuthorization } from './pushed-authorization.ts';
import { scopePolicy } from './scope-policy.ts';
import { canVerifyIdTokens, type TokenGrant } from './token-request.ts';

/** Every method of the provider throws `AuthorizationError`, and `TypeError` only for a call that breaks its contract. */
export function createProvider(p: {
  config: ProviderConfig;
  registrations: ClientRegistrationSource;
  fetch: OutboundFetch;
  now: () => number;
}): Provider {
  const { config, registrations } = p;
  const oauthClient = createOauthClient({ fetch: p.fetch, now: p.now });
  const scopes = scopePolicy(config);
  const explicit = explicitEndpoints(config);
  const { tokenResponse, tokenParameters } = config;
  const usesPkce = config.pkce === 'required';

  const issRequired = (metadata: EndpointMetadata) =>
    config.requireIss || metadata.authorization_response_iss_parameter_supported === true;

  /** The resource that tokens are for. That of a remote MCP server is named always, whether or not anybody asks for it. */
  function resourceFor(at: ResolvedClient, asked: string | undefined): string | undefined {
    const resource = asked ?? at.resource;
    if (resource !== undefined && resource !== at.resource && !config.resources.includes(resource)) {
      throw new AuthorizationError('resource_not_allowed');
    }
    return resource;
  }

  async function account(at: ResolvedClient, { response, members, claims }: TokenGrant, dpopKey: DpopKey | undefined) {
    if (config.account === undefined) return undefined;
    if (config.account.from === 'token_response') return accountFrom(members, config.account);
    if (config.account.from === 'id_token') {
      if (claims === undefined) throw new AuthorizationError('invalid_id_token');
      return accountFrom(claims, config.account);
    }
    const userinfo = await oauthClient.userinfo(at, response.access_token, dpopKey);
    // OpenID Connect Core 5.3.2: both must speak of the same person.
    if (claims !== undefined && userinfo['sub'] !== claims.sub) throw new AuthorizationError('invalid_userinfo');
    return accountFrom(userinfo, config.account);
  }

  /** Before a request its time is taken: a lifetime runs from when a token was issued, not from when the answer arrived. */
  function issued({ response }: TokenGrant, asked: readonly string[], issuedAfter: number) {
    const { access_token, token_type, expires_in, refresh_token, scope } = response;
    return {
      accessToken: access_token,
      tokenType: token_type,
      ...(expires_in !== undefined && { expiresAt: issuedAfter + expires_in * 1000 }),
      ...(refresh_token !== undefined && { refreshToken: refresh_token }),
      scopes: scopes.granted(scope, asked),
    };
  }

  const provider: Provider = {
    name: config.name,
    displayName: config.displayName,
    scopeDescriptions: { ...config.scopeDescriptions, ...config.scopes },
    flow: config.flow,
    incremental: config.incrementalScopes,
    revocationReach: config.revocation?.reach ?? 'token',
    requestedScopes: scopes.requested,
    scopesToRequest: scopes.toRequest,

    destinationHost() {
      if (explicit) return destinationOf(explicit).host;
      return registrations.metadata().then(metadata => destinationOf(metadata).host);
    },

    async start({ redirectUri, state, scopes: asked, resource, expectedAccount }) {
      assertPlain(redirectUri);
      const requested = scopes.requested(asked);
      const at = await registrations.resolve(redirectUri);
      const { metadata } = at;
      const indicator = resourceFor(at, resource);
      const codeVerifier = client.randomPKCECodeVerifier();
      const nonce = requested.includes('openid') && canVerifyIdTokens(metadata) ? client.randomNonce() : undefined;
      const dpopKey = config.dpop === 'required' ? await keyFor(metadata) : undefined;

      const parameters = {
        ...config.authorizationParameters,
        response_type: 'code',
        redirect_uri: redirectUri.href,
        state,
        ...(usesPkce && {
          code_challenge: await client.calculatePKCECodeChallenge(codeVerifier),
          code_challenge_method: 'S256',
        }),
        ...(requested.length > 0 && { scope: requested.join(config.requestScopeSeparator) }),
        ...(nonce !== undefined && { nonce }),
        ...(indicator !== undefined && { resource: indicator }),
        ...(expectedAccount !== undefined && { login_hint: expectedAccount }),
        ...(dpopKey !== undefined && { dpop_jkt: await dpopThumbprint(dpopKey) }),
      };
      const authorizationUrl = pushesAuthorization(metadata, config.pushedAuthorization)
        ? await oauthClient.pushedAuthorizationUrl(at, parameters, dpopKey)
        : oauthClient.authorizationUrl(at, parameters);
      return {
        authorizationUrl,
        codeVerifier,
        ...(nonce !== undefined && { nonce }),
        ...(metadata.issuer !== undefined && { expectedIssuer: metadata.issuer }),
        issRequired: issRequired(metadata),
        destinationHost: authorizationUrl.host,
        ...(dpopKey !== undefined && { dpopKey }),
      };
    },

    async validateCallback(request) {
      const issuer = registrations.issuer ?? (await registrations.metadata()).issuer;
      assertUnchanged(request.expectedIssuer, issuer);
      return validateCallback({
        ...request,
        expectedIssuer: request.expectedIssuer ?? issuer,
        issRequired: request.issRequired ?? issRequired(await registrations.metadata()),
      });
    },

    async exchange({ code, redirectUri, codeVerifier, nonce, scopes: asked, resource, dpopKey, ...request }) {
      assertPlain(redirectUri);
      const requested = scopes.requested(asked);
      if (registrations.issuer !== undefined) assertUnchanged(request.expectedIssuer, registrations.issuer);
      const at = await registrations.resolve(redirectUri);
      const { metadata } = at;
      assertUnchanged(request.expectedIssuer, metadata.issuer);
      const indicator = resourceFor(at, resource);
      if (requested.includes('openid') && canVerifyIdTokens(metadata) && nonce === undefined) {
        throw new TypeError('the nonce of the start is missing');
      }
      if (config.dpop === 'required' && dpopKey === undefined) throw new TypeError('the key of the start is missing');

      const issuedAfter = p.now();
      const grant = await oauthClient.exchange(at, {
        ...{ code, redirectUri, nonce, dpopKey, tokenResponse },
        ...(usesPkce && { codeVerifier }),
        parameters: { ...tokenParameters, ...(indicator !== undefined && { resource: indicator }) },
      });
      const connected = await account(at, grant, dpopKey);
      const { id_token } = grant.response;
      const held = config.incrementalScopes ? (request.heldScopes ?? []) : [];
      return {
        ...issued(grant, [...new Set([...requested, ...held])], issuedAfter),
        ...(id_token !== undefined && { idToken: id_token }),
        ...(connected !== undefined && { account: connected }),
        ...(dpopKey !== undefined && { dpopKey }),
      };
    },

    async finish(request) {
      const { code } = await provider.validateCallback(request);
      return provider.exchange({ ...request, code });
    },

    async refresh({ refreshToken, scopes: held, redirectUri, resource, dpopKey }) {
      const at = await registrations.resolve(redirectUri);
      const indicator = resourceFor(at, resource);
      const { endpoint, parameters, tokenResponse: differing } = config.refresh ?? {};
      const elsewhere = endpoint === undefined ? at : { ...at, metadata: { ...at.metadata, token_endpoint: endpoint } };

      const issuedAfter = p.now();
      const grant = await oauthClient.requestTokens(elsewhere, {
        grantType: 'refresh_token',
        ...{ dpopKey, tokenResponse: differing ?? tokenResponse },
        parameters: {
          ...tokenParameters,
          ...parameters,
          refresh_token: refreshToken,
          ...(indicator !== undefined && { resource: indicator }),
        },
      });
      return issued(grant, held, issuedAfter);
    },

    async revoke({ accessToken, refreshToken, redirectUri, dpopKey }) {
      const at = await registrations.resolve(redirectUri);
      return oauthClient.revoke(at, { config: config.revocation, accessToken, refreshToken, dpopKey });
    },

    dpopProof: request => dpopProof(request, p.now()),
  };
  return provider;
}

/** @throws {AuthorizationError} `dpop_unsupported` when the authorization server takes keys of other kinds only. */
async function keyFor({ dpop_signing_alg_values_supported: offered }: EndpointMetadata): Promise<DpopKey> {
  if (offered?.includes(dpopAlgorithm) === false) throw new AuthorizationError('dpop_unsupported');
  return newDpopKey();
}

/** Where the browser goes. At a device flow it is the server that has issued the code. */
function destinationOf(metadata: EndpointMetadata): URL {
  return new URL(metadata.authorization_endpoint ?? metadata.device_authorization_endpoint ?? metadata.token_endpoint);
}

function assertPlain(redirectUri: URL): void {
  if (redirectUri.search !== '' || redirectUri.hash !== '')
    throw new TypeError('a redirect URI has no query or fragment');
}

/** Configured anew since the start, the token endpoint is no longer that of the authorization server that answered. */
function assertUnchanged(expectedIssuer: string | undefined, issuer: string | undefined): void {
  if (expectedIssuer !== undefined && expectedIssuer !== issuer) throw new AuthorizationError('issuer_mismatch');
}
