import { type SealContext, type Vault, VaultError } from '@postern/vault';
import type { z } from 'zod';

/**
 * Opens a transaction that was sealed into a cookie or a URL. Returns undefined if it has expired, if it was sealed for another use,
 * under an unknown key, or not by this gateway.
 */
export async function unsealTransaction<T extends { expiresAt: number }>(
  p: { vault: Vault; now: () => number },
  schema: z.ZodType<T>,
  sealed: string,
  context: SealContext,
): Promise<T | undefined> {
  try {
    const transaction = schema.parse(JSON.parse(await p.vault.open(sealed, context)));
    return transaction.expiresAt > p.now() ? transaction : undefined;
  } catch (error) {
    // An unavailable key service says nothing about the value.
    if (error instanceof VaultError && error.code !== 'key_service_unavailable') return undefined;
    throw error;
  }
}
