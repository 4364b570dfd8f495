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
 * Requires that a form post comes from our own pages (security: T21). A browser derives `Sec-Fetch-Site` from the page that posts, and no
 * page can set it, so it decides. `Origin: null` beside `same-origin` is our own page under `Referrer-Policy: no-referrer`, which a proxy
 * may add: sandboxed and `data:` pages are `cross-site`. Without `Sec-Fetch-Site` only our own `Origin` is accepted.
 * @throws PageError `forbidden`
 */
export function assertSameOrigin({ headers }: FastifyRequest, publicUrl: string): void {
  const { origin, 'sec-fetch-site': site } = headers;
  const isOwn =
    site === undefined
      ? origin === publicUrl
      : site === 'same-origin' && [undefined, 'null', publicUrl].includes(origin);
  if (!isOwn) throw new PageError('forbidden');
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
