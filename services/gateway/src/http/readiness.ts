import { isDataLost, UnsafeRedisError } from '@postern/store-redis';
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

/** Why the gateway is not ready, for probes and people. */
export function notReadyCode(error: unknown): 'stopping' | 'data_lost' | 'redis_unsafe' | 'store_unavailable' {
  if (error instanceof StoppingError) return 'stopping';
  if (isDataLost(error)) return 'data_lost';
  return error instanceof UnsafeRedisError ? 'redis_unsafe' : 'store_unavailable';
}
