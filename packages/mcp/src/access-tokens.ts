import type { AccessTokenBody, AccessTokenRequest } from '@postern/api';
import type { Environment } from './environment.ts';
import { GatewayError, invalidOptions } from './errors.ts';

/** An access token as the gateway returned it. */
export interface IssuedToken {
  readonly connectionId: string;
  readonly generation: number;
  readonly accessToken: string;
  readonly tokenType: string;
  readonly dpopProof: string | undefined;
  /** Hosts that may receive the token. Undefined if the gateway knows none. */
  readonly apiHosts: readonly string[] | undefined;
  readonly callbackMembers: Readonly<Record<string, string>>;
}

export interface TokenRequest {
  /** Request that the DPoP proof is for. */
  readonly dpop?: AccessTokenRequest['dpop'];
  /** Access token that the provider's API rejected. */
  readonly rejected?: string | undefined;
  readonly signal: AbortSignal;
}

export interface AccessTokens {
  /** @throws {GatewayError} */
  getAccessToken(request: TokenRequest): Promise<IssuedToken>;
}

/** Maximum number of token sets whose generation is remembered, to report it if the API rejects one. */
const REMEMBERED = 8;
/** RFC 6749 appendix A.12. Any other character fails in a header, with an error that quotes the token. */
const ACCESS_TOKEN = /^[\x20-\x7e]+$/;
/** RFC 9110 section 11.1. */
const SCHEME = /^[!#$%&'*+.^_`|~\w-]+$/;
const COMPACT_JWS = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** Gets the access tokens of one connection for one run of a tool handler. */
export function createAccessTokens(p: {
  environment: Pick<Environment, 'client' | 'sealedOpener'>;
  tool: string | undefined;
  connectionId: string;
  /** Asks the user again after the provider ended the connection. Resolves to the id of a usable connection. */
  reconnect: (cause: GatewayError, signal: AbortSignal) => Promise<string>;
}): AccessTokens {
  const { client, sealedOpener } = p.environment;
  let handedOut: readonly IssuedToken[] = [];
  /** Changes when the user reconnects; calls in flight keep the connection they started with. */
  let current = p.connectionId;

  async function fetchToken({ dpop, signal }: TokenRequest, rejected: IssuedToken | undefined): Promise<IssuedToken> {
    const connectionId = current;
    const body = await client.accessToken(
      connectionId,
      {
        tool: p.tool,
        // Generations count per connection and cannot be compared across connections.
        rejectedGeneration: rejected?.connectionId === connectionId ? rejected.generation : undefined,
        sealed: sealedOpener && true,
        dpop,
      },
      signal,
    );
    const { generation, tokenType, dpopProof, apiHosts, callbackMembers = {} } = body;
    const accessToken = await tokenOf(body, connectionId);
    const isUsable =
      ACCESS_TOKEN.test(accessToken) &&
      SCHEME.test(tokenType) &&
      (dpop === undefined || (dpopProof !== undefined && COMPACT_JWS.test(dpopProof)));
    if (!isUsable) throw new GatewayError('invalid_response', 'The gateway returned an invalid response.');
    const issued = { connectionId, generation, accessToken, tokenType, dpopProof, apiHosts, callbackMembers };
    const others = handedOut.filter(one => one.connectionId !== connectionId || one.generation !== generation);
    handedOut = [issued, ...others].slice(0, REMEMBERED);
    return issued;
  }

  async function tokenOf(body: AccessTokenBody, connectionId: string): Promise<string> {
    if ('sealedAccessToken' in body) {
      if (sealedOpener !== undefined)
        return await sealedOpener.accessToken(body.sealedAccessToken, { ...body, connectionId });
      throw invalidOptions('The gateway seals access tokens: set decryptionKey.');
    }
    if (sealedOpener === undefined) return body.accessToken;
    // A proxy must not get a plain token by removing `sealed` from the request.
    throw new GatewayError('invalid_response', 'The gateway returned an unsealed access token.');
  }

  async function fetchOrReconnect(request: TokenRequest, rejected: IssuedToken | undefined): Promise<IssuedToken> {
    try {
      return await fetchToken(request, rejected);
    } catch (error) {
      if (!(error instanceof GatewayError) || error.code !== 'reauthorization_required') throw error;
      current = await p.reconnect(error, request.signal);
      return await fetchToken(request, undefined);
    }
  }

  return {
    async getAccessToken(request) {
      const { rejected } = request;
      const known = handedOut.find(({ accessToken }) => accessToken === rejected);
      const issued = await fetchOrReconnect(request, known);
      // A token of an earlier run, whose generation is unknown: compare it with the current token.
      if (issued.accessToken !== rejected || issued.connectionId === known?.connectionId) return issued;
      return await fetchOrReconnect(request, issued);
    },
  };
}
