import type { AccessTokenBody, AccessTokenRequest } from '@postern/api';
import type { Environment } from './run.ts';

export interface AccessTokenOptions {
  readonly signal?: AbortSignal;
  /**
   * A token of this connection that the provider's API turned away (401). The gateway renews that token set, unless a newer one
   * is there already.
   */
  readonly rejected?: string;
}

interface Taken {
  readonly accessToken: string;
  readonly tokenType: string;
  readonly generation: number;
  readonly dpopProof?: string | undefined;
}

/** How many tokens that were handed out are remembered, to tell their generation when one is turned away. */
const REMEMBERED = 8;

/** Access to one connection's API, as far as this run of a tool needs it. */
export function createConnectedAccount(p: {
  environment: Pick<Environment, 'client' | 'tokenOpener' | 'fetch'>;
  tool: string | undefined;
  signal: AbortSignal;
  connectionId: string;
  /** The provider no longer honours the connection: asks the user again. Resolves to a connection that serves. */
  reconnect: (cause: unknown, signal: AbortSignal) => Promise<string>;
}) {
  const { client, tokenOpener } = p.environment;
  const handedOut: Taken[] = [];
  let { connectionId } = p;
  /** Whether the provider binds its tokens to a key. Known after the first one. */
  let isBound = false;

  async function take(request: AccessTokenRequest, rejected: string | undefined, signal: AbortSignal): Promise<Taken> {
    const generation = handedOut.find(({ accessToken }) => accessToken === rejected)?.generation;
    const ask = (rejectedGeneration: number | undefined) =>
      client.accessToken(
        connectionId,
        {
          ...request,
          ...(p.tool === undefined ? {} : { tool: p.tool }),
          ...(rejectedGeneration === undefined ? {} : { rejectedGeneration }),
          ...(tokenOpener === undefined ? {} : { sealed: true as const }),
        },
        signal,
      );
    let body: AccessTokenBody;
    try {
      body = await ask(generation);
    } catch (error) {
      connectionId = await p.reconnect(error, signal);
      body = await ask(undefined);
    }
    const accessToken = 'accessToken' in body ? body.accessToken : await opened(body);
    const { tokenType, dpopProof } = body;
    const taken = { accessToken, tokenType, generation: body.generation, dpopProof };
    handedOut.unshift(taken);
    handedOut.length = Math.min(handedOut.length, REMEMBERED);
    return taken;
  }

  async function opened(body: AccessTokenBody): Promise<string> {
    if (tokenOpener === undefined) throw new TypeError('a sealed access token came unasked: set decryptionKey');
    return tokenOpener.open(body, connectionId);
  }

  const within = (signal: AbortSignal | null | undefined) => (signal ? AbortSignal.any([p.signal, signal]) : p.signal);

  return {
    async accessToken({ signal, rejected }: AccessTokenOptions = {}): Promise<string> {
      return (await take({}, rejected, within(signal))).accessToken;
    },

    async fetch(url: string | URL, init: RequestInit = {}): Promise<Response> {
      const signal = within(init.signal);
      const target = new URL(url);
      const method = (init.method ?? 'GET').toUpperCase();
      const isRepeatable = !(init.body instanceof ReadableStream);

      async function send(rejected: string | undefined): Promise<{ response: Response; accessToken: string }> {
        const bound = { method, url: `${target.origin}${target.pathname}` };
        const ask = (nonce?: string): AccessTokenRequest =>
          isBound ? { dpop: nonce === undefined ? bound : { ...bound, nonce } } : {};
        let taken = await take(ask(), rejected, signal);
        if (taken.tokenType === 'DPoP' && !isBound) {
          isBound = true;
          taken = await take(ask(), undefined, signal);
        }
        let response = await request(taken);
        const nonce = response.headers.get('dpop-nonce');
        // RFC 9449 section 9: the API wants its nonce in the proof.
        if (isBound && nonce !== null && isRepeatable && asksForNonce(response)) {
          await response.body?.cancel();
          taken = await take(ask(nonce), undefined, signal);
          response = await request(taken);
        }
        return { response, accessToken: taken.accessToken };
      }

      function request({ accessToken, tokenType, dpopProof }: Taken): Promise<Response> {
        const headers = new Headers(init.headers);
        headers.set('authorization', `${tokenType} ${accessToken}`);
        if (dpopProof !== undefined) headers.set('dpop', dpopProof);
        // A redirect must not carry the user's token to another place.
        return p.environment.fetch(target, { ...init, headers, signal, redirect: init.redirect ?? 'error' });
      }

      const first = await send(undefined);
      if (first.response.status !== 401 || !isRepeatable) return first.response;
      await first.response.body?.cancel();
      return (await send(first.accessToken)).response;
    },
  };
}

const asksForNonce = (response: Response): boolean =>
  response.status === 401 && /\berror="?use_dpop_nonce\b/.test(response.headers.get('www-authenticate') ?? '');
