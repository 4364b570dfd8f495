import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { FastifyPluginAsync } from 'fastify';
import { ProblemError } from './problems.ts';

/** 256 random bits in base64url. A fixed length keeps the caller from choosing other messages. */
const NONCE = /^[A-Za-z0-9_-]{43}$/;

/** Path of the proof for a nonce. */
export const gatewayProofPath = (nonce: string): string => `/gateway-proof/${nonce}`;

/**
 * Proves that a response comes from a gateway of this deployment: only its replicas and `postern check` know the vault keys. The key
 * has no other use, so a proof reveals nothing, and a stranger can do nothing with one.
 */
export function createGatewayProof(secret: Uint8Array) {
  const key = new Uint8Array(hkdfSync('sha256', secret, '', 'postern gateway proof, 1', 32));
  const proofOf = (nonce: string) => createHmac('sha256', key).update(nonce).digest();
  return {
    /** @returns undefined for anything but a nonce */
    of: (nonce: string): string | undefined => (NONCE.test(nonce) ? proofOf(nonce).toString('base64url') : undefined),
    isOf(nonce: string, proof: string): boolean {
      const given = Buffer.from(proof, 'base64url');
      const expected = proofOf(nonce);
      return given.length === expected.length && timingSafeEqual(given, expected);
    },
  };
}

/** Answers `postern check`, which asks at `publicUrl` whether requests reach this deployment. Sends no request of its own. */
export const gatewayProofRoutes: FastifyPluginAsync<{
  deps: { readonly gatewayProof: ReturnType<typeof createGatewayProof> };
}> = async (app, { deps }) => {
  app.get<{ Params: { nonce: string } }>('/gateway-proof/:nonce', async (request, reply) => {
    const proof = deps.gatewayProof.of(request.params.nonce);
    if (proof === undefined) throw new ProblemError('not_found');
    return reply.header('cache-control', 'no-store').type('application/json').send({ proof });
  });
};
