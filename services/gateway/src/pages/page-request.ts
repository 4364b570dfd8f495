import type { FastifyRequest } from 'fastify';
import { isLoopbackHost } from '../platform/config/addresses.ts';

/** Thrown to refuse a page request with 400 or 403, independent of the elicitation. */
export class PageError extends Error {
  override name = 'PageError';
  readonly kind: 'bad_request' | 'forbidden';

  constructor(kind: 'bad_request' | 'forbidden') {
    super(kind);
    this.kind = kind;
  }
}

/**
 * Requires that a form post comes from our own pages. `Sec-Fetch-Site` decides if the browser sends it, otherwise `Origin`; a
 * request
 * with neither is refused (security: T21).
 * @throws PageError `forbidden`
 */
export function assertSameOrigin(request: FastifyRequest, publicUrl: string): void {
  const site = request.headers['sec-fetch-site'];
  const { origin } = request.headers;
  if (site !== undefined ? site !== 'same-origin' : origin === undefined) throw new PageError('forbidden');
  if (origin !== undefined && origin !== publicUrl) throw new PageError('forbidden');
}

/**
 * Loopback mode has no sign-in, so only the same-origin policy protects a page. DNS rebinding (a foreign name that resolves to this
 * machine) makes a foreign page same-origin; only the `Host` header shows the foreign name.
 * @throws PageError `forbidden`
 */
export function assertLoopbackHost(request: FastifyRequest): void {
  const url = URL.parse(`http://${request.headers.host ?? ''}`);
  if (url === null || !isLoopbackHost(url.hostname)) throw new PageError('forbidden');
}

/** Refuses link scanners and prefetchers, which must not trigger actions of users (security: T26). @throws PageError `forbidden` */
export function assertNoPrefetch({ headers }: FastifyRequest): void {
  const purpose = headers['sec-purpose'] ?? headers['purpose'] ?? headers['x-moz'];
  if (typeof purpose === 'string' && /prefetch|prerender|preview/i.test(purpose)) throw new PageError('forbidden');
}
