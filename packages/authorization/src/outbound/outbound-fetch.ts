import type { OutboundAgent } from './outbound-agent.ts';
import { allowedUrl, asOutboundError, isInsideHost, OutboundError, type OutboundPolicy } from './outbound-policy.ts';

export interface OutboundRequest {
  readonly method?: string;
  readonly headers?: Record<string, string> | Headers;
  readonly body?: string | URLSearchParams | Uint8Array | null;
  readonly signal?: AbortSignal;
  /**
   * Discards the body; only status and headers are used. Reads up to `maxBytes` to reuse the connection, otherwise closes
   * the connection. Default false.
   */
  readonly discardBody?: boolean;
  /** Follows one redirect within the same origin. Default false: a redirect is an error. */
  readonly followsWithinOrigin?: boolean;
}

/**
 * `fetch` for all requests to hosts named by the configuration or by metadata.
 *
 * Allows only https to public addresses. Checks every address of a name and connects to exactly the checked address, so a
 * second DNS response (rebinding) has no effect. A redirect is an error, unless `followsWithinOrigin` allows it. Size and
 * time are limited. The response is complete when the promise resolves.
 *
 * @throws {OutboundError} only
 */
export interface OutboundFetch extends AsyncDisposable {
  (url: string | URL, init?: OutboundRequest): Promise<Response>;
  /**
   * Whether a URL points to this machine or to a private host of the operator. Such a host is allowed only if the operator
   * names it, never if a third party does.
   */
  isInside(url: string | URL): boolean;
  /** Closes all connections; requests in flight fail. */
  close(): Promise<void>;
}

/** Whether the same request may succeed later (RFC 9110 section 15.5.9, RFC 8470, RFC 6585), whatever the body says. */
export const isPassing = (status: number): boolean => status >= 500 || [408, 425, 429].includes(status);

const defaultMaxBytes = 1024 * 1024;
const defaultTimeoutMs = 10_000;
/** Maximum time to drain a discarded body before closing its connection instead. */
const maxDrainMs = 1_000;

/** Connections for several outbound fetches, whose policies may differ only in `configuredHosts`. */
export interface OutboundConnections {
  /** @throws {OutboundError} `outbound_unreachable` once closed */
  agentFor(host: string): Promise<OutboundAgent>;
  /** Closes all connections; requests in flight fail. */
  close(): Promise<void>;
}

/** @see {@link OutboundConnections} */
export function createOutboundConnections(policy: Omit<OutboundPolicy, 'configuredHosts'>): OutboundConnections {
  const { maxBytes = defaultMaxBytes, timeoutMs = defaultTimeoutMs } = policy;
  let opening: Promise<OutboundAgent> | undefined;
  let isClosed = false;
  return {
    async agentFor(host) {
      // The HTTP library is the largest dependency of the gateway: load it on the first outbound request.
      opening ??= import('./outbound-agent.ts').then(module =>
        module.openOutboundAgent(policy, { timeoutMs, maxBytes }),
      );
      const agent = await opening;
      if (isClosed) throw new OutboundError('outbound_unreachable', host);
      return agent;
    },
    async close() {
      isClosed = true;
      await (await opening)?.destroy();
    },
  };
}

/**
 * @see {@link OutboundFetch}
 * @param connections replaces connections of its own. Must have the same policy, apart from `configuredHosts`.
 */
export function createOutboundFetch(
  policy: OutboundPolicy,
  connections: OutboundConnections = createOutboundConnections(policy),
): OutboundFetch {
  const { maxBytes = defaultMaxBytes, timeoutMs = defaultTimeoutMs } = policy;

  async function outboundFetch(target: string | URL, init: OutboundRequest = {}): Promise<Response> {
    const url = allowedUrl(target, policy);
    const timeout = AbortSignal.timeout(timeoutMs);
    const signal = init.signal ? AbortSignal.any([timeout, init.signal]) : timeout;
    try {
      const agent = await connections.agentFor(url.host);
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

  const { close } = connections;
  return Object.assign(outboundFetch, { isInside, close, [Symbol.asyncDispose]: close });
}

async function readBody(body: AsyncIterable<Uint8Array>, maxBytes: number, host: string): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Throwing out of the loop cancels the stream and closes the connection.
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > maxBytes) throw new OutboundError('outbound_too_large', host);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Drains a body. Errors and timeouts do not affect the response. */
async function drain(body: ReadableStream<Uint8Array> | null, maxBytes: number): Promise<void> {
  let size = 0;
  const nowhere = new WritableStream<Uint8Array>({
    write(chunk, controller) {
      size += chunk.byteLength;
      if (size > maxBytes) controller.error(new Error('The body is too large.'));
    },
  });
  try {
    // The signal also ends the wait for a body that has stopped.
    await body?.pipeTo(nowhere, { signal: AbortSignal.timeout(maxDrainMs) });
  } catch (error) {
    // Ignore ours and undici's errors, aborts included. Anything else that is thrown is a bug of ours.
    if (!(error instanceof Error)) throw error;
  }
}

/** Drops the headers that described the transfer: the body is already decompressed and complete. */
function remainingHeaders(headers: Iterable<[string, string]>): Headers {
  const remaining = new Headers([...headers]);
  for (const name of ['content-encoding', 'content-length', 'transfer-encoding']) remaining.delete(name);
  return remaining;
}
