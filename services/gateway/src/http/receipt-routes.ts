import type { FastifyPluginAsync } from 'fastify';
import type { GatewayDeps } from '../deps.ts';

/** How long a verifier may remember the keys, in seconds. A new key is published before it signs, if the operator takes the time. */
const MAX_AGE_SECONDS = 300;

/** The keys that verify receipts (RFC 7517). Public, the same for everybody. */
export const receiptRoutes: FastifyPluginAsync<{ deps: GatewayDeps }> = async (app, { deps }) => {
  app.get('/.well-known/jwks.json', (_request, reply) =>
    reply
      .header('cache-control', `public, max-age=${MAX_AGE_SECONDS}`)
      .type('application/jwk-set+json')
      .send(JSON.stringify(deps.receipts.jwks())),
  );
};
