import type { BrowserSession } from '@postern/elicitation';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { networkOf } from '../platform/http/addresses.ts';
import { ProblemError } from '../platform/http/problems.ts';

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
