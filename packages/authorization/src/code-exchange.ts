import * as client from 'openid-client';
import { AuthorizationError } from './authorization-error.ts';
import { createClientAuthentication } from './client-authentication.ts';
import type { ClientRegistration, EndpointMetadata } from './client-registration.ts';
import { fromLibraryError } from './library-error.ts';
import type { OutboundFetch } from './outbound-fetch.ts';
import { isInsecure, unlessUnavailable } from './server-metadata.ts';
import { parseTokenResponse, type TokenResponse } from './token-response.ts';

export interface ExchangeRequest {
  readonly metadata: EndpointMetadata;
  readonly code: string;
  readonly redirectUri: URL;
  readonly codeVerifier: string;
  /** Set when an ID token is expected: it must be there and carry this nonce. */
  readonly nonce?: string | undefined;
  readonly resource?: string | undefined;
  /** Oldest accepted authentication, in seconds. */
  readonly maxAge?: number | undefined;
}

export interface ExchangeResult {
  readonly response: TokenResponse;
  /** Claims of the ID token, signature verified. Undefined without an ID token. */
  readonly claims: client.IDToken | undefined;
}

export interface OauthClient {
  /** The URL of an authorization request with these parameters. */
  authorizationUrl(metadata: EndpointMetadata, parameters: Record<string, string>): URL;
  /**
   * Exchanges an authorization code. One request, never repeated: a code can be used once, and an answer that was lost
   * is not known to have been a failure.
   *
   * @throws {AuthorizationError}
   */
  exchange(request: ExchangeRequest): Promise<ExchangeResult>;
  /** Reads a JSON object with an access token. @throws {AuthorizationError} */
  userinfo(metadata: EndpointMetadata, accessToken: string): Promise<Record<string, unknown>>;
}

/** An issuer name that no ID token can have. */
const noIssuer = 'urn:postern:no-issuer-configured';

/** An ID token is proof only if we know who should have signed it and with which keys. */
export function canVerifyIdTokens(metadata: EndpointMetadata): boolean {
  return metadata.issuer !== undefined && metadata.jwks_uri !== undefined;
}

/** The part of Postern that speaks OAuth with one authorization server. Keeps nothing but that server's public keys. */
export function createOauthClient(p: {
  registration: ClientRegistration;
  fetch: OutboundFetch;
  now: () => number;
}): OauthClient {
  /** `uat` by our clock. */
  let knownKeys: client.ExportedJWKSCache | undefined;
  /** Seconds by which our clock is ahead of the system's, which is the one the library reads. */
  const clockLead = () => Math.round((p.now() - Date.now()) / 1000);
  const guardedFetch = unlessUnavailable(p.fetch);

  /** A configuration per operation, because openid-client takes its clock as a fixed distance to the system's. */
  function configure(metadata: EndpointMetadata, fetch: client.CustomFetch): client.Configuration {
    // `iss` of the callback has been checked by validateCallback, with knowledge that openid-client does not have.
    const { authorization_response_iss_parameter_supported: _, ...server } = metadata;
    const configuration = new client.Configuration(
      { ...server, issuer: metadata.issuer ?? noIssuer },
      p.registration.clientId,
      { [client.clockSkew]: clockLead() },
      createClientAuthentication(p.registration),
    );
    configuration.timeout = 0;
    configuration[client.customFetch] = fetch;
    if (isInsecure(metadata.token_endpoint)) client.allowInsecureRequests(configuration);
    if (knownKeys) client.setJwksCache(configuration, { ...knownKeys, uat: knownKeys.uat - clockLead() });
    return configuration;
  }

  return {
    authorizationUrl(metadata, parameters) {
      return client.buildAuthorizationUrl(configure(metadata, guardedFetch), parameters);
    },

    async exchange({ metadata, code, redirectUri, codeVerifier, nonce, resource, maxAge }) {
      let response: TokenResponse | undefined;
      const exchangeFetch: client.CustomFetch = async (url, options) => {
        const answer = await guardedFetch(url, options);
        if (url !== new URL(metadata.token_endpoint).href || answer.status !== 200) return answer;
        response = parseTokenResponse(await answer.text());
        if (!canVerifyIdTokens(metadata)) delete response.id_token;
        return Response.json(response);
      };
      const configuration = configure(metadata, exchangeFetch);
      if (canVerifyIdTokens(metadata)) client.enableNonRepudiationChecks(configuration);

      const callback = new URL(redirectUri);
      callback.searchParams.set('code', code);
      try {
        const tokens = await client.authorizationCodeGrant(
          configuration,
          callback,
          {
            pkceCodeVerifier: codeVerifier,
            ...(nonce !== undefined && { expectedNonce: nonce, idTokenExpected: true }),
            ...(maxAge !== undefined && { maxAge }),
          },
          resource === undefined ? undefined : { resource },
        );
        if (response === undefined) throw new AuthorizationError('invalid_token_response');
        const claims = tokens.claims();
        if (claims !== undefined) assertRecent(claims, p.now());
        return { response, claims };
      } catch (error) {
        // The answer itself passed parseTokenResponse; what the library refuses after that is the ID token.
        throw fromLibraryError(error, response === undefined ? 'invalid_token_response' : 'invalid_id_token');
      } finally {
        const readKeys = client.getJwksCache(configuration);
        if (readKeys) knownKeys = { ...readKeys, uat: readKeys.uat + clockLead() };
      }
    },

    async userinfo(metadata, accessToken) {
      const endpoint = metadata.userinfo_endpoint;
      if (endpoint === undefined) throw new AuthorizationError('invalid_userinfo');
      try {
        const configuration = configure(metadata, guardedFetch);
        const answer = await client.fetchProtectedResource(configuration, accessToken, new URL(endpoint), 'GET');
        const body: unknown = answer.status === 200 ? await answer.json() : undefined;
        if (typeof body !== 'object' || body === null || Array.isArray(body)) {
          throw new AuthorizationError('invalid_userinfo');
        }
        return { ...body };
      } catch (error) {
        throw fromLibraryError(error, 'invalid_userinfo');
      }
    },
  };
}

const maxIdTokenAgeSeconds = 600;
const clockToleranceSeconds = 30;

/** OpenID Connect Core 3.1.3.7 item 10: this ID token was asked for just now, so it was issued just now. */
function assertRecent(claims: client.IDToken, now: number): void {
  const age = now / 1000 - claims.iat;
  if (age > maxIdTokenAgeSeconds || age < -clockToleranceSeconds) throw new AuthorizationError('invalid_id_token');
}
