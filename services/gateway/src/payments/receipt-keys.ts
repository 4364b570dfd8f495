import { createReceiptKeys, deriveReceiptKey, ReceiptError, type ReceiptKeys, type Receipts } from '@postern/payment';
import type { FastifyPluginAsync } from 'fastify';
import { isLocalKey, type VaultConfig } from '../platform/config/vault-config.ts';
import { StartError } from '../platform/start-error.ts';

export const JWKS_PATH = '/.well-known/jwks.json';

/** Maximum time that a verifier may cache the keys, in seconds. Operators publish a new key this long before it signs. */
const MAX_AGE_SECONDS = 300;

/**
 * Returns the keys that sign receipts: the configured ones, or one derived from each local vault key. Derived keys are equal on all
 * replicas, and receipts of a retired vault key stay verifiable while it is configured.
 * @throws StartError for an invalid key
 */
export function receiptKeysOf({
  receipts,
  vault,
}: {
  readonly receipts: { readonly keys?: Parameters<typeof createReceiptKeys>[0] | undefined };
  readonly vault: VaultConfig;
}): ReceiptKeys {
  if (receipts.keys !== undefined) return configured(receipts.keys);
  return createReceiptKeys(vault.keys.filter(isLocalKey).map(({ kid, key }) => deriveReceiptKey(kid, key)));
}

function configured(keys: Parameters<typeof createReceiptKeys>[0]): ReceiptKeys {
  try {
    return createReceiptKeys(keys);
  } catch (error) {
    if (!(error instanceof ReceiptError)) throw error;
    throw new StartError(`receipts.keys: ${error.message}`);
  }
}

/** Publishes the keys that verify receipts (RFC 7517). */
export const receiptRoutes: FastifyPluginAsync<{ deps: { readonly receipts: Pick<Receipts, 'jwks'> } }> = async (
  app,
  { deps },
) => {
  app.get(JWKS_PATH, (_request, reply) =>
    reply
      .header('cache-control', `public, max-age=${MAX_AGE_SECONDS}`)
      .type('application/jwk-set+json')
      .send(JSON.stringify(deps.receipts.jwks())),
  );
};
