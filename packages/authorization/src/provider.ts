import type { Account } from './account.ts';
import type { LocalizedText } from './config-values.ts';
import type { DeviceAuthorization } from './device/device-authorization.ts';
import type { DevicePoll } from './device/device-poll.ts';
import type { DpopKey, DpopProofRequest } from './dpop.ts';
import type { RevocationResult } from './revocation.ts';
import type { TokenType } from './token-response.ts';

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
  /**
   * Issuer of the authorization server: `iss` of the callback must equal it, and the code goes to this server only. Undefined
   * where the operator configured endpoints without an issuer.
   */
  readonly expectedIssuer: string | undefined;
  readonly issRequired: boolean;
  /** Host the browser goes to, in ASCII, with a port unless it is the default one. */
  readonly destinationHost: string;
  /** Present when the tokens are to be bound to it; handed back at the exchange. Secret. */
  readonly dpopKey?: DpopKey;
}

export interface CallbackRequest {
  /** The URL the browser requested, with the public origin. */
  readonly callbackUrl: URL;
  readonly redirectUri: URL;
  readonly state: string;
  /** As recorded at the start, never as the provider is configured now. */
  readonly expectedIssuer: string | undefined;
  readonly issRequired: boolean;
}

export interface CodeExchangeRequest {
  readonly code: string;
  readonly redirectUri: URL;
  readonly codeVerifier: string;
  /** As recorded at the start. Without it no ID token is looked at. */
  readonly nonce?: string;
  readonly scopes: readonly string[];
  /** Granted before, at a provider that adds new scopes to them (`incremental`). */
  readonly heldScopes?: readonly string[];
  readonly resource?: string;
  /** As recorded at the start. */
  readonly expectedIssuer: string | undefined;
  readonly dpopKey?: DpopKey;
}

/** What the provider issued. Every token in it is a secret. */
export interface Grant {
  readonly accessToken: string;
  readonly tokenType: TokenType;
  /** Milliseconds since the epoch. */
  readonly expiresAt?: number;
  readonly refreshToken?: string;
  readonly idToken?: string;
  /** Granted scopes, which may be fewer or more than the requested ones, with all that they imply. */
  readonly scopes: string[];
  readonly account?: Account;
  /**
   * The authorization server that issued the grant. The caller stores it with the tokens and hands it back: the tokens go to
   * this server only, whatever the configuration or a remote MCP server names later. Undefined where the operator configured
   * endpoints without an issuer.
   */
  readonly issuer: string | undefined;
  /** The private key that the tokens are bound to, exactly where `tokenType` is `dpop`. Secret. */
  readonly dpopKey?: DpopKey;
}

export interface RefreshRequest {
  readonly refreshToken: string;
  /** The scopes held so far. */
  readonly scopes: readonly string[];
  /** That of the start: it tells which registration the refresh token belongs to. */
  readonly redirectUri: URL;
  readonly resource?: string;
  /** Of the grant. */
  readonly issuer: string | undefined;
  /** Of the grant. */
  readonly dpopKey?: DpopKey;
}

/** Absent refresh token: the old one stays valid. The DPoP key stays the same. */
export type RefreshedGrant = Omit<Grant, 'idToken' | 'account' | 'issuer' | 'dpopKey'>;

export interface RevokeRequest {
  readonly accessToken: string;
  readonly refreshToken?: string;
  /** This and the issuer as at a refresh. */
  readonly redirectUri: URL;
  readonly issuer: string | undefined;
  readonly dpopKey?: DpopKey;
}

/** The browser is not sent to the redirect URI; it tells which registration is used, as for every other request. */
export type DeviceStartRequest = Pick<StartRequest, 'redirectUri' | 'scopes' | 'resource'>;

/** What to show the person, and what to remember until the person has decided. */
export interface DeviceStart extends DeviceAuthorization, Pick<AuthorizationStart, 'expectedIssuer' | 'dpopKey'> {
  /** Host of `verificationUri`, in ASCII, with a port unless it is the default one. */
  readonly destinationHost: string;
}

export interface DevicePollRequest extends Omit<CodeExchangeRequest, 'code' | 'codeVerifier' | 'nonce'> {
  readonly deviceCode: string;
}

/** As {@link DevicePoll}, with what the provider issued. */
export type DevicePollResult =
  | { readonly result: 'granted'; readonly grant: Grant }
  | Exclude<DevicePoll, { readonly result: 'granted' }>;

/** A configured provider. Keeps no transaction: what `start` returns is handed back at the end. */
export interface Provider {
  readonly name: string;
  readonly displayName: string;
  /** Scopes in plain words, as configured. */
  readonly scopeDescriptions: Readonly<Record<string, LocalizedText>>;
  readonly flow: 'redirect' | 'device';
  /** New scopes are added to those granted before by the provider itself. */
  readonly incremental: boolean;
  /** How far a revocation reaches: the token and its grant, or everything the user ever granted to this client. */
  readonly revocationReach: 'token' | 'grant';
  /** False where it is known beforehand that there is no way to revoke; otherwise only trying tells. */
  readonly isRevocable: boolean;

  /** Host that the browser will be sent to. Without discovery the answer is immediate. */
  destinationHost(): Promise<string> | string;
  /**
   * The scopes that are requested from the provider when an MCP server asks for these.
   * @throws {AuthorizationError} `scope_not_allowed`
   */
  requestedScopes(scopes: readonly string[]): string[];
  /**
   * What to request so that `needed` is granted and nothing of `held` is lost: the missing ones where `incremental`, the
   * union otherwise. Held scopes that may no longer be requested are left out.
   * @throws {AuthorizationError} `scope_not_allowed`
   */
  scopesToRequest(needed: readonly string[], held: readonly string[]): string[];

  start(request: StartRequest): Promise<AuthorizationStart>;
  /** First half of `finish`: the callback is checked, no token endpoint is called. */
  validateCallback(request: CallbackRequest): Promise<{ code: string }>;
  /** Second half of `finish`. At most one token request, and one more where a DPoP nonce is demanded. */
  exchange(request: CodeExchangeRequest): Promise<Grant>;
  finish(request: CallbackRequest & Omit<CodeExchangeRequest, 'code'>): Promise<Grant>;

  /** Begins a device flow. The redirect URI only tells whose registration it is. */
  startDevice(request: DeviceStartRequest): Promise<DeviceStart>;
  /** Asks once. The caller keeps to the interval and sees to it that one question is under way at a time. */
  pollDevice(request: DevicePollRequest): Promise<DevicePollResult>;

  /**
   * Renews the access token. One request, and one more where a DPoP nonce is demanded. After any error other than
   * `grant_refused` the refresh token may still be good.
   *
   * @throws {AuthorizationError} `grant_refused` when the provider no longer accepts the refresh token; `issuer_mismatch` when
   *   it is not the one that issued it, and has not been asked.
   */
  refresh(request: RefreshRequest): Promise<RefreshedGrant>;
  /**
   * Ends the grant at the provider. A token that is unknown there counts as revoked.
   * @throws {AuthorizationError} `issuer_mismatch` as at a refresh.
   */
  revoke(request: RevokeRequest): Promise<RevocationResult>;
  /** The proof that a request with a bound access token must carry (RFC 9449). No network. */
  dpopProof(request: DpopProofRequest): Promise<string>;
}
