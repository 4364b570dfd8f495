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
    if (error instanceof VaultError) return undefined;
    throw error;
  }
}
