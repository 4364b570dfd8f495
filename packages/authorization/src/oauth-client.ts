import * as client from 'openid-client';
import { AuthorizationError } from './authorization-error.ts';
import { createClientAuthentication } from './client-authentication.ts';
import type { ResolvedClient } from './client-registration.ts';
import type { DpopKeyPair } from './dpop.ts';
import { isPassing, type OutboundFetch } from './outbound/outbound-fetch.ts';
import { isInsecure } from './server-metadata.ts';

/** An issuer that no ID token can have. */
const noIssuer = 'urn:postern:no-issuer-configured';

const entraId = new URL('https://login.microsoftonline.com/');

/** One operation of openid-client: its configuration, and its DPoP key, if any. */
export interface OauthOperation {
  readonly configuration: client.Configuration;
  /** Options of the operation, to be spread. */
  readonly dpop: { DPoP?: client.DPoPHandle };
}

/**
 * Postern as OAuth client. Every request to an authorization server goes through `run` or `fetch`, and so through the guarded
 * fetch, where a 408, 425, 429 or 5xx response counts as unavailable.
 */
export interface OauthClient {
  /** Builds the URL of an authorization request, without network access. */
  authorizationUrl(at: ResolvedClient, parameters: Record<string, string>): URL;
  /** Returns a configuration without DPoP and network. */
  configuration(at: ResolvedClient): client.Configuration;
  /**
   * Runs an operation of openid-client.
   * @param keyPair the DPoP key
   * @param wrap wraps the guarded fetch
   */
  run<T>(
    at: ResolvedClient,
    p: { keyPair?: DpopKeyPair | undefined; wrap?: (fetch: client.CustomFetch) => client.CustomFetch },
    operation: (p: OauthOperation) => Promise<T>,
  ): Promise<T>;
  readonly fetch: client.CustomFetch;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Seconds by which our clock is ahead of the system clock, which the library reads. */
  clockLead(): number;
}

/** Creates configurations of openid-client. Caches only the public keys of authorization servers. */
export function createOauthClient(p: { fetch: OutboundFetch; now: () => number }): OauthClient {
  const guardedFetch = unlessUnavailable(p.fetch);
  /** Keys of one URI only, so an issuer that keeps moving its keys cannot exhaust memory. `uat` is by our clock. */
  let known: { readonly uri: string | undefined; readonly keys: client.ExportedJWKSCache } | undefined;
  const clockLead = () => Math.round((p.now() - Date.now()) / 1000);

  const clientOf = ({ registration }: ResolvedClient) =>
    [registration.clientId, { [client.clockSkew]: clockLead() }, createClientAuthentication(registration)] as const;

  /** Builds a configuration per operation, because openid-client takes its clock as a fixed offset to the system clock. */
  const configure = (at: ResolvedClient, fetch: client.CustomFetch): client.Configuration =>
    prepared(new client.Configuration(serverOf(at), ...clientOf(at)), at, fetch);

  /**
   * Like {@link configure}, but accepts ID tokens of every tenant of a template: openid-client does so only for metadata that it
   * has discovered at Entra ID. The caller checks that the tenant is allowed.
   */
  async function configureForTenants(at: ResolvedClient, fetch: client.CustomFetch): Promise<client.Configuration> {
    const ours = { [client.customFetch]: async () => Response.json(serverOf(at)) };
    return prepared(await client.discovery(entraId, ...clientOf(at), ours), at, fetch);
  }

  function prepared(configuration: client.Configuration, { metadata }: ResolvedClient, fetch: client.CustomFetch) {
    configuration.timeout = 0;
    configuration[client.customFetch] = fetch;
    if (isInsecure(metadata.token_endpoint)) client.allowInsecureRequests(configuration);
    if (known && known.uri === metadata.jwks_uri) {
      client.setJwksCache(configuration, { ...known.keys, uat: known.keys.uat - clockLead() });
    }
    return configuration;
  }

  return {
    authorizationUrl(at, parameters) {
      const url = client.buildAuthorizationUrl(configure(at, guardedFetch), parameters);
      // The library appends. A parameter that the endpoint has already would be there twice (RFC 6749 section 3.1).
      for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
      return url;
    },
    configuration: at => configure(at, guardedFetch),
    fetch: guardedFetch,
    now: p.now,
    clockLead,

    async run(at, { keyPair, wrap }, operation) {
      const hasTenants = at.metadata.tenants !== undefined;
      const configuration = await (hasTenants ? configureForTenants : configure)(
        at,
        wrap ? wrap(guardedFetch) : guardedFetch,
      );
      const dpop = keyPair && { DPoP: client.getDPoPHandle(configuration, keyPair) };
      try {
        return await operation({ configuration, dpop: dpop ?? {} });
      } finally {
        const read = client.getJwksCache(configuration);
        if (read) known = { uri: at.metadata.jwks_uri, keys: { ...read, uat: read.uat + clockLead() } };
      }
    },
  };
}

function serverOf({ metadata }: ResolvedClient): client.ServerMetadata {
  // validateCallback has checked `iss` of the callback, with recorded values that openid-client does not have.
  const { authorization_response_iss_parameter_supported: _, tenants: __, ...server } = metadata;
  return { ...server, issuer: metadata.issuer ?? noIssuer };
}

/** Wraps a fetch to treat passing failures as unavailable, whatever their body says. */
function unlessUnavailable(fetch: OutboundFetch): client.CustomFetch {
  return async (url, { body, headers, method, signal }) => {
    if (body instanceof ReadableStream || body instanceof ArrayBuffer)
      throw new TypeError('unexpected type of request body');
    const response = await fetch(url, { body: body ?? null, headers, method, ...(signal && { signal }) });
    if (isPassing(response.status)) throw new AuthorizationError('provider_unavailable');
    return response;
  };
}
