import type { FastifyRequest } from 'fastify';
import { isLoopbackHost } from '../../config/loopback.ts';
import { PageError } from './page-error.ts';

/**
 * A form post must come from our own pages. `Sec-Fetch-Site` decides where the browser sends it, `Origin` where it does
 * not; a request with neither is refused (security: T21).
 * @throws PageError `forbidden`
 */
export function assertSameOrigin(request: FastifyRequest, publicUrl: string): void {
  const site = request.headers['sec-fetch-site'];
  const { origin } = request.headers;
  if (site !== undefined ? site !== 'same-origin' : origin === undefined) throw new PageError('forbidden');
  if (origin !== undefined && origin !== publicUrl) throw new PageError('forbidden');
}

/**
 * Where nobody signs in, what a page shows is kept from other origins by nothing but the same-origin policy, and a foreign
 * name that is made to resolve to this machine (DNS rebinding) is of one origin with us. Only the `Host` tells it apart.
 * @throws PageError `forbidden`
 */
export function assertLoopbackHost(request: FastifyRequest): void {
  const url = URL.parse(`http://${request.headers.host ?? ''}`);
  if (url === null || !isLoopbackHost(url.hostname)) throw new PageError('forbidden');
}

/** Link scanners and prefetchers must not trigger what only a person may (security: T26). */
export function isPrefetch(request: FastifyRequest): boolean {
  const purpose = request.headers['sec-purpose'] ?? request.headers['purpose'] ?? request.headers['x-moz'];
  return typeof purpose === 'string' && /prefetch|prerender|preview/i.test(purpose);
}
