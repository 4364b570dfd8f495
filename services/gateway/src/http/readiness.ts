import { isDataLost, UnsafeRedisError } from '@postern/store-redis';
import type { GatewayDeps } from '../deps.ts';
import { StoppingError } from '../stopping.ts';

/** Thrown where the operator wants that, while Redis refuses writes. */
class WritesRefusedError extends Error {
  override name = 'WritesRefusedError';
}

export interface Readiness {
  /** Whether Redis takes writes. All replicas share it, so by default a gateway that can only read is ready. */
  readonly writes: boolean;
}

/**
 * Whether the gateway can do its work. Nobody signs in to ask, so many questions must not become many to the store: those at the same
 * time share one.
 * @throws StoppingError, StoreUnavailableError, UnsafeRedisError, WritesRefusedError
 */
export function createReadiness({
  config,
  stores,
  stopping,
}: Pick<GatewayDeps, 'config' | 'stores' | 'stopping'>): () => Promise<Readiness> {
  let checking: Promise<void> | undefined;
  return async () => {
    if (stopping.draining.aborted) throw new StoppingError();
    checking ??= stores.ping().finally(() => {
      checking = undefined;
    });
    await checking;
    const writes = stores.refusals().length === 0;
    if (!writes && config.redis.readyNeedsWrites) throw new WritesRefusedError();
    return { writes };
  };
}

/** Why the gateway is not ready, for probes and people. */
export function notReadyCode(
  error: unknown,
): 'stopping' | 'data_lost' | 'redis_unsafe' | 'writes_refused' | 'store_unavailable' {
  if (error instanceof StoppingError) return 'stopping';
  if (error instanceof WritesRefusedError) return 'writes_refused';
  if (isDataLost(error)) return 'data_lost';
  return error instanceof UnsafeRedisError ? 'redis_unsafe' : 'store_unavailable';
}
