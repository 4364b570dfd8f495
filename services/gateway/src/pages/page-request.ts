import type { BrowserSession } from '@postern/elicitation';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isLoopbackHost } from '../platform/config/config-values.ts';
import { networkOf } from '../platform/http/addresses.ts';
import { ProblemError } from '../platform/http/problems.ts';

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

/** Maximum number of requests of one address, per minute, for which the gateway finds out who sends them. */
const LOOKED_UP = 6_000;

/**
 * Page requests per minute: those of an address, and beyond that those of each person behind it. So strangers behind the address of an
 * office cannot stop colleagues who have signed in, or who return from the identity provider. Colleagues are asked who they are only
 * once the address has used up its share.
 *
 * @throws ProblemError `rate_limited`
 */
export function createPageLimit(
  app: FastifyInstance,
  p: {
    max: number;
    readSession: (request: FastifyRequest) => Promise<BrowserSession | undefined>;
    /** The `state` of a sign-in that this browser has begun and now returns from. */
    returningWith: (request: FastifyRequest) => Promise<string | undefined>;
  },
): (request: FastifyRequest) => Promise<void> {
  const persons = new WeakMap<FastifyRequest, string>();
  // The address is missing if the caller has disconnected.
  const addressOf = (request: FastifyRequest) => networkOf(request.ip ?? '');
  const limit = (max: number, keyGenerator: (request: FastifyRequest) => string) =>
    app.createRateLimit({ max, timeWindow: 60_000, keyGenerator });
  const byAddress = limit(p.max, addressOf);
  const lookedUp = limit(LOOKED_UP, addressOf);
  const byPerson = limit(p.max, request => persons.get(request) ?? '');
  const isOver = (counted: Awaited<ReturnType<typeof byAddress>>) => !counted.isAllowed && counted.isExceeded;

  return async request => {
    const counted = await byAddress(request);
    if (counted.isAllowed || !counted.isExceeded) return;
    // Without a cookie there is no session to look up. A look-up counts only if it finds none.
    if (request.headers.cookie !== undefined && !isOver(await lookedUp(request, { increment: false }))) {
      const session = await p.readSession(request);
      const person = session === undefined ? await p.returningWith(request) : JSON.stringify(session.subject);
      if (person === undefined) await lookedUp(request);
      else {
        persons.set(request, person);
        if (!isOver(await byPerson(request))) return;
      }
    }
    throw new ProblemError('rate_limited', { retryAfterMs: counted.ttl });
  };
}
