import { type AccessTokens, createAccessTokens } from './access-tokens.ts';
import { type ApiFetch, createApiFetch } from './api-fetch.ts';
import type { Environment } from './run.ts';

export interface AccessTokenOptions {
  readonly signal?: AbortSignal;
  /**
   * A token of this connection that the provider's API turned away (401). The gateway renews that token set, unless a newer one
   * is there already; where it cannot be renewed, the user is asked again.
   */
  readonly rejected?: string;
}

export interface ConnectedAccount {
  readonly accessToken: (options?: AccessTokenOptions) => Promise<string>;
  readonly fetch: ApiFetch;
}

/** Access to one connection's API, as far as this run of a tool needs it. */
export function createConnectedAccount(
  p: Parameters<typeof createAccessTokens>[0] & {
    environment: Pick<Environment, 'fetch' | 'allowHttp'>;
    /** Aborts when the MCP client gives up on the call. */
    signal: AbortSignal;
  },
): ConnectedAccount {
  const tokens: AccessTokens = createAccessTokens(p);
  return {
    async accessToken({ signal, rejected } = {}) {
      const within = signal === undefined ? p.signal : AbortSignal.any([p.signal, signal]);
      return (await tokens.take({ rejected, signal: within })).accessToken;
    },
    fetch: createApiFetch({ environment: p.environment, tokens, signal: p.signal }),
  };
}
