import type { ValidatedCallback } from './callback.ts';
import type { ScopeDescription } from './config-values.ts';
import type { DeviceAuthorization, DevicePoll } from './device-flow.ts';
import type { DpopKey, DpopProofRequest } from './dpop.ts';
import type { RevocationResult } from './revocation.ts';
import type { TokenType } from './token-response.ts';
import type { Account } from './user-claims.ts';

export interface StartRequest {
  /** One per MCP server and provider. Without query and fragment. */
  readonly redirectUri: URL;
  readonly state: string;
  /** Empty: the provider's default scopes. */
  readonly scopes: readonly string[];
  /** RFC 8707 resource indicator, one of the configured ones. */
  readonly resource?: string;
  /** Account that the user is expected to choose, sent as `login_hint`. */
  readonly expectedAccount?: string;
  /** The user's language (BCP 47), sent as `ui_locales` to providers that speak OpenID Connect. */
  readonly locale?: string;
}

/** The URL for the browser, and the values to store until the callback. */
export interface AuthorizationStart {
  readonly authorizationUrl: URL;
  /** Secret until the exchange. */
  readonly codeVerifier: string;
  /** Present when an ID token is expected. */
  readonly nonce?: string;
  /**
   * Issuer of the authorization server. `iss` of the callback must equal it, and the code goes only to this server. Undefined
   * if the operator configured endpoints without an issuer.
   */
  readonly expectedIssuer: string | undefined;
  readonly issRequired: boolean;
  /** Host to which the browser goes, in ASCII, with a port unless it is the default port. */
  readonly destinationHost: string;
  /** The key to which the tokens will be bound, if any; passed to the exchange. Secret. */
  readonly dpopKey?: DpopKey;
}

export interface CallbackRequest {
  /** The URL the browser requested, with the public origin. */
  readonly callbackUrl: URL;
  readonly redirectUri: URL;
  readonly state: string;
  /** The value recorded at the start, never the current configuration. */
  readonly expectedIssuer: string | undefined;
  readonly issRequired: boolean;
}

export interface CodeExchangeRequest {
  readonly code: string;
  readonly redirectUri: URL;
  readonly codeVerifier: string;
  /** The value recorded at the start. Without it, ID tokens are ignored. */
  readonly nonce?: string;
  readonly scopes: readonly string[];
  /** Scopes granted before, at a provider that adds new scopes to them (`incremental`). */
  readonly heldScopes?: readonly string[];
  readonly resource?: string;
  /** The value recorded at the start. */
  readonly expectedIssuer: string | undefined;
  readonly dpopKey?: DpopKey;
}

/** The tokens that the provider issued. All of them are secret. */
export interface Grant {
  readonly accessToken: string;
  readonly tokenType: TokenType;
  /** Milliseconds since the epoch. */
  readonly expiresAt?: number;
  readonly refreshToken?: string;
  readonly idToken?: string;
  /** Granted scopes and their implied scopes. They may be fewer or more than requested. */
  readonly scopes: string[];
  readonly account?: Account;
  /**
   * The authorization server that issued the grant. The caller stores it with the tokens and passes it back: tokens go only
   * to this server, even if the configuration or a remote MCP server names another one later. Undefined if the operator
   * configured endpoints without an issuer.
   */
  readonly issuer: string | undefined;
  /** The private key that the tokens are bound to, present exactly if `tokenType` is `dpop`. Secret. */
  readonly dpopKey?: DpopKey;
}

export interface RefreshRequest {
  readonly refreshToken: string;
  /** The scopes of the current grant. */
  readonly scopes: readonly string[];
  /** The redirect URI of the start, which identifies the registration of the refresh token. */
  readonly redirectUri: URL;
  readonly resource?: string;
  /** The value of the grant. */
  readonly issuer: string | undefined;
  /** The value of the grant. */
  readonly dpopKey?: DpopKey;
}

/** Without a refresh token, the old refresh token stays valid. The DPoP key never changes. */
export type RefreshedGrant = Omit<Grant, 'idToken' | 'account' | 'issuer' | 'dpopKey'>;

export interface RevokeRequest {
  readonly accessToken: string;
  readonly refreshToken?: string;
  /** Redirect URI and issuer, like in a refresh. */
  readonly redirectUri: URL;
  readonly issuer: string | undefined;
  readonly dpopKey?: DpopKey;
}

/** The redirect URI only identifies the registration; the browser never visits it. */
export type DeviceStartRequest = Pick<StartRequest, 'redirectUri' | 'scopes' | 'resource'>;

/** The codes to show to the user, and the values to store until the user decides. */
export interface DeviceStart extends DeviceAuthorization, Pick<AuthorizationStart, 'expectedIssuer' | 'dpopKey'> {
  /** Host of `verificationUri`, in ASCII, with a port unless it is the default port. */
  readonly destinationHost: string;
}

export interface DevicePollRequest extends Omit<CodeExchangeRequest, 'code' | 'codeVerifier' | 'nonce'> {
  readonly deviceCode: string;
}

/** Like {@link DevicePoll}, with the issued grant. */
export type DevicePollResult =
  | { readonly result: 'granted'; readonly grant: Grant }
  | Exclude<DevicePoll, { readonly result: 'granted' }>;

/** A configured provider. Stateless: the caller stores the result of `start` and passes it back. */
export interface Provider {
  readonly name: string;
  readonly displayName: string;
  /** Scopes in plain words, as configured. */
  readonly scopeDescriptions: Readonly<Record<string, ScopeDescription>>;
  readonly flow: 'redirect' | 'device';
  /** Whether the provider itself adds new scopes to those granted before. */
  readonly incremental: boolean;
  /** Reach of one revocation request; `grant`: everything that the user ever granted to this client. */
  readonly revocationReach: 'token' | 'connection' | 'grant';
  /** Whether a refresh spends its refresh token, as configured. */
  readonly rotatesRefreshTokens: boolean | undefined;
  /** Hosts that may receive access tokens, as `URL.host` or `*.` and a domain. Undefined if none are known. */
  readonly apiHosts: readonly string[] | undefined;

  /** Host to which the browser will be sent. Synchronous without discovery. */
  destinationHost(): Promise<string> | string;
  /** Returns scopes in the one spelling that the configuration uses, each scope once. */
  spelledScopes(scopes: readonly string[]): string[];
  /**
   * Returns the scopes to request from the provider for the scopes of an MCP server.
   * @throws {AuthorizationError} `scope_not_allowed`
   */
  requestedScopes(scopes: readonly string[]): string[];
  /**
   * Returns the scopes to request so that `needed` is granted and `held` is kept: only the missing scopes if `incremental`,
   * otherwise the union. Omits held scopes that may no longer be requested.
   * @throws {AuthorizationError} `scope_not_allowed`
   */
  scopesToRequest(needed: readonly string[], held: readonly string[]): string[];

  start(request: StartRequest): Promise<AuthorizationStart>;
  /** Checks the callback (`state`, `iss`, errors). Never calls the token endpoint, because the same-person check comes first. */
  validateCallback(request: CallbackRequest): Promise<ValidatedCallback>;
  /** Exchanges the code. Sends one token request, and a second one only for a DPoP nonce. */
  exchange(request: CodeExchangeRequest): Promise<Grant>;

  /** Starts a device flow. The redirect URI only identifies the registration. */
  startDevice(request: DeviceStartRequest): Promise<DeviceStart>;
  /** Polls once. The caller keeps the interval and runs one poll at a time. */
  pollDevice(request: DevicePollRequest): Promise<DevicePollResult>;

  /**
   * Refreshes the access token. Sends one request, and a second one only for a DPoP nonce. After any error other than
   * `grant_refused` the refresh token may still be valid.
   *
   * @throws {AuthorizationError} `grant_refused` if the provider no longer accepts the refresh token; `issuer_mismatch` if
   *   another server issued it, in which case no request is sent.
   */
  refresh(request: RefreshRequest): Promise<RefreshedGrant>;
  /**
   * Whether the provider supports revocation, by the configuration or by its metadata (cached for an hour). True if the
   * metadata cannot be fetched, because only a revocation can show it then.
   */
  isRevocable(): Promise<boolean>;
  /**
   * Revokes the grant at the provider. A token that is unknown there counts as revoked.
   * @throws {AuthorizationError} `issuer_mismatch` like in a refresh. `confirmed` names a token that the provider revoked despite the error.
   */
  revoke(request: RevokeRequest): Promise<RevocationResult>;
  /** Builds the proof for a request with a bound access token (RFC 9449), without network access. */
  dpopProof(request: DpopProofRequest): Promise<string>;
}
