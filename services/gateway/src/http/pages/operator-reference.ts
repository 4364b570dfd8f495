import type { FastifyInstance, FastifyRequest } from 'fastify';
import { requestContext } from '../../request-context.ts';

const PARAMETER = 'fault';

/**
 * Id of the request in which something failed that only an operator can mend: this one, or the one that led here. Anybody can write
 * that parameter. A page looks at it only where the record says that something failed, and shows nothing of it but the id.
 */
export function operatorReferenceFor({ id, query }: FastifyRequest): string | undefined {
  if (requestContext()?.needsOperator === true) return id;
  const named = typeof query === 'object' && query !== null && PARAMETER in query ? query[PARAMETER] : undefined;
  return typeof named === 'string' && /^rq_[\w-]{16}$/.test(named) ? named : undefined;
}

/** A redirect to the page that says what has happened names the request to it. */
export function nameFaultsInRedirects(scope: FastifyInstance): void {
  scope.addHook('onSend', (request, reply, _payload, done) => {
    const location = reply.getHeader('location');
    if (requestContext()?.needsOperator === true && typeof location === 'string' && /^\/e\/[\w-]+$/.test(location))
      reply.header('location', `${location}?${PARAMETER}=${request.id}`);
    done();
  });
}
