import type { GatewayDeps } from '../deps.ts';
import { StoppingError } from '../stopping.ts';

/**
 * Whether the gateway can do its work. Nobody signs in to ask, so many questions must not become many to the store: those at the same
 * time share one.
 * @throws StoppingError, StoreUnavailableError, UnsafeRedisError
 */
export function createReadiness({ stores, stopping }: Pick<GatewayDeps, 'stores' | 'stopping'>): () => Promise<void> {
  let checking: Promise<void> | undefined;
  return async () => {
    if (stopping.draining.aborted) throw new StoppingError();
    checking ??= stores.ping().finally(() => {
      checking = undefined;
    });
    return checking;
  };
}
