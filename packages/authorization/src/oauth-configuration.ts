import * as client from 'openid-client';
import { AuthorizationError } from './authorization-error.ts';
import { createClientAuthentication } from './client-authentication.ts';
import type { ResolvedClient } from './client-registration.ts';
import type { DpopKeyPair } from './dpop.ts';
import type { OutboundFetch } from './outbound-fetch.ts';
import { isInsecure } from './server-metadata.ts';

/** An issuer name that no ID token can have. */
const noIssuer = 'urn:postern:no-issuer-configured';

/** One operation of openid-client: its configuration, and the key it proves to have, where there is one. */
export interface OauthOperation {
  readonly configuration: client.Configuration;
  /** To be spread where an operation takes options. */
  readonly dpop: { DPoP?: client.DPoPHandle };
}

export interface OauthConfigurations {
  /** Without DPoP and without network. */
  plain(at: ResolvedClient): client.Configuration;
  /**
   * Runs an operation through the guarded fetch; an answer of 429 or 5xx is none.
   * @param keyPair proven with DPoP.
   * @param wrap what stands between the library and the guarded fetch.
   */
  run<T>(
    at: ResolvedClient,
    p: { keyPair?: DpopKeyPair | undefined; wrap?: (fetch: client.CustomFetch) => client.CustomFetch },
    operation: (p: OauthOperation) => Promise<T>,
  ): Promise<T>;
  readonly fetch: client.CustomFetch;
  /** Seconds by which our clock is ahead of the system's, which is the one the library reads. */
  clockLead(): number;
}

/** Keeps nothing but the public keys of authorization servers. */
export function createOauthConfigurations(p: { fetch: OutboundFetch; now: () => number }): OauthConfigurations {
  const guardedFetch = unlessUnavailable(p.fetch);
  /** With `uat` by our clock. Those of one place only: an issuer that moves its keys each time fills no memory. */
  let known: { readonly uri: string | undefined; readonly keys: client.ExportedJWKSCache } | undefined;
  const clockLead = () => Math.round((p.now() - Date.now()) / 1000);

  /** A configuration per operation, because openid-client takes its clock as a fixed distance to the system's. */
  function configure({ registration, metadata }: ResolvedClient, fetch: client.CustomFetch): client.Configuration {
    // `iss` of the callback has been checked by validateCallback, with knowledge that openid-client does not have.
    const { authorization_response_iss_parameter_supported: _, ...server } = metadata;
    const configuration = new client.Configuration(
      { ...server, issuer: metadata.issuer ?? noIssuer },
      registration.clientId,
      { [client.clockSkew]: clockLead() },
      createClientAuthentication(registration),
    );
    configuration.timeout = 0;
    configuration[client.customFetch] = fetch;
    if (isInsecure(metadata.token_endpoint)) client.allowInsecureRequests(configuration);
    if (known && known.uri === metadata.jwks_uri) {
      client.setJwksCache(configuration, { ...known.keys, uat: known.keys.uat - clockLead() });
    }
    return configuration;
  }

  return {
    plain: at => configure(at, guardedFetch),
    fetch: guardedFetch,
    clockLead,

    async run(at, { keyPair, wrap }, operation) {
      const configuration = configure(at, wrap ? wrap(guardedFetch) : guardedFetch);
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

/** Adds to a fetch: an answer of 429 or 5xx is no answer. */
function unlessUnavailable(fetch: OutboundFetch): client.CustomFetch {
  return async (url, { body, headers, method, signal }) => {
    if (body instanceof ReadableStream || body instanceof ArrayBuffer) throw new TypeError('body is not one we send');
    const response = await fetch(url, { body: body ?? null, headers, method, ...(signal && { signal }) });
    if (response.status >= 500 || response.status === 429) throw new AuthorizationError('provider_unavailable');
    return response;
  };
}
