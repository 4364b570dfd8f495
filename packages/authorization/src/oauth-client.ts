import * as client from 'openid-client';
import { AuthorizationError } from './authorization-error.ts';
import type { ResolvedClient } from './client-registration.ts';
import { type CodeGrantRequest, exchangeCode } from './code-exchange.ts';
import { type DeviceAuthorization, startDevice } from './device/device-authorization.ts';
import { type DeviceGrantRequest, type DevicePoll, pollDevice } from './device/device-poll.ts';
import { type DpopKey, dpopKeyPair } from './dpop.ts';
import { fromLibraryError } from './library-error.ts';
import { createOauthConfigurations } from './oauth-configuration.ts';
import type { OutboundFetch } from './outbound-fetch.ts';
import { pushAuthorization } from './pushed-authorization.ts';
import { type RevocationRequest, type RevocationResult, revokeToken } from './revocation.ts';
import { jsonMembers, type TokenMembers } from './token-answer.ts';
import { type GrantRequest, requestTokens, type TokenGrant } from './token-request.ts';

/** The part of Postern that speaks OAuth with authorization servers. Every method throws `AuthorizationError`. */
export interface OauthClient {
  /** The URL of an authorization request with these parameters. No network. */
  authorizationUrl(at: ResolvedClient, parameters: Record<string, string>): URL;
  /** The same request, handed over behind the browser's back (RFC 9126): the URL names it and nothing of it. */
  pushedAuthorizationUrl(at: ResolvedClient, parameters: Record<string, string>, dpopKey?: DpopKey): Promise<URL>;
  /**
   * Exchanges an authorization code. One request, never repeated except for a DPoP nonce: a code can be used once, and an
   * answer that was lost is not known to have been a failure.
   */
  exchange(at: ResolvedClient, request: CodeGrantRequest): Promise<TokenGrant>;
  /** Any other token request: refresh. One request, as above. */
  requestTokens(at: ResolvedClient, request: GrantRequest): Promise<TokenGrant>;
  /** Begins a device flow (RFC 8628). */
  startDevice(at: ResolvedClient, parameters: Readonly<Record<string, string>>): Promise<DeviceAuthorization>;
  /** Asks once whether the person has decided. */
  pollDevice(at: ResolvedClient, request: DeviceGrantRequest): Promise<DevicePoll>;
  revoke(at: ResolvedClient, request: RevocationRequest): Promise<RevocationResult>;
  /** Reads a JSON object with an access token. */
  userinfo(at: ResolvedClient, accessToken: string, dpopKey?: DpopKey): Promise<TokenMembers>;
}

export function createOauthClient(p: { fetch: OutboundFetch; now: () => number }): OauthClient {
  const configurations = createOauthConfigurations(p);
  const tools = { configurations, now: p.now };

  return {
    authorizationUrl: (at, parameters) => client.buildAuthorizationUrl(configurations.plain(at), parameters),
    pushedAuthorizationUrl: (at, parameters, dpopKey) => pushAuthorization(tools, at, parameters, dpopKey),
    exchange: (at, request) => exchangeCode(tools, at, request),
    requestTokens: (at, request) => requestTokens(tools, at, request),
    startDevice: (at, parameters) => startDevice(tools, at, parameters),
    pollDevice: (at, request) => pollDevice(tools, at, request),
    revoke: (at, request) => revokeToken(tools, at, request),

    async userinfo(at, accessToken, dpopKey) {
      const endpoint = at.metadata.userinfo_endpoint;
      if (endpoint === undefined) throw new AuthorizationError('invalid_userinfo');
      const keyPair = dpopKey && (await dpopKeyPair(dpopKey));
      try {
        return await configurations.run(at, { keyPair }, async ({ configuration, dpop }) => {
          const answer = await client.fetchProtectedResource(
            configuration,
            accessToken,
            new URL(endpoint),
            'GET',
            undefined,
            undefined,
            dpop,
          );
          const members = answer.status === 200 ? jsonMembers(await answer.text()) : undefined;
          if (members === undefined) throw new AuthorizationError('invalid_userinfo');
          return members;
        });
      } catch (error) {
        // What is refused here is the access token, not the client.
        if (error instanceof client.WWWAuthenticateChallengeError) throw new AuthorizationError('invalid_userinfo');
        throw fromLibraryError(error, 'invalid_userinfo');
      }
    },
  };
}
