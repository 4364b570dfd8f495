import { createReceiptKeys, deriveReceiptKey, ReceiptError, type ReceiptKeys } from '@postern/payment';
import type { GatewayConfig } from '../config/config-schema.ts';
import { StartError } from '../start-error.ts';

/**
 * The keys that sign receipts: the configured ones, or one derived from each vault key, so that replicas agree without being told and a
 * retired vault key goes on verifying for as long as it is kept.
 * @throws StartError where the vault's keys stay in a key service, from which nothing can be derived, and for a key that is none
 */
export function receiptKeysOf(
  { receipts, vault }: Pick<GatewayConfig, 'receipts' | 'vault'>,
  hasKeyService: boolean,
): ReceiptKeys {
  if (receipts.keys !== undefined) return configured(receipts.keys);
  if (hasKeyService)
    throw new StartError('receipts.keys are needed: nothing can be derived from keys in a key service.');
  return createReceiptKeys(vault.keys.map(({ kid, key }) => deriveReceiptKey(kid, key)));
}

function configured(keys: Parameters<typeof createReceiptKeys>[0]): ReceiptKeys {
  try {
    return createReceiptKeys(keys);
  } catch (error) {
    if (!(error instanceof ReceiptError)) throw error;
    throw new StartError(`receipts.keys: ${error.message}`);
  }
}
