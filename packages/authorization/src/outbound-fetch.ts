import { isLoopbackHost } from './outbound-address.ts';
import type { OutboundAgent } from './outbound-agent.ts';
import { asOutboundError, OutboundError } from './outbound-error.ts';
import { isInsideHost, type OutboundPolicy } from './outbound-policy.ts';

export interface OutboundRequest {
  readonly method?: string;
  readonly headers?: Record<string, string> | Headers;
  readonly body?: string | URLSearchParams | Uint8Array | null;
  readonly signal?: AbortSignal;
  /**
   * Only status and headers are wanted: the response has no body, however large or slow the answer is. It is read as far as
   * `maxBytes` so that the connection can be used again, and else the connection is dropped. Default false.
   */
  readonly discardBody?: boolean;
  /** Follows one redirect within the origin that was asked. Default false: a redirect is an error. */
  readonly followsWithinOrigin?: boolean;
}

/**
 * `fetch` for everything that leaves the gateway towards hosts named by configuration or by somebody's metadata.
 *
 * Only https to public addresses; every address of a name is checked and the connection goes to exactly the address
 * that was checked, so that a second DNS answer (rebinding) has no effect; a redirect is an error, unless it is asked
 * for one within the same origin; size and time are capped. The answer is complete when the promise resolves.
 *
 * @throws {OutboundError} and nothing else.
 */
export interface OutboundFetch extends AsyncDisposable {
  (url: string | URL, init?: OutboundRequest): Promise<Response>;
  /**
   * Whether a URL leads to this machine or to a private host of the operator. Such a host may be talked to because the
   * operator named it, not because somebody outside did.
   */
  isInside(url: string | URL): boolean;
  /** Ends all connections; requests under way fail. */
  close(): Promise<void>;
}

const defaultMaxBytes = 1024 * 1024;
const defaultTimeoutMs = 10_000;
/** A connection whose answer comes in drips is not worth waiting for. */
const maxDrainMs = 1_000;

/** @see {@link OutboundFetch} */
export function createOutboundFetch(policy: OutboundPolicy): OutboundFetch {
  const maxBytes = policy.maxBytes ?? defaultMaxBytes;
  const timeoutMs = policy.timeoutMs ?? defaultTimeoutMs;
  let opening: Promise<OutboundAgent> | undefined;
  let isClosed = false;
  // The HTTP library is the largest part of the gateway; a process that has asked nobody yet does without it.
  const openAgent = () => {
    opening ??= import('./outbound-agent.ts').then(module => module.openOutboundAgent(policy, { timeoutMs, maxBytes }));
    return opening;
  };

  async function outboundFetch(target: string | URL, init: OutboundRequest = {}): Promise<Response> {
    const url = allowedUrl(target, policy);
    const timeout = AbortSignal.timeout(timeoutMs);
    const signal = init.signal ? AbortSignal.any([timeout, init.signal]) : timeout;
    try {
      const agent = await openAgent();
      if (isClosed) throw new OutboundError('outbound_unreachable', url.host);
      const answer = await agent.fetch(url, {
        method: init.method ?? 'GET',
        headers: Object.fromEntries(new Headers(init.headers)),
        body: init.body ?? null,
        redirect: 'manual',
        signal,
      });
      if (answer.status >= 300 && answer.status < 400) {
        await answer.body?.cancel();
        const next = URL.parse(answer.headers.get('location') ?? '', url);
        if (init.followsWithinOrigin !== true || next?.origin !== url.origin)
          throw new OutboundError('outbound_redirect', url.host);
        return await outboundFetch(next, { ...init, followsWithinOrigin: false, signal });
      }
      if (init.discardBody === true) {
        await drain(answer.body, maxBytes);
        return new Response(null, { status: answer.status, headers: remainingHeaders(answer.headers) });
      }
      const body = answer.body === null ? null : await readBody(answer.body, maxBytes, url.host);
      return new Response(body, { status: answer.status, headers: remainingHeaders(answer.headers) });
    } catch (error) {
      throw asOutboundError(error, url.host, signal);
    }
  }

  function isInside(target: string | URL): boolean {
    const hostname = URL.parse(String(target))?.hostname ?? '';
    return isInsideHost(hostname, policy);
  }

  const close = async () => {
    isClosed = true;
    await (await opening)?.destroy();
  };
  return Object.assign(outboundFetch, { isInside, close, [Symbol.asyncDispose]: close });
}

/** What can be said about a URL before anything is resolved. */
function allowedUrl(target: string | URL, policy: OutboundPolicy): URL {
  const url = URL.parse(String(target));
  if (url === null) throw new OutboundError('outbound_blocked', '');
  const blocked = () => new OutboundError('outbound_blocked', url.host);
  if (url.username !== '' || url.password !== '') throw blocked();
  // A trailing dot makes `localhost.` a different name to us and the same one to the resolver.
  if (url.hostname.endsWith('.')) throw blocked();
  if (isLoopbackHost(url.hostname)) {
    if (!policy.allowLoopback || (url.protocol !== 'https:' && url.protocol !== 'http:')) throw blocked();
    return url;
  }
  if (url.protocol !== 'https:') throw blocked();
  const isConfigured = [...(policy.privateHosts ?? []), ...(policy.configuredHosts ?? [])].includes(url.host);
  if (url.port !== '' && !isConfigured) throw blocked();
  return url;
}

async function readBody(body: AsyncIterable<Uint8Array>, maxBytes: number, host: string): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop by an error cancels the stream and closes the connection.
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > maxBytes) throw new OutboundError('outbound_too_large', host);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Reads and forgets. What goes wrong meanwhile, the end of time included, changes nothing about the answer. */
async function drain(body: ReadableStream<Uint8Array> | null, maxBytes: number): Promise<void> {
  const ends = performance.now() + maxDrainMs;
  let size = 0;
  try {
    for await (const chunk of body ?? []) {
      size += chunk.byteLength;
      if (size > maxBytes || performance.now() > ends) return;
    }
  } catch (error) {
    // Undici's errors, abort included, are errors; anything else is ours.
    if (!(error instanceof Error)) throw error;
  }
}

/** The body has been decompressed and joined, so what described its transfer is no longer true. */
function remainingHeaders(headers: Iterable<[string, string]>): Headers {
  const remaining = new Headers([...headers]);
  for (const name of ['content-encoding', 'content-length', 'transfer-encoding']) remaining.delete(name);
  return remaining;
}
