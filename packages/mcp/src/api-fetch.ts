import type { AccessTokens, TakenToken } from './access-tokens.ts';
import { PosternUsageError } from './errors.ts';
import type { Environment } from './run.ts';
import { isConfidential } from './secure-url.ts';
import { asksForNonce, isTokenRejected, nonceOf } from './token-challenge.ts';

/** A function that fits where a library takes its own `fetch`. */
export type ApiFetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** `fetch` with the access tokens of one connection. */
export function createApiFetch(p: {
  environment: Pick<Environment, 'fetch' | 'allowHttp'>;
  tokens: AccessTokens;
  signal: AbortSignal;
}): ApiFetch {
  /** Whether the provider binds its tokens to a key (RFC 9449). Known after the first one. */
  let isBound = false;
  /** RFC 9449 section 8.2: the latest nonce of each origin goes into the next proof. */
  const nonces = new Map<string, string>();

  return async (input, init = {}) => {
    const request = input instanceof Request ? input : undefined;
    const target = targetOf(request?.url ?? String(input), p.environment.allowHttp);
    // `fetch` itself leaves `patch` as it is, and the proof names the method.
    const method = (init.method ?? request?.method ?? 'GET').toUpperCase();
    const given = init.signal ?? request?.signal;
    const signal = given ? AbortSignal.any([p.signal, given]) : p.signal;
    const isRepeatable = isSendableTwice(init.body ?? request?.body);

    async function take(rejected: string | undefined): Promise<TakenToken> {
      const token = await p.tokens.take({ ...(isBound ? { dpop: proofRequest() } : {}), rejected, signal });
      if (token.tokenType !== 'DPoP' || token.dpopProof !== undefined) return token;
      isBound = true;
      return await p.tokens.take({ dpop: proofRequest(), signal });
    }

    function proofRequest() {
      const nonce = nonces.get(target.origin);
      const url = `${target.origin}${target.pathname}`;
      return { method, url, ...(nonce === undefined ? {} : { nonce }) };
    }

    async function send({ accessToken, tokenType, dpopProof }: TakenToken): Promise<Response> {
      const headers = new Headers(init.headers ?? request?.headers);
      headers.set('authorization', `${tokenType} ${accessToken}`);
      if (dpopProof !== undefined) headers.set('dpop', dpopProof);
      const redirect = init.redirect ?? (request?.redirect === 'manual' ? 'manual' : 'error');
      const response = await p.environment.fetch(request ?? target, { ...init, method, headers, signal, redirect });
      const nonce = nonceOf(response);
      if (nonce !== undefined && !response.redirected) nonces.set(target.origin, nonce);
      return response;
    }

    async function exchange(rejected: string | undefined): Promise<{ token: TakenToken; response: Response }> {
      const token = await take(rejected);
      const response = await send(token);
      const wantsNonce = token.dpopProof !== undefined && asksForNonce(response) && nonceOf(response) !== undefined;
      if (!wantsNonce || !isRepeatable) return { token, response };
      await discard(response);
      const next = await take(undefined);
      return { token: next, response: await send(next) };
    }

    const { token, response } = await exchange(undefined);
    // After a redirect that was followed it is unknown what of the credentials arrived.
    if (!isRepeatable || response.redirected || !isTokenRejected(response)) return response;
    await discard(response);
    return (await exchange(token.accessToken)).response;
  };
}

/** @throws {PosternUsageError} `invalid_url` */
function targetOf(text: string, allowHttp: boolean): URL {
  const url = URL.parse(text);
  if (url !== null && url.username === '' && url.password === '' && isConfidential(url, allowHttp)) return url;
  const kinds = 'https (or http on loopback, or with allowHttp), without a user';
  throw new PosternUsageError('invalid_url', `fetch: the user's access token is only sent to a URL of ${kinds}.`);
}

/** Streams and other iterables are gone once they were sent. */
function isSendableTwice(body: unknown): boolean {
  return (
    body === undefined ||
    body === null ||
    typeof body === 'string' ||
    body instanceof URLSearchParams ||
    body instanceof FormData ||
    body instanceof Blob ||
    body instanceof ArrayBuffer ||
    ArrayBuffer.isView(body)
  );
}

/** Frees the connection. That an answer nobody reads has broken off is no loss. */
async function discard(response: Response): Promise<void> {
  await response.body?.cancel().catch(() => undefined);
}
