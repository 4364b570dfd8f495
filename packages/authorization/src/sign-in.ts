import * as client from 'openid-client';
import { AuthorizationError } from './authorization-error.ts';
import { type CallbackExpectations, validateCallback } from './callback.ts';
import type { ResolvedClient } from './client-registration.ts';
import { displayText } from './display-text.ts';
import type { IdentityProviderConfig } from './identity-provider-config.ts';
import { createOauthClient } from './oauth-client.ts';
import type { OutboundFetch } from './outbound-fetch.ts';
import { assertPkceSupport, createMetadataCache, type ServerMetadata } from './server-metadata.ts';
import { subjectFromClaims } from './subject-claims.ts';

export interface SignInRequest {
  readonly redirectUri: URL;
  readonly state: string;
  readonly nonce: string;
  /** Default: a new one. */
  readonly codeVerifier?: string;
  /** Ask the identity provider to authenticate even where it has a session. */
  readonly prompt?: 'login';
  /** Oldest accepted authentication, in seconds. Default: as configured. */
  readonly maxAge?: number;
}

export interface SignInStart {
  readonly authorizationUrl: URL;
  /** Secret until the exchange. */
  readonly codeVerifier: string;
}

export interface SignInCallback extends Pick<CallbackExpectations, 'callbackUrl' | 'redirectUri' | 'state'> {
  readonly nonce: string;
  readonly codeVerifier: string;
  /** The same value as at the start. */
  readonly maxAge?: number;
}

/** Who signed in. (`issuer`, `subject`) is the identity; the rest is for showing only. */
export interface SignedIn {
  readonly issuer: string;
  readonly subject: string;
  readonly displayName: string;
  /** A second line that tells two accounts of the same name apart, usually the e-mail address. */
  readonly detail?: string;
  /** When the person last authenticated, in milliseconds since the epoch. */
  readonly authTime?: number;
  /** `sid` of the ID token, for OpenID Connect logout. */
  readonly sessionId?: string;
}

/** OpenID Connect sign-in at one identity provider: code, PKCE, state, nonce, `iss`, verified ID token signature. */
export interface SignIn {
  /** @throws {AuthorizationError} */
  start(request: SignInRequest): Promise<SignInStart>;
  /** @throws {AuthorizationError} */
  finish(callback: SignInCallback): Promise<SignedIn>;
}

export function createSignIn(p: {
  identityProvider: IdentityProviderConfig;
  fetch: OutboundFetch;
  /** Milliseconds since the epoch. */
  now: () => number;
}): SignIn {
  const config = p.identityProvider;
  const cache = createMetadataCache(p);
  const oauthClient = createOauthClient({ fetch: p.fetch, now: p.now });

  async function metadata(): Promise<ServerMetadata> {
    const found = await cache.get(config.issuer, 'oidc');
    assertPkceSupport(found, config.allowMissingPkceMetadata);
    // Without keys no ID token can be verified, and sign-in rests on nothing else.
    if (found.jwks_uri === undefined) throw new AuthorizationError('invalid_metadata');
    return found;
  }

  const registered = (server: ServerMetadata): ResolvedClient => ({ registration: config, metadata: server });

  return {
    async start({ redirectUri, state, nonce, codeVerifier = client.randomPKCECodeVerifier(), prompt, maxAge }) {
      const oldest = maxAge ?? config.maxAgeSeconds;
      const authorizationUrl = oauthClient.authorizationUrl(registered(await metadata()), {
        response_type: 'code',
        redirect_uri: redirectUri.href,
        scope: config.scopes.join(' '),
        state,
        nonce,
        code_challenge: await client.calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
        ...(prompt !== undefined && { prompt }),
        ...(oldest !== undefined && { max_age: String(oldest) }),
      });
      return { authorizationUrl, codeVerifier };
    },

    async finish({ callbackUrl, redirectUri, state, nonce, codeVerifier, maxAge = config.maxAgeSeconds }) {
      const server = await metadata();
      const { code } = validateCallback({
        callbackUrl,
        redirectUri,
        state,
        expectedIssuer: config.issuer,
        issRequired: server.authorization_response_iss_parameter_supported === true,
      });
      const { response, claims } = await oauthClient.exchange(registered(server), {
        code,
        redirectUri,
        codeVerifier,
        nonce,
        maxAge,
      });
      if (claims === undefined) throw new AuthorizationError('invalid_id_token');
      const subject = subjectFromClaims(claims, config.subjectClaim);
      if (subject === undefined) throw new AuthorizationError('invalid_id_token', { claim: config.subjectClaim });

      return {
        issuer: config.issuer,
        subject,
        ...(await description(server, claims, response.access_token)),
        // Some identity providers write 0 where they do not know it.
        ...(claims.auth_time !== undefined && claims.auth_time > 0 && { authTime: claims.auth_time * 1000 }),
        ...(typeof claims['sid'] === 'string' && { sessionId: claims['sid'] }),
      };
    },
  };

  /** The name to show. Identity providers may keep profile claims out of the ID token (OpenID Connect Core 5.4). */
  async function description(server: ServerMetadata, claims: client.IDToken, accessToken: string) {
    let profile: Record<string, unknown> = claims;
    if (firstText(profile, config.displayNameClaims) === undefined && server.userinfo_endpoint !== undefined) {
      profile = await oauthClient.userinfo(registered(server), accessToken);
      if (profile['sub'] !== claims.sub) throw new AuthorizationError('invalid_userinfo', { claim: 'sub' });
    }
    const displayName = firstText(profile, config.displayNameClaims) ?? displayText(claims.sub) ?? config.clientId;
    const detail = firstText(profile, ['email', 'preferred_username']);
    return { displayName, ...(detail !== undefined && detail !== displayName && { detail }) };
  }
}

function firstText(claims: Record<string, unknown>, names: readonly string[]): string | undefined {
  for (const name of names) {
    const text = displayText(claims[name]);
    if (text !== undefined) return text;
  }
  return undefined;
}
