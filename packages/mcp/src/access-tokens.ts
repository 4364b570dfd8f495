import type { AccessTokenBody, AccessTokenRequest } from '@postern/api';
import { GatewayError, PosternUsageError } from './errors.ts';
import type { Environment } from './run.ts';

/** One access token as the gateway handed it out. */
export interface TakenToken {
  readonly connectionId: string;
  readonly generation: number;
  readonly accessToken: string;
  readonly tokenType: string;
  readonly dpopProof: string | undefined;
}

export interface TakeRequest {
  /** The request that a proof is wanted for. */
  readonly dpop?: AccessTokenRequest['dpop'];
  /** The access token that the provider's API turned away. */
  readonly rejected?: string | undefined;
  readonly signal: AbortSignal;
}

export interface AccessTokens {
  /** @throws {GatewayError} */
  take(request: TakeRequest): Promise<TakenToken>;
}

/** Token sets whose generation is remembered, to tell it when one is turned away. */
const REMEMBERED = 8;
/** RFC 6749 appendix A.12. Anything else fails in a header, with an error that quotes it. */
const ACCESS_TOKEN = /^[\x20-\x7e]+$/;
/** RFC 9110 section 11.1. */
const SCHEME = /^[!#$%&'*+.^_`|~\w-]+$/;
const COMPACT_JWS = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** The access tokens of one connection, as far as one run of a tool handler needs them. */
export function createAccessTokens(p: {
  environment: Pick<Environment, 'client' | 'sealedOpener'>;
  tool: string | undefined;
  connectionId: string;
  /** The provider no longer honours the connection: asks the user again. Resolves to a connection that serves. */
  reconnect: (cause: GatewayError, signal: AbortSignal) => Promise<string>;
}): AccessTokens {
  const { client, sealedOpener } = p.environment;
  let handedOut: readonly TakenToken[] = [];
  /** Changes when the user connects anew; calls under way go on with the one that they began with. */
  let current = p.connectionId;

  async function ask({ dpop, signal }: TakeRequest, rejected: TakenToken | undefined): Promise<TakenToken> {
    const connectionId = current;
    const body = await client.accessToken(
      connectionId,
      {
        ...(p.tool === undefined ? {} : { tool: p.tool }),
        // Generations count per connection: one of another says nothing about this.
        ...(rejected?.connectionId === connectionId ? { rejectedGeneration: rejected.generation } : {}),
        ...(sealedOpener === undefined ? {} : { sealed: true as const }),
        ...(dpop === undefined ? {} : { dpop }),
      },
      signal,
    );
    const { generation, tokenType, dpopProof } = body;
    const accessToken = await tokenOf(body, connectionId);
    const isUsable =
      ACCESS_TOKEN.test(accessToken) &&
      SCHEME.test(tokenType) &&
      (dpop === undefined || (dpopProof !== undefined && COMPACT_JWS.test(dpopProof)));
    if (!isUsable) throw new GatewayError('invalid_response', 'The gateway gave an answer outside its contract.');
    const taken = { connectionId, generation, accessToken, tokenType, dpopProof };
    const others = handedOut.filter(one => one.connectionId !== connectionId || one.generation !== generation);
    handedOut = [taken, ...others].slice(0, REMEMBERED);
    return taken;
  }

  async function tokenOf(body: AccessTokenBody, connectionId: string): Promise<string> {
    if ('sealedAccessToken' in body) {
      if (sealedOpener !== undefined)
        return await sealedOpener.accessToken(body.sealedAccessToken, { ...body, connectionId });
      throw new PosternUsageError('invalid_options', 'The gateway seals access tokens: set decryptionKey.');
    }
    if (sealedOpener === undefined) return body.accessToken;
    // Something in between that strips the request's wish must not get away with it.
    throw new GatewayError('invalid_response', 'The access token came unsealed.');
  }

  async function askOrReconnect(request: TakeRequest, rejected: TakenToken | undefined): Promise<TakenToken> {
    try {
      return await ask(request, rejected);
    } catch (error) {
      if (!(error instanceof GatewayError) || error.code !== 'reauthorization_required') throw error;
      current = await p.reconnect(error, request.signal);
      return await ask(request, undefined);
    }
  }

  return {
    async take(request) {
      const { rejected } = request;
      const known = handedOut.find(({ accessToken }) => accessToken === rejected);
      const taken = await askOrReconnect(request, known);
      // A token of an earlier run: whether it is still the one that is handed out shows by comparing.
      if (taken.accessToken !== rejected || taken.connectionId === known?.connectionId) return taken;
      return await askOrReconnect(request, taken);
    },
  };
}
