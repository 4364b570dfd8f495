import * as client from 'openid-client';
import { type Account, accountFrom } from './account.ts';
import { AuthorizationError } from './authorization-error.ts';
import { validateCallback } from './callback.ts';
import type { EndpointMetadata } from './client-registration.ts';
import { canVerifyIdTokens, createOauthClient } from './code-exchange.ts';
import type { LocalizedText } from './config-values.ts';
import type { OutboundFetch } from './outbound-fetch.ts';
import type { ProviderConfig } from './provider-config.ts';
import { scopePolicy } from './scope-policy.ts';
import { assertPkceSupport, type MetadataCache } from './server-metadata.ts';
import { grantedScopes } from './token-response.ts';

export interface StartRequest {
  /** One per MCP server and provider. Without query and fragment. */
  readonly redirectUri: URL;
  readonly state: string;
  /** Empty: the provider's default scopes. */
  readonly scopes: readonly string[];
  /** RFC 8707 resource indicator, one of the configured ones. */
  readonly resource?: string;
  /** Account the user is expected to choose, sent as `login_hint`. */
  readonly expectedAccount?: string;
}

/** Where to send the browser, and what to remember until it comes back. */
export interface AuthorizationStart {
  readonly authorizationUrl: URL;
  /** Secret until the exchange. */
  readonly codeVerifier: string;
  /** Present when an ID token is expected. */
  readonly nonce?: string;
  /** To be compared with `iss` of the callback; absent where the operator configured endpoints without an issuer. */
  readonly expectedIssuer?: string;
  readonly issRequired: boolean;
  /** Host the browser goes to, in ASCII, with a port unless it is the default one. */
  readonly destinationHost: string;
}

export interface CallbackRequest {
  /** The URL the browser requested, with the public origin. */
  readonly callbackUrl: URL;
  readonly redirectUri: URL;
  readonly state: string;
  /** As recorded at the start. Absent: as the provider is configured now. */
  readonly expectedIssuer?: string;
  readonly issRequired?: boolean;
}

export interface CodeExchangeRequest {
  readonly code: string;
  readonly redirectUri: URL;
  readonly codeVerifier: string;
  readonly nonce?: string;
  readonly scopes: readonly string[];
  readonly resource?: string;
  /** As recorded at the start. */
  readonly expectedIssuer?: string;
}

/** What the provider issued. Every token in it is a secret. */
export interface Grant {
  readonly accessToken: string;
  /** Always `bearer`. */
  readonly tokenType: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt?: number;
  readonly refreshToken?: string;
  readonly idToken?: string;
  /** Granted scopes, which may be fewer or more than the requested ones. */
  readonly scopes: string[];
  readonly account?: Account;
}

/** A configured provider. Keeps no transaction: what `start` returns is handed back at the end. */
export interface Provider {
  readonly name: string;
  readonly displayName: string;
  /** Scopes in plain words, as configured. */
  readonly scopeDescriptions: Readonly<Record<string, LocalizedText>>;
  /** Host that the browser will be sent to. Without discovery the answer is immediate. */
  destinationHost(): Promise<string> | string;
  /**
   * The scopes that are requested from the provider when an MCP server asks for these.
   * @throws {AuthorizationError} `scope_not_allowed`
   */
  requestedScopes(scopes: readonly string[]): string[];
  start(request: StartRequest): Promise<AuthorizationStart>;
  /** First half of `finish`: the callback is checked, no token endpoint is called. No network when `issRequired` is given. */
  validateCallback(request: CallbackRequest): Promise<{ code: string }>;
  /** Second half of `finish`. At most one token request. */
  exchange(request: CodeExchangeRequest): Promise<Grant>;
  finish(request: CallbackRequest & Omit<CodeExchangeRequest, 'code'>): Promise<Grant>;
}

/** Every method of the provider throws `AuthorizationError`, and `TypeError` only for a call that breaks its contract. */
export function createProvider(p: {
  config: ProviderConfig;
  metadata: MetadataCache;
  fetch: OutboundFetch;
  now: () => number;
}): Provider {
  const { config } = p;
  const { clientId = '' } = config;
  const oauthClient = createOauthClient({ registration: { ...config, clientId }, fetch: p.fetch, now: p.now });
  const scopes = scopePolicy(config);
  const explicit = explicitEndpoints(config);

  async function endpoints(): Promise<EndpointMetadata> {
    if (explicit) return explicit;
    const { issuer, discovery = 'oidc' } = config;
    if (issuer === undefined) throw new TypeError('a provider without endpoints has an issuer');
    const metadata = await p.metadata.get(issuer, discovery);
    assertPkceSupport(metadata, config.allowMissingPkceMetadata);
    const { userinfoEndpoint } = config;
    return userinfoEndpoint === undefined ? metadata : { ...metadata, userinfo_endpoint: userinfoEndpoint };
  }

  const issRequired = (metadata: EndpointMetadata) =>
    config.requireIss || metadata.authorization_response_iss_parameter_supported === true;

  async function account(metadata: EndpointMetadata, accessToken: string, claims: client.IDToken | undefined) {
    if (config.account === undefined) return undefined;
    if (config.account.from === 'id_token') {
      if (claims === undefined) throw new AuthorizationError('invalid_id_token');
      return accountFrom(claims, config.account);
    }
    const userinfo = await oauthClient.userinfo(metadata, accessToken);
    // OpenID Connect Core 5.3.2: both must speak of the same person.
    if (claims !== undefined && userinfo['sub'] !== claims.sub) throw new AuthorizationError('invalid_userinfo');
    return accountFrom(userinfo, config.account);
  }

  const provider: Provider = {
    name: config.name,
    displayName: config.displayName,
    scopeDescriptions: config.scopes ?? {},
    requestedScopes: scopes.requested,

    destinationHost() {
      if (explicit) return hostOf(explicit.authorization_endpoint);
      return endpoints().then(metadata => hostOf(metadata.authorization_endpoint));
    },

    async start({ redirectUri, state, scopes: asked, resource, expectedAccount }) {
      assertPlain(redirectUri);
      const requested = scopes.requested(asked);
      assertResource(resource, config);
      const metadata = await endpoints();
      const codeVerifier = client.randomPKCECodeVerifier();
      const nonce = requested.includes('openid') && canVerifyIdTokens(metadata) ? client.randomNonce() : undefined;

      const authorizationUrl = oauthClient.authorizationUrl(metadata, {
        ...config.authorizationParameters,
        response_type: 'code',
        redirect_uri: redirectUri.href,
        state,
        code_challenge: await client.calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
        ...(requested.length > 0 && { scope: requested.join(' ') }),
        ...(nonce !== undefined && { nonce }),
        ...(resource !== undefined && { resource }),
        ...(expectedAccount !== undefined && { login_hint: expectedAccount }),
      });
      return {
        authorizationUrl,
        codeVerifier,
        ...(nonce !== undefined && { nonce }),
        ...(config.issuer !== undefined && { expectedIssuer: config.issuer }),
        issRequired: issRequired(metadata),
        destinationHost: authorizationUrl.host,
      };
    },

    async validateCallback(request) {
      assertUnchanged(request.expectedIssuer, config);
      return validateCallback({
        ...request,
        expectedIssuer: request.expectedIssuer ?? config.issuer,
        issRequired: request.issRequired ?? issRequired(await endpoints()),
      });
    },

    async exchange({ code, redirectUri, codeVerifier, nonce, scopes: asked, resource, expectedIssuer }) {
      assertPlain(redirectUri);
      assertUnchanged(expectedIssuer, config);
      const requested = scopes.requested(asked);
      assertResource(resource, config);
      const metadata = await endpoints();
      if (requested.includes('openid') && canVerifyIdTokens(metadata) && nonce === undefined) {
        throw new TypeError('the nonce of the start is missing');
      }
      // Before the request: the lifetime runs from when the token was issued, not from when the answer arrived.
      const issuedAfter = p.now();
      const { response, claims } = await oauthClient.exchange({
        metadata,
        code,
        redirectUri,
        codeVerifier,
        nonce,
        resource,
      });
      const connected = await account(metadata, response.access_token, claims);
      return {
        accessToken: response.access_token,
        tokenType: response.token_type.toLowerCase(),
        ...(response.expires_in !== undefined && { expiresAt: issuedAfter + response.expires_in * 1000 }),
        ...(response.refresh_token !== undefined && { refreshToken: response.refresh_token }),
        ...(response.id_token !== undefined && { idToken: response.id_token }),
        scopes: grantedScopes(response, requested, config.scopeSeparator),
        ...(connected !== undefined && { account: connected }),
      };
    },

    async finish(request) {
      const { code } = await provider.validateCallback(request);
      return provider.exchange({ ...request, code });
    },
  };
  return provider;
}

/** Endpoints out of the configuration; whoever writes them down has decided that PKCE is understood there. */
function explicitEndpoints(config: ProviderConfig): EndpointMetadata | undefined {
  const { authorizationEndpoint, tokenEndpoint, userinfoEndpoint, jwksUri, issuer } = config;
  if (authorizationEndpoint === undefined || tokenEndpoint === undefined) return undefined;
  return {
    authorization_endpoint: authorizationEndpoint,
    token_endpoint: tokenEndpoint,
    ...(userinfoEndpoint !== undefined && { userinfo_endpoint: userinfoEndpoint }),
    ...(jwksUri !== undefined && { jwks_uri: jwksUri }),
    ...(issuer !== undefined && { issuer }),
  };
}

const hostOf = (endpoint: string): string => new URL(endpoint).host;

function assertPlain(redirectUri: URL): void {
  if (redirectUri.search !== '' || redirectUri.hash !== '')
    throw new TypeError('a redirect URI has no query or fragment');
}

/** Configured anew since the start, the token endpoint is no longer that of the authorization server that answered. */
function assertUnchanged(expectedIssuer: string | undefined, config: ProviderConfig): void {
  if (expectedIssuer !== undefined && expectedIssuer !== config.issuer) throw new AuthorizationError('issuer_mismatch');
}

function assertResource(resource: string | undefined, config: ProviderConfig): void {
  if (resource !== undefined && !config.resources.includes(resource)) {
    throw new AuthorizationError('resource_not_allowed');
  }
}
