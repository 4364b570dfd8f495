import { type SealContext, type Vault, VaultError } from '@postern/vault';
import type { z } from 'zod';

/**
 * Opens what was sealed into a cookie or an address for a while. Undefined when its time is over, when it is not ours, or when
 * it was sealed for another use or under a key that is gone: whoever brings it has nothing.
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
    // A key service that is away says nothing about what was brought.
    if (error instanceof VaultError && error.code !== 'key_service_unavailable') return undefined;
    throw error;
  }
}
