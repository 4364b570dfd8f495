import type { GatewayDeps } from '../deps.ts';

/**
 * Whether the gateway can do its work. Nobody signs in to ask, so many questions must not become many to the store: those at the same
 * time share one.
 * @throws StoreUnavailableError, UnsafeRedisError
 */
export function createReadiness({ stores }: Pick<GatewayDeps, 'stores'>): () => Promise<void> {
  let checking: Promise<void> | undefined;
  return () => {
    checking ??= stores.ping().finally(() => {
      checking = undefined;
    });
    return checking;
  };
}
