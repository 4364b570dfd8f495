import * as client from 'openid-client';
import { AuthorizationError } from './authorization-error.ts';
import { type ValidatedCallback, validateCallback } from './callback.ts';
import {
  type ClientRegistrationSource,
  configuredRegistration,
  explicitEndpoints,
  type GrantOrigin,
  type ResolvedClient,
} from './client-registration.ts';
import type { ScopeDescription } from './config-values.ts';
import { type DeviceAuthorization, type DevicePoll, pollDevice, startDevice } from './device-flow.ts';
import { type DpopKey, type DpopProofRequest, dpopAlgorithm, dpopProof, dpopThumbprint, newDpopKey } from './dpop.ts';
import { isSameUrl } from './issuer.ts';
import { createOauthClient } from './oauth-client.ts';
import type { OutboundFetch } from './outbound/outbound-fetch.ts';
import type { ProviderConfig } from './provider-config.ts';
import { pushAuthorization, pushesAuthorization } from './pushed-authorization.ts';
import { type RevocationResult, revokeTokens } from './revocation.ts';
import { describedScopes, scopePolicy } from './scope-policy.ts';
import { createMetadataCache, type EndpointMetadata, type TokenUse } from './server-metadata.ts';
import { canVerifyIdTokens, exchangeCode, requestTokens, type TokenGrant, type TokenType } from './token-request.ts';
import { type Account, connectedAccount } from './user-claims.ts';

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
  /** The client that asks for the grant. */
  readonly clientId: string;
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

export interface CodeExchangeRequest extends Omit<GrantOrigin, 'issuer'> {
  readonly code: string;
  readonly codeVerifier: string;
  /** The value recorded at the start. Without it, ID tokens are ignored. */
  readonly nonce?: string;
  readonly scopes: readonly string[];
  /** Scopes granted before, at a provider that adds new scopes to them (`incremental`). */
  readonly heldScopes?: readonly string[];
  /** Id of the account that granted them, if it is known. */
  readonly heldAccount?: string | undefined;
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
  /** The client that the grant was issued to. The caller stores it with the tokens and passes it back. */
  readonly clientId: string;
  /** The private key that the tokens are bound to, present exactly if `tokenType` is `dpop`. Secret. */
  readonly dpopKey?: DpopKey;
}

export interface RefreshRequest extends GrantOrigin {
  readonly refreshToken: string;
  /** The scopes of the current grant. */
  readonly scopes: readonly string[];
  readonly resource?: string;
  /** The value of the grant. */
  readonly dpopKey?: DpopKey;
  /** Called after discovery, immediately before the request. Throws if the request may no longer be sent. */
  readonly beforeSending?: () => void;
}

/** Without a refresh token, the old refresh token stays valid. The DPoP key never changes. `clientId` is the client that was used. */
export type RefreshedGrant = Omit<Grant, 'idToken' | 'account' | 'issuer' | 'dpopKey'>;

export interface RevokeRequest extends GrantOrigin {
  readonly accessToken: string;
  readonly refreshToken?: string;
  readonly dpopKey?: DpopKey;
}

/** The redirect URI only identifies the registration; the browser never visits it. */
export type DeviceStartRequest = Pick<StartRequest, 'redirectUri' | 'scopes' | 'resource'>;

/** The codes to show to the user, and the values to store until the user decides. */
export interface DeviceStart
  extends DeviceAuthorization,
    Pick<AuthorizationStart, 'expectedIssuer' | 'clientId' | 'dpopKey'> {
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
   *   another server issued it, `client_gone` if its client is no longer available: in these cases no request is sent.
   */
  refresh(request: RefreshRequest): Promise<RefreshedGrant>;
  /**
   * Whether the provider supports revocation, by the configuration or by its metadata (cached for an hour). True if the
   * metadata cannot be fetched, because only a revocation can show it then.
   */
  isRevocable(): Promise<boolean>;
  /**
   * Revokes the grant at the provider. A token that is unknown there counts as revoked.
   * @throws {AuthorizationError} `issuer_mismatch` and `client_gone` like in a refresh. `confirmed` names a token that the provider revoked despite the error.
   */
  revoke(request: RevokeRequest): Promise<RevocationResult>;
  /** Builds the proof for a request with a bound access token (RFC 9449), without network access. */
  dpopProof(request: DpopProofRequest): Promise<string>;
}

/** Refusals of a registered client, by refreshes, after which its grants have ended, and the time from the first to the last, in ms. */
const LASTING_REFUSALS = 3;
const LASTING_REFUSALS_APART_MS = 2 * 60 * 60_000;

/** How long a user waits for the answer whether the client of a new grant is known, in milliseconds. */
const ASKED_WITHIN_MS = 2_000;

/** Creates a provider. Its methods throw `AuthorizationError`, and `TypeError` only for invalid arguments. */
function createProvider(p: {
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

  const scopeParameter = (requested: readonly string[]) =>
    requested.length > 0 && { [config.scopeParameter]: requested.join(config.requestScopeSeparator) };

  /**
   * Resolves the client that a grant was issued to. Codes and tokens are sent only by this client, and only to the authorization server
   * that issued them: any other client could spend a refresh token, or make it count as stolen.
   */
  async function resolveAt(origin: GrantOrigin, use?: TokenUse): Promise<ResolvedClient> {
    // First check, so that an authorization server that the operator configured instead gets no request at all.
    if (registrations.issuer !== undefined) assertUnchanged(origin.issuer, registrations.issuer);
    const metadata = await registrations.metadata(origin.issuer, use);
    assertUnchanged(origin.issuer, metadata.issuer);
    return registrations.resolve(origin, metadata);
  }

  /** Returns the resource of the tokens. A remote MCP server's resource is always sent. */
  function resourceFor(at: ResolvedClient, asked: string | undefined): string | undefined {
    const resource = asked ?? at.resource;
    if (resource !== undefined && resource !== at.resource && !config.resources.includes(resource)) {
      throw new AuthorizationError('resource_not_allowed');
    }
    return resource;
  }

  /** @throws {AuthorizationError} `dpop_unsupported` if the authorization server does not support our key type. */
  async function dpopKeyFor(metadata: EndpointMetadata): Promise<DpopKey | undefined> {
    if (config.dpop === 'off') return undefined;
    if (metadata.dpop_signing_alg_values_supported?.includes(dpopAlgorithm) === false) {
      throw new AuthorizationError('dpop_unsupported');
    }
    return newDpopKey();
  }

  function assertDpopKey(dpopKey: DpopKey | undefined): void {
    if (config.dpop === 'required' && dpopKey === undefined) throw new TypeError('the DPoP key is missing');
  }

  /** Takes the time before the request, because a lifetime starts when the token is issued, not when the response arrives. */
  function issued(at: ResolvedClient, { response }: TokenGrant, asked: readonly string[], issuedAfter: number) {
    const { access_token, token_type, expires_in, refresh_token, scope } = response;
    return {
      accessToken: access_token,
      tokenType: token_type,
      ...(expires_in !== undefined && { expiresAt: issuedAfter + expires_in * 1000 }),
      ...(refresh_token !== undefined && { refreshToken: refresh_token }),
      scopes: scopes.granted(scope, asked),
      clientId: at.registration.clientId,
    };
  }

  /** Builds the grant of an authorization code or a device code. */
  async function granted(
    at: ResolvedClient,
    grant: TokenGrant,
    p: Pick<CodeExchangeRequest, 'heldScopes' | 'heldAccount' | 'dpopKey' | 'redirectUri'> & {
      readonly asked: readonly string[];
      readonly issuedAfter: number;
    },
  ): Promise<Grant> {
    const { dpopKey, issuedAfter, redirectUri } = p;
    refusedClients.delete(at.registration.clientId);
    await registrations.noteUse(at, redirectUri);
    const connected = await connectedAccount(oauthClient, at, { config: config.account, grant, dpopKey });
    const { id_token } = grant.response;
    // The provider adds scopes to those of one account. The user may have chosen another one.
    const isHeld = config.incrementalScopes && p.heldAccount === connected?.id;
    const held = isHeld ? (p.heldScopes ?? []) : [];
    return {
      ...issued(at, grant, [...new Set([...p.asked, ...held])], issuedAfter),
      ...(id_token !== undefined && { idToken: id_token }),
      ...(connected !== undefined && { account: connected }),
      // The configured text, which stays the same if the metadata adds or drops a slash.
      issuer: registrations.issuer ?? at.metadata.issuer,
      ...(dpopKey !== undefined && { dpopKey }),
    };
  }

  /**
   * Begins a grant. If the authorization server does not know the client that Postern registered (`invalid_client`), the next attempt
   * registers another one, because no operator can restore it, but not soon again. The request contains nothing of the user.
   */
  async function beginning<T>(at: ResolvedClient, redirectUri: URL, work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      if (isClientRefused(error)) await registrations.retire(at, redirectUri);
      throw error;
    }
  }

  /**
   * Asks the authorization server whether it knows the client, by a code that does not exist: `invalid_grant` is a yes. A server without
   * PAR that has lost the client shows its own page at the authorization endpoint, so no answer to a user's request ever says so.
   */
  async function isKnown(at: ResolvedClient, redirectUri: URL): Promise<boolean | undefined> {
    try {
      await exchangeCode(oauthClient, at, {
        code: client.randomState(),
        redirectUri,
        tokenResponse,
        dpopKey: await dpopKeyFor(at.metadata),
        ...(usesPkce && { codeVerifier: client.randomPKCECodeVerifier() }),
        parameters: { ...tokenParameters, ...(at.resource !== undefined && { resource: at.resource }) },
      });
    } catch (error) {
      if (!(error instanceof AuthorizationError)) throw error;
      return isClientRefused(error) ? false : error.providerError === 'invalid_grant' || undefined;
    }
    return undefined;
  }

  /** Retires a client that is no longer known. An answer that the user would wait for too long counts for the next new grant. */
  async function isReplaced(at: ResolvedClient, redirectUri: URL): Promise<boolean> {
    const { promise: late, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(resolve, ASKED_WITHIN_MS, false).unref();
    const asked = registrations.retireIfUnknown(at, redirectUri, () => isKnown(at, redirectUri));
    return Promise.race([asked, late]).finally(() => clearTimeout(timer));
  }

  /** Resolves a client for a redirect. With PAR, the pushed request says whether it is known. */
  async function resolveForRedirect(redirectUri: URL): Promise<ResolvedClient> {
    const at = await registrations.resolveForNewGrant(redirectUri);
    if (pushesAuthorization(at.metadata, config.pushedAuthorization) || !(await isReplaced(at, redirectUri))) return at;
    const another = await registrations.resolveForNewGrant(redirectUri);
    // The first answer about a new client shows what its answers are worth.
    await isReplaced(another, redirectUri);
    return another;
  }

  /** Since when, and how often in a row, refreshes of this process were answered with `invalid_client`, by client id. */
  const refusedClients = new Map<string, { readonly since: number; readonly times: number }>();

  /**
   * Ends the grants of a client that Postern registered after refusals that last, each by the refusal of its own refresh. The clients
   * that the operator configures, or describes in a document, can be mended.
   */
  async function refreshing<T>(at: ResolvedClient, redirectUri: URL, work: Promise<T>): Promise<T> {
    const { clientId } = at.registration;
    try {
      const done = await work;
      refusedClients.delete(clientId);
      // In the background: the new refresh token must be stored first.
      void registrations.noteUse(at, redirectUri);
      return done;
    } catch (error) {
      if (!isClientRefused(error)) throw error;
      const { since, times } = refusedClients.get(clientId) ?? { since: p.now(), times: 0 };
      refusedClients.set(clientId, { since, times: times + 1 });
      const isLasting = times + 1 >= LASTING_REFUSALS && p.now() - since >= LASTING_REFUSALS_APART_MS;
      if (!isLasting) throw error;
      if (await registrations.giveUp(at, redirectUri, since))
        throw new AuthorizationError('grant_refused', { providerError: 'invalid_client' });
      // Another replica has got tokens meanwhile, or the client stays: this refusal is the first in a row.
      refusedClients.set(clientId, { since: p.now(), times: 1 });
      throw error;
    }
  }

  const provider: Provider = {
    name: config.name,
    displayName: config.displayName,
    scopeDescriptions: describedScopes(config),
    flow: config.flow,
    incremental: config.incrementalScopes,
    revocationReach: config.revocation?.reach ?? 'token',
    rotatesRefreshTokens: config.refresh?.rotates,
    apiHosts: config.apiHosts ?? resourceHost(config.mcpResource),
    spelledScopes: scopes.spelled,
    requestedScopes: scopes.requested,
    scopesToRequest: scopes.toRequest,

    destinationHost() {
      if (explicit) return destinationOf(explicit).host;
      return registrations.metadata().then(metadata => destinationOf(metadata).host);
    },

    async start({ redirectUri, state, scopes: asked, resource, expectedAccount, locale }) {
      assertPlain(redirectUri);
      const requested = scopes.requested(asked);
      const at = await resolveForRedirect(redirectUri);
      const { metadata } = at;
      if (metadata.authorization_endpoint === undefined) throw new TypeError('a device flow has no redirect');
      const indicator = resourceFor(at, resource);
      const codeVerifier = client.randomPKCECodeVerifier();
      const nonce = requested.includes('openid') && canVerifyIdTokens(metadata) ? client.randomNonce() : undefined;
      const dpopKey = await dpopKeyFor(metadata);

      const parameters = {
        // OpenID Connect Core 1.0 section 3.1.2.1. Before the operator's parameters, which may set it.
        ...(locale !== undefined && requested.includes('openid') && { ui_locales: locale }),
        ...config.authorizationParameters,
        response_type: 'code',
        redirect_uri: redirectUri.href,
        state,
        ...(usesPkce && {
          code_challenge: await client.calculatePKCECodeChallenge(codeVerifier),
          code_challenge_method: 'S256',
        }),
        ...scopeParameter(requested),
        ...(nonce !== undefined && { nonce }),
        ...(indicator !== undefined && { resource: indicator }),
        ...(expectedAccount !== undefined && { login_hint: expectedAccount }),
        ...(dpopKey !== undefined && { dpop_jkt: await dpopThumbprint(dpopKey) }),
      };
      const authorizationUrl = pushesAuthorization(metadata, config.pushedAuthorization)
        ? await beginning(at, redirectUri, pushAuthorization(oauthClient, at, parameters, dpopKey))
        : oauthClient.authorizationUrl(at, parameters);
      return {
        authorizationUrl,
        codeVerifier,
        ...(nonce !== undefined && { nonce }),
        expectedIssuer: metadata.issuer,
        clientId: at.registration.clientId,
        issRequired: issRequired(metadata),
        destinationHost: authorizationUrl.host,
        ...(dpopKey !== undefined && { dpopKey }),
      };
    },

    async validateCallback(request) {
      const { expectedIssuer } = request;
      assertUnchanged(expectedIssuer, registrations.issuer ?? (await registrations.metadata(expectedIssuer)).issuer);
      return validateCallback({ ...request, tenants: config.tenants, callbackMembers: config.callbackMembers });
    },

    async exchange(request) {
      const { code, redirectUri, codeVerifier, nonce, scopes: asked, resource, dpopKey } = request;
      assertPlain(redirectUri);
      const requested = scopes.requested(asked);
      const at = await resolveAt({ ...request, issuer: request.expectedIssuer });
      const indicator = resourceFor(at, resource);
      assertDpopKey(dpopKey);

      const issuedAfter = p.now();
      const grant = await exchangeCode(oauthClient, at, {
        code,
        redirectUri,
        nonce,
        dpopKey,
        tokenResponse,
        ...(usesPkce && { codeVerifier }),
        parameters: { ...tokenParameters, ...(indicator !== undefined && { resource: indicator }) },
      });
      return granted(at, grant, { ...request, asked: [...requested, ...asked], issuedAfter });
    },

    async startDevice({ redirectUri, scopes: asked, resource }) {
      const requested = scopes.requested(asked);
      const at = await registrations.resolveForNewGrant(redirectUri);
      const indicator = resourceFor(at, resource);
      const dpopKey = await dpopKeyFor(at.metadata);
      const request = { ...scopeParameter(requested), ...(indicator !== undefined && { resource: indicator }) };
      const device = await beginning(at, redirectUri, startDevice(oauthClient, at, request));
      const destinationHost = new URL(device.verificationUri).host;
      return {
        ...device,
        destinationHost,
        expectedIssuer: at.metadata.issuer,
        clientId: at.registration.clientId,
        ...(dpopKey !== undefined && { dpopKey }),
      };
    },

    async pollDevice(request) {
      const { deviceCode, scopes: asked, resource, dpopKey } = request;
      const requested = scopes.requested(asked);
      const at = await resolveAt({ ...request, issuer: request.expectedIssuer });
      const indicator = resourceFor(at, resource);
      assertDpopKey(dpopKey);
      const issuedAfter = p.now();
      const poll = await pollDevice(oauthClient, at, {
        deviceCode,
        dpopKey,
        tokenResponse,
        parameters: { ...tokenParameters, ...(indicator !== undefined && { resource: indicator }) },
      });
      if (poll.result !== 'granted') return poll;
      const grant = await granted(at, poll.grant, {
        ...request,
        asked: [...requested, ...asked],
        issuedAfter,
      });
      return { result: 'granted', grant };
    },

    async refresh({ refreshToken, scopes: held, resource, dpopKey, beforeSending, ...origin }) {
      const at = await resolveAt(origin, 'refresh');
      const indicator = resourceFor(at, resource);
      const { endpoint, parameters, tokenResponse: differing } = config.refresh ?? {};
      const elsewhere = endpoint === undefined ? at : { ...at, metadata: { ...at.metadata, token_endpoint: endpoint } };

      beforeSending?.();
      const issuedAfter = p.now();
      const refresh = requestTokens(oauthClient, elsewhere, {
        grantType: 'refresh_token',
        dpopKey,
        tokenResponse: differing ?? tokenResponse,
        parameters: {
          ...tokenParameters,
          ...parameters,
          refresh_token: refreshToken,
          ...(indicator !== undefined && { resource: indicator }),
        },
      });
      return issued(at, await refreshing(at, origin.redirectUri, refresh), held, issuedAfter);
    },

    async isRevocable() {
      if (config.revocation?.endpoint !== undefined) return true;
      if (explicit) return false;
      try {
        return (await registrations.metadata()).revocation_endpoint !== undefined;
      } catch (error) {
        if (!(error instanceof AuthorizationError)) throw error;
        return true;
      }
    },

    async revoke({ accessToken, refreshToken, dpopKey, ...origin }) {
      const at = await resolveAt(origin, 'revocation');
      return revokeTokens(oauthClient, at, { config: config.revocation, accessToken, refreshToken, dpopKey });
    },

    dpopProof: request => dpopProof(request, p.now()),
  };
  return provider;
}

/** Returns a URL on the server to which the browser goes. In a device flow, the verification URI is not known yet. */
function destinationOf(metadata: EndpointMetadata): URL {
  return new URL(metadata.authorization_endpoint ?? metadata.device_authorization_endpoint ?? metadata.token_endpoint);
}

const isClientRefused = (error: unknown): boolean =>
  error instanceof AuthorizationError && error.providerError === 'invalid_client';

function assertPlain(redirectUri: URL): void {
  if (redirectUri.search !== '' || redirectUri.hash !== '')
    throw new TypeError('a redirect URI has no query or fragment');
}

/**
 * Throws unless the recorded issuer is the current one. A record without an issuer matches only a provider without an issuer.
 * It never counts as the current issuer.
 */
function assertUnchanged(recorded: string | undefined, current: string | undefined): void {
  const isSame = recorded === undefined || current === undefined ? recorded === current : isSameUrl(recorded, current);
  if (!isSame) throw new AuthorizationError('issuer_mismatch');
}

/** A remote MCP server receives its own tokens, and no other host does. As `apiHosts` spells it: without a port it is port 443. */
function resourceHost(mcpResource: string | undefined): string[] | undefined {
  if (mcpResource === undefined) return undefined;
  const { protocol, host, port } = new URL(mcpResource);
  return [protocol === 'http:' && port === '' ? `${host}:80` : host];
}

/** The configured providers by name. Metadata is fetched when a provider is first used. */
export interface ProviderRegistry {
  get(name: string): Provider | undefined;
  readonly names: readonly string[];
}

/** @throws {TypeError} if two providers have the same name, or if `registrationsOf` is missing for a remote MCP server */
export function createProviderRegistry(p: {
  providers: readonly ProviderConfig[];
  fetch: OutboundFetch;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** For providers of remote MCP servers (`mcpResource`), which are discovered and, without `clientId`, registered. */
  registrationsOf?: (config: ProviderConfig) => ClientRegistrationSource;
}): ProviderRegistry {
  const metadata = createMetadataCache(p);
  const providers = new Map<string, Provider>();

  function registrations(config: ProviderConfig): ClientRegistrationSource {
    if (config.mcpResource === undefined) return configuredRegistration(config, metadata);
    if (p.registrationsOf === undefined) throw new TypeError(`nothing registers provider ${config.name}`);
    return p.registrationsOf(config);
  }

  for (const config of p.providers) {
    if (providers.has(config.name)) throw new TypeError(`two providers are named ${config.name}`);
    const provider = { config, registrations: registrations(config), fetch: p.fetch, now: p.now };
    providers.set(config.name, createProvider(provider));
  }
  return { get: name => providers.get(name), names: [...providers.keys()] };
}
