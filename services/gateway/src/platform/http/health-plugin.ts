import type { Stores } from '@postern/elicitation';
import { isDataLost, UnsafeRedisError } from '@postern/store-redis/profile';
import fp from 'fastify-plugin';
import type { RedisConfig } from '../config/redis-config.ts';
import type { Logger } from '../logger.ts';
import { type RedisCheckName, redisChecks } from '../redis/redis-check-reports.ts';
import { type Stopping, StoppingError } from '../stopping.ts';

/** Thrown while Redis refuses writes, if `redis.readyNeedsWrites` is set. */
class WritesRefusedError extends Error {
  override name = 'WritesRefusedError';
}

export interface Readiness {
  /** Whether Redis accepts writes. All replicas share it, so by default a gateway that can only read is ready. */
  readonly writes: boolean;
  /**
   * Whether the key services of all vault keys work. Present only with a key service. All replicas share it, and what needs no key
   * service still works, so a gateway without it is ready.
   */
  readonly keyServices?: boolean;
}

export interface ReadinessDeps {
  readonly config: { readonly redis: Pick<RedisConfig, 'readyNeedsWrites'> };
  /** Undefined without a key service. Only read: the endpoint needs no credential, so it sends no request to a key service. */
  readonly keyFaults: ReadonlyMap<string, unknown> | undefined;
  readonly stores: Pick<Stores, 'ping' | 'refusals'>;
  readonly stopping: Pick<Stopping, 'draining'>;
}

/**
 * Checks whether the gateway can serve requests. The endpoint needs no credential, so concurrent checks share one `PING`.
 * @throws StoppingError, StoreUnavailableError, UnsafeRedisError, WritesRefusedError
 */
export function createReadiness({ config, stores, stopping, keyFaults }: ReadinessDeps): () => Promise<Readiness> {
  let checking: Promise<void> | undefined;
  return async () => {
    if (stopping.draining.aborted) throw new StoppingError();
    checking ??= stores.ping().finally(() => {
      checking = undefined;
    });
    await checking;
    const writes = stores.refusals().length === 0;
    if (!writes && config.redis.readyNeedsWrites) throw new WritesRefusedError();
    return keyFaults === undefined ? { writes } : { writes, keyServices: keyFaults.size === 0 };
  };
}

export interface HealthPluginDeps extends ReadinessDeps {
  readonly logger: Pick<Logger, 'warn'>;
}

/** `livez`: the process responds. `readyz`: it can also serve requests, so a load balancer may send some. */
export const healthPlugin = fp<{ deps: HealthPluginDeps }>(
  async (app, { deps }) => {
    const check = createReadiness(deps);
    app.get('/livez', async () => ({ status: 'live' }));
    app.get('/readyz', async (_request, reply) => {
      try {
        return { status: 'ready', ...(await check()) };
      } catch (error) {
        deps.logger.warn({ event: 'health.not_ready', error }, 'not ready');
        return reply.code(503).send({ status: 'not_ready', code: notReadyCode(error) });
      }
    });
  },
  { name: 'health' },
);

const notReadyCode = (error: unknown): string =>
  error instanceof StoppingError ? 'stopping' : redisChecks[failedCheckOf(error)].notReady;

function failedCheckOf(error: unknown): RedisCheckName {
  if (error instanceof WritesRefusedError) return 'writes';
  if (isDataLost(error)) return 'data';
  return error instanceof UnsafeRedisError ? 'durability' : 'connection';
}
