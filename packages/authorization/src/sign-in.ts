import * as client from 'openid-client';
import { AuthorizationError } from './authorization-error.ts';
import { type CallbackExpectations, validateCallback } from './callback.ts';
import type { ResolvedClient } from './client-registration.ts';
import type { IdentityProviderConfig } from './identity-provider-config.ts';
import { issuerNamed } from './issuer.ts';
import { createOauthClient } from './oauth-client.ts';
import type { OutboundFetch } from './outbound/outbound-fetch.ts';
import { assertPkceSupport, createMetadataCache, type MetadataCache, type ServerMetadata } from './server-metadata.ts';
import { clockToleranceSeconds, exchangeCode } from './token-request.ts';
import { displayText, subjectFromClaims, textsOfClaim, userinfo } from './user-claims.ts';

export interface SignInRequest {
  readonly redirectUri: URL;
  readonly state: string;
  readonly nonce: string;
  /** Default: a new code verifier. */
  readonly codeVerifier?: string;
  /** Requires the identity provider to authenticate even if it has a session. */
  readonly prompt?: 'login';
  /** Maximum age of the authentication, in seconds. Default: as configured. */
  readonly maxAge?: number;
  /** The user's language (BCP 47), sent as `ui_locales`. */
  readonly locale?: string;
}

export interface SignInStart {
  readonly authorizationUrl: URL;
  /** Secret until the exchange. */
  readonly codeVerifier: string;
}

export interface SignInCallback extends Pick<CallbackExpectations, 'callbackUrl' | 'redirectUri' | 'state'> {
  readonly nonce: string;
  readonly codeVerifier: string;
  /** The value of the start. */
  readonly maxAge?: number;
}

/** The signed-in user. (`issuer`, `subject`) is the identity; the other members are only for display. */
export interface SignedIn {
  /** The configured issuer, or with `tenants` the issuer of the user's tenant. */
  readonly issuer: string;
  readonly subject: string;
  readonly displayName: string;
  /** A second line that distinguishes accounts with the same name, usually the e-mail address. */
  readonly detail?: string;
  /** Time of the user's last authentication, in milliseconds since the epoch. */
  readonly authTime?: number;
  /** `sid` of the ID token, for OpenID Connect logout. */
  readonly sessionId?: string;
  /** Values of the `groupsClaim` in the ID token. Absent without a `groupsClaim`. */
  readonly groups?: readonly string[];
}

export interface EndSessionRequest {
  readonly postLogoutRedirectUri: URL;
  readonly state: string;
  /** The user's language (BCP 47), sent as `ui_locales`. */
  readonly locale?: string;
}

/** Asks for the time of the sign-in in the ID token (OpenID Connect Core 5.5). Without it, only `max_age` makes the time required. */
const AUTH_TIME_CLAIM = JSON.stringify({ id_token: { auth_time: { essential: true } } });

/** OpenID Connect sign-in at one identity provider: code, PKCE, state, nonce, `iss`, verified ID token signature. */
export interface SignIn {
  /** @throws {AuthorizationError} */
  start(request: SignInRequest): Promise<SignInStart>;
  /** @throws {AuthorizationError} */
  finish(callback: SignInCallback): Promise<SignedIn>;
  /**
   * Returns the URL at which the user can sign out of the identity provider (OpenID Connect RP-Initiated Logout 1.0 section 2). Undefined
   * if it has none, or the configuration turns it off.
   *
   * The request names the client, and neither an `id_token_hint` nor a `logout_hint`: both identify the user, in a URL that stays in the
   * history of the browser and in logs, and an ID token would have to be stored until then. Without a hint, the identity provider
   * asks the user before it signs them out.
   *
   * @throws {AuthorizationError}
   */
  endSessionUrl(request: EndSessionRequest): Promise<URL | undefined>;
}

/** Returns the metadata of an identity provider at which users can sign in. @throws {AuthorizationError} */
export async function signInMetadata(
  config: IdentityProviderConfig,
  cache: MetadataCache,
): Promise<ServerMetadata & { readonly jwks_uri: string }> {
  const found = await cache.get(config);
  assertPkceSupport(found, config.allowMissingPkceMetadata);
  const { jwks_uri } = found;
  // Without keys no ID token can be verified, and sign-in relies only on the ID token.
  if (jwks_uri === undefined) throw new AuthorizationError('invalid_metadata');
  return { ...found, jwks_uri };
}

export function createSignIn(p: {
  identityProvider: IdentityProviderConfig;
  fetch: OutboundFetch;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Name or path of a claim of the ID token. Its signature vouches for the values; userinfo is not read. */
  groupsClaim?: string;
  /** Called if userinfo fails, which no sign-in depends on. */
  onProfileError?: (error: AuthorizationError) => void;
}): SignIn {
  const config = p.identityProvider;
  const cache = createMetadataCache(p);
  const oauthClient = createOauthClient({ fetch: p.fetch, now: p.now });

  const metadata = () => signInMetadata(config, cache);

  const registered = (server: ServerMetadata): ResolvedClient => ({ registration: config, metadata: server });

  return {
    async start({ redirectUri, state, nonce, codeVerifier = client.randomPKCECodeVerifier(), prompt, maxAge, locale }) {
      const oldest = maxAge ?? config.maxAgeSeconds;
      const server = await metadata();
      const authorizationUrl = oauthClient.authorizationUrl(registered(server), {
        response_type: 'code',
        redirect_uri: redirectUri.href,
        scope: config.scopes.join(' '),
        state,
        nonce,
        code_challenge: await client.calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
        ...(prompt !== undefined && { prompt }),
        ...(locale !== undefined && { ui_locales: locale }),
        ...(oldest !== undefined && { max_age: String(oldest) }),
        // Unlike `max_age`, it causes no second sign-in.
        ...(server.claims_parameter_supported === true && { claims: AUTH_TIME_CLAIM }),
      });
      return { authorizationUrl, codeVerifier };
    },

    async finish({ callbackUrl, redirectUri, state, nonce, codeVerifier, maxAge = config.maxAgeSeconds }) {
      const server = await metadata();
      const { code } = validateCallback({
        callbackUrl,
        redirectUri,
        state,
        expectedIssuer: server.issuer,
        tenants: config.tenants,
        issRequired: server.authorization_response_iss_parameter_supported === true,
      });
      const { response, claims } = await exchangeCode(oauthClient, registered(server), {
        code,
        redirectUri,
        codeVerifier,
        nonce,
        maxAge,
      });
      if (claims === undefined) throw new AuthorizationError('invalid_id_token');
      const issuer = issuerNamed(config, claims.iss);
      if (issuer === undefined) throw new AuthorizationError('invalid_id_token', { claim: 'iss' });
      if (maxAge !== undefined) assertPast(claims);
      const subject = subjectFromClaims(claims, config.subjectClaim);
      if (subject === undefined) throw new AuthorizationError('invalid_id_token', { claim: config.subjectClaim });

      return {
        issuer,
        subject,
        ...(await description(server, claims, response.access_token)),
        // Some identity providers send 0 for an unknown time.
        ...(claims.auth_time !== undefined && claims.auth_time > 0 && { authTime: claims.auth_time * 1000 }),
        ...(typeof claims['sid'] === 'string' && { sessionId: claims['sid'] }),
        ...(p.groupsClaim !== undefined && { groups: textsOfClaim(claims, p.groupsClaim) }),
      };
    },

    async endSessionUrl({ postLogoutRedirectUri, state, locale }) {
      if (!config.rpInitiatedLogout) return undefined;
      const { end_session_endpoint: endpoint } = await metadata();
      if (endpoint === undefined) return undefined;
      const url = new URL(endpoint);
      const parameters = {
        client_id: config.clientId,
        post_logout_redirect_uri: postLogoutRedirectUri.href,
        state,
        ...(locale !== undefined && { ui_locales: locale }),
      };
      for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
      return url;
    },
  };

  /** Returns the claims with the display name. Identity providers may omit them from the ID token (OpenID Connect Core 5.4). */
  async function profileOf(
    server: ServerMetadata,
    claims: client.IDToken,
    accessToken: string,
  ): Promise<Record<string, unknown>> {
    if (firstText(claims, config.displayNameClaims) !== undefined || server.userinfo_endpoint === undefined)
      return claims;
    let profile: Record<string, unknown>;
    try {
      profile = await userinfo(oauthClient, registered(server), accessToken);
    } catch (error) {
      // A name is decoration: the verified ID token has identified the user.
      if (!(error instanceof AuthorizationError)) throw error;
      p.onProfileError?.(error);
      return claims;
    }
    if (profile['sub'] === undefined) return claims;
    // OpenID Connect Core 5.3.2: these are claims of another user.
    if (profile['sub'] !== claims.sub) throw new AuthorizationError('invalid_userinfo', { claim: 'sub' });
    return profile;
  }

  async function description(server: ServerMetadata, claims: client.IDToken, accessToken: string) {
    const profile = await profileOf(server, claims, accessToken);
    const displayName = firstText(profile, config.displayNameClaims) ?? displayText(claims.sub) ?? config.clientId;
    const detail = firstText(profile, ['email', 'preferred_username']);
    return { displayName, ...(detail !== undefined && detail !== displayName && { detail }) };
  }
}

/** Rejects a sign-in after the ID token was issued. Its time is wrong, and the sign-in would become fresh later. */
function assertPast({ auth_time: authTime, iat }: client.IDToken): void {
  if (authTime !== undefined && authTime > iat + clockToleranceSeconds)
    throw new AuthorizationError('invalid_id_token', { claim: 'auth_time' });
}

function firstText(claims: Record<string, unknown>, names: readonly string[]): string | undefined {
  for (const name of names) {
    const text = displayText(claims[name]);
    if (text !== undefined) return text;
  }
  return undefined;
}
