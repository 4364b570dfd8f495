import type { ClientAuthMethod, ClientMetadata, OpenIdUser } from '@postern/openid-server';
import type { JWK } from 'jose';

export interface TestClient {
  readonly clientId: string;
  /** Absent: a public client, or one with keys. */
  readonly clientSecret?: string;
  /** Default: `client_secret_basic` with a secret, `private_key_jwt` with keys, else `none`. */
  readonly authentication?: ClientAuthMethod;
  /** Public keys of a client that authenticates with `private_key_jwt`. */
  readonly jwks?: { readonly keys: readonly JWK[] };
  /** Tokens only with a DPoP proof (`dpop_bound_access_tokens`, RFC 9449 section 5.2). */
  readonly dpopBound?: boolean;
  readonly redirectUris: readonly string[];
  readonly name?: string;
  /** Audience of the tokens of this client if it names no resource. */
  readonly defaultResource?: string;
  /** Further registration metadata, by its registered names. */
  readonly metadata?: Omit<Partial<ClientMetadata>, 'client_id'>;
}

/**
 * What a refresh does to the refresh token.
 * - `rotate-strict`: consumes it; a reuse ends the grant (RFC 9700 section 4.14.2).
 * - `rotate-grace`: consumes it; a reuse within the grace returns the same successors.
 * - `static`: keeps it valid; the response has no refresh token.
 * - `static-repeated`: keeps it valid; the response repeats it.
 * - `no-refresh`: the provider issues no refresh tokens.
 */
export type RefreshTokenMode = 'rotate-strict' | 'rotate-grace' | 'static' | 'static-repeated' | 'no-refresh';

/** Behaviour that a test may change at any time through `TestProvider.switches`. */
export interface ProviderSwitches {
  /** Default `rotate-strict`. */
  refreshTokens: RefreshTokenMode;
  /** For `rotate-grace`: how often, and for how many seconds, a consumed refresh token still works. Default 1, 60. */
  refreshGrace: { readonly uses: number; readonly seconds: number };
  /** A refresh ends the access token that it replaces. Default false. */
  refreshEndsAccessToken: boolean;
  /** Revoking a token ends all tokens of its grant (RFC 7009 section 2.1: SHOULD, MAY). Default true. */
  revocationCascades: boolean;
  /** Lifetime of the access tokens issued from now on. Default 3600. */
  accessTokenTtlSeconds: number;
  /** Format of access tokens for a resource (RFC 8707). Others are always opaque. Default `opaque`. */
  accessTokenFormat: 'jwt' | 'opaque';
  /** RFC 9207: `iss` in authorization responses, and advertised. Default true. */
  issParameter: boolean;
  /** RFC 9728 section 4: `protected_resources` of the metadata. Default: none. */
  protectedResources: readonly string[] | undefined;
  /** DPoP proofs need a nonce, at the token endpoint and at the API. Only with `dpop: 'offered'`. Default false. */
  dpopNonce: boolean;
  /** `issuer`: client assertions are refused unless the issuer is their only audience. Default `any`. */
  assertionAudience: 'any' | 'issuer';
  /** Rewrites a successful token response before it is sent. */
  rewriteTokenAnswer: ((answer: Record<string, unknown>) => Record<string, unknown>) | undefined;
}

export interface OpenIdProviderOptions extends Partial<ProviderSwitches> {
  /** Default: a free port. */
  readonly port?: number;
  /** Port in the issuer, if a proxy is in front of the provider. Default: its own. */
  readonly publicPort?: number;
  /** Host in the issuer; the listener is on 127.0.0.1 for both. Default `localhost`. */
  readonly host?: 'localhost' | '127.0.0.1';
  /** Shown on the pages. */
  readonly name?: string;
  readonly users?: readonly OpenIdUser[];
  readonly clients: readonly TestClient[];
  /** Scopes in addition to `openid profile email offline_access`. */
  readonly scopes?: readonly string[];
  /** A different `sub` for every client; the claims `tid` and `oid` stay the same. */
  readonly pairwise?: boolean;
  /** `skip`: grants without consent, like a company's identity provider. Default `ask`. */
  readonly consent?: 'ask' | 'skip';
  /** Whether name and e-mail are in the ID token, or only at the userinfo endpoint. Default true. */
  readonly profileInIdToken?: boolean;
  /** OpenID Connect Core 5.5. Default false: only `max_age` makes the provider say when the user signed in. */
  readonly claimsParameter?: boolean;
  /** RFC 9126. Default `off`. */
  readonly pushedAuthorization?: 'off' | 'offered' | 'required';
  /** RFC 9449. `offered`: any client may send proofs; those with `dpopBound` must. Default `off`. */
  readonly dpop?: 'off' | 'offered';
  /** RFC 8628. Default false. */
  readonly deviceFlow?: boolean;
  /** RFC 7009. Default `offered`. */
  readonly revocation?: 'off' | 'offered';
  /** RFC 7591 and 7592, open or with an initial access token. Default `off`. */
  readonly registration?: 'off' | 'open' | { readonly initialAccessToken: string };
  /** Fetches a Client ID Metadata Document, so that a test can serve its `https` URL from loopback. */
  readonly clientIdMetadataDocuments?: (url: URL) => Promise<Response>;
}

export function switchesOf(options: OpenIdProviderOptions): ProviderSwitches {
  return {
    refreshTokens: options.refreshTokens ?? 'rotate-strict',
    refreshGrace: options.refreshGrace ?? { uses: 1, seconds: 60 },
    refreshEndsAccessToken: options.refreshEndsAccessToken ?? false,
    revocationCascades: options.revocationCascades ?? true,
    accessTokenTtlSeconds: options.accessTokenTtlSeconds ?? 3600,
    accessTokenFormat: options.accessTokenFormat ?? 'opaque',
    issParameter: options.issParameter ?? true,
    protectedResources: options.protectedResources,
    dpopNonce: options.dpopNonce ?? false,
    assertionAudience: options.assertionAudience ?? 'any',
    rewriteTokenAnswer: options.rewriteTokenAnswer,
  };
}
