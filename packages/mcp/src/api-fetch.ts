import type { AccessTokens, IssuedToken } from './access-tokens.ts';
import type { Environment } from './environment.ts';
import { PosternUsageError } from './errors.ts';
import { isConfidential } from './secure-url.ts';
import { asksForNonce, isTokenRejected, nonceOf } from './token-challenge.ts';

/** A drop-in replacement for `fetch` in libraries that accept one. */
export type ApiFetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** `fetch` with the access tokens of one connection. */
export function createApiFetch(p: {
  environment: Pick<Environment, 'fetch' | 'allowHttp'>;
  tokens: AccessTokens;
  /** Named in the error for a host that is not allowed. */
  provider: string;
  signal: AbortSignal;
}): ApiFetch {
  /** Whether the provider binds its tokens to a key (RFC 9449). Known after the first token. */
  let isBound = false;
  /** RFC 9449 section 8.2: the latest nonce of each origin goes into the next proof. */
  const nonces = new Map<string, string>();

  return async (input, init = {}) => {
    const request = input instanceof Request ? input : undefined;
    const target = targetOf(request?.url ?? String(input), p.environment.allowHttp);
    // `fetch` does not uppercase `patch`, and the proof names the method.
    const method = (init.method ?? request?.method ?? 'GET').toUpperCase();
    const given = init.signal ?? request?.signal;
    const signal = given ? AbortSignal.any([p.signal, given]) : p.signal;
    const isRepeatable = isSendableTwice(init.body ?? request?.body);

    async function getToken(rejected: string | undefined): Promise<IssuedToken> {
      const token = await p.tokens.getAccessToken({ dpop: isBound ? proofRequest() : undefined, rejected, signal });
      if (token.tokenType !== 'DPoP' || token.dpopProof !== undefined) return token;
      isBound = true;
      return await p.tokens.getAccessToken({ dpop: proofRequest(), signal });
    }

    function proofRequest() {
      const nonce = nonces.get(target.origin);
      const url = `${target.origin}${target.pathname}`;
      return { method, url, nonce };
    }

    async function send({ accessToken, tokenType, dpopProof, apiHosts }: IssuedToken): Promise<Response> {
      assertApiHost(apiHostOf(target), apiHosts, p.provider);
      const headers = new Headers(init.headers ?? request?.headers);
      headers.set('authorization', `${tokenType} ${accessToken}`);
      if (dpopProof !== undefined) headers.set('dpop', dpopProof);
      const redirect = init.redirect ?? (request?.redirect === 'manual' ? 'manual' : 'error');
      const response = await p.environment.fetch(request ?? target, { ...init, method, headers, signal, redirect });
      const nonce = nonceOf(response);
      if (nonce !== undefined && !response.redirected) nonces.set(target.origin, nonce);
      return response;
    }

    async function exchange(rejected: string | undefined): Promise<{ token: IssuedToken; response: Response }> {
      const token = await getToken(rejected);
      const response = await send(token);
      const wantsNonce = token.dpopProof !== undefined && asksForNonce(response) && nonceOf(response) !== undefined;
      if (!wantsNonce || !isRepeatable) return { token, response };
      await discard(response);
      const next = await getToken(undefined);
      return { token: next, response: await send(next) };
    }

    const { token, response } = await exchange(undefined);
    // After a followed redirect it is unknown which credentials arrived, so a 401 does not mean that the token was rejected.
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

/** The host as `apiHosts` spells it: without a port it is port 443. No entry for https can match plain http. */
function apiHostOf({ protocol, host, port }: URL): string {
  return protocol === 'http:' && port === '' ? `${host}:80` : host;
}

/**
 * Keeps the token from hosts that a model, a user or an API response chose. The operator configures the hosts of the API.
 *
 * @throws {PosternUsageError} `host_not_allowed`
 */
function assertApiHost(host: string, apiHosts: readonly string[] | undefined, provider: string): void {
  const isAllowed =
    apiHosts === undefined ||
    apiHosts.some(allowed => (allowed.startsWith('*.') ? host.endsWith(allowed.slice(1)) : host === allowed));
  if (isAllowed) return;
  throw new PosternUsageError(
    'host_not_allowed',
    `fetch: ${host} is not an API host of provider ${provider}; nothing was sent. If it belongs to the API, add it to apiHosts of provider ${provider} in the gateway's configuration.`,
  );
}

/** Streams and other iterables can be sent only once. */
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

/** Frees the connection. A transfer error is ignored because the body is not used. */
async function discard(response: Response): Promise<void> {
  await response.body?.cancel().catch(() => undefined);
}
