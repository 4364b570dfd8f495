import type { JWK } from 'jose';
import type { ClientAuthMethod, ClientMetadata } from 'oidc-provider';
import type { TestUser } from './test-user.ts';

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
  /** Resource that tokens of this client are for when it names none. */
  readonly defaultResource?: string;
  /** Further registration metadata, by its registered names. */
  readonly metadata?: Omit<Partial<ClientMetadata>, 'client_id'>;
}

/**
 * What a refresh does to the refresh token.
 * - `rotate-strict`: it is consumed; using it again ends the grant (RFC 9700 section 4.14.2).
 * - `rotate-grace`: it is consumed; used again within the grace it answers with the same successors.
 * - `static`: it stays valid, and the answer names no refresh token.
 * - `static-repeated`: it stays valid, and the answer repeats it.
 * - `no-refresh`: none is issued in the first place.
 */
export type RefreshTokenMode = 'rotate-strict' | 'rotate-grace' | 'static' | 'static-repeated' | 'no-refresh';

/** What may change while the provider runs. Assign the members of `TestProvider.switches`. */
export interface ProviderSwitches {
  /** Default `rotate-strict`. */
  refreshTokens: RefreshTokenMode;
  /** How often, and for how many seconds, a consumed refresh token still answers in `rotate-grace`. Default 1, 60. */
  refreshGrace: { readonly uses: number; readonly seconds: number };
  /** A refresh ends the access token that it replaces. Default false. */
  refreshEndsAccessToken: boolean;
  /** Lifetime of the access tokens issued from now on. Default 3600. */
  accessTokenTtlSeconds: number;
  /** Format of access tokens that are for a resource (RFC 8707). Others are always opaque. Default `opaque`. */
  accessTokenFormat: 'jwt' | 'opaque';
  /** RFC 9207: `iss` in authorization responses, and advertised. Default true. */
  issParameter: boolean;
  /** DPoP proofs need a nonce, at the token endpoint and at the API. Only with `dpop: 'offered'`. Default false. */
  dpopNonce: boolean;
  /** `issuer`: client assertions are refused unless the issuer is their only audience. Default `any`. */
  assertionAudience: 'any' | 'issuer';
  /** The last word about the members of a successful token answer. */
  rewriteTokenAnswer: ((answer: Record<string, unknown>) => Record<string, unknown>) | undefined;
}

export interface OpenIdProviderOptions extends Partial<ProviderSwitches> {
  /** Default: a free one. */
  readonly port?: number;
  /** Port in the issuer, where something stands before it. Default: its own. */
  readonly publicPort?: number;
  /** Host in the issuer; the listener is on 127.0.0.1 for both. Default `localhost`. */
  readonly host?: 'localhost' | '127.0.0.1';
  /** Shown on the pages. */
  readonly name?: string;
  readonly users?: readonly TestUser[];
  readonly clients: readonly TestClient[];
  /** Scopes beside `openid profile email offline_access`. */
  readonly scopes?: readonly string[];
  /** A different `sub` for every client; the claims `tid` and `oid` stay the same. */
  readonly pairwise?: boolean;
  /** `skip`: nobody is asked for consent (a company's identity provider). Default `ask`. */
  readonly consent?: 'ask' | 'skip';
  /** Whether name and e-mail are in the ID token, or only at the userinfo endpoint. Default true. */
  readonly profileInIdToken?: boolean;
  /** RFC 9126. Default `off`. */
  readonly pushedAuthorization?: 'off' | 'offered' | 'required';
  /** RFC 9449. `offered`: any client may send proofs; those with `dpopBound` must. Default `off`. */
  readonly dpop?: 'off' | 'offered';
  /** RFC 8628. Default false. */
  readonly deviceFlow?: boolean;
  /** RFC 7009. Default `offered`. */
  readonly revocation?: 'off' | 'offered';
  /** RFC 7591 and 7592, for anybody or with an initial access token. Default `off`. */
  readonly registration?: 'off' | 'open' | { readonly initialAccessToken: string };
  /** Client ID Metadata Documents: answers the `https` URL of a document, so that it can come from loopback. */
  readonly clientIdMetadataDocuments?: (url: URL) => Promise<Response>;
}

export function switchesOf(options: OpenIdProviderOptions): ProviderSwitches {
  return {
    refreshTokens: options.refreshTokens ?? 'rotate-strict',
    refreshGrace: options.refreshGrace ?? { uses: 1, seconds: 60 },
    refreshEndsAccessToken: options.refreshEndsAccessToken ?? false,
    accessTokenTtlSeconds: options.accessTokenTtlSeconds ?? 3600,
    accessTokenFormat: options.accessTokenFormat ?? 'opaque',
    issParameter: options.issParameter ?? true,
    dpopNonce: options.dpopNonce ?? false,
    assertionAudience: options.assertionAudience ?? 'any',
    rewriteTokenAnswer: options.rewriteTokenAnswer,
  };
}
