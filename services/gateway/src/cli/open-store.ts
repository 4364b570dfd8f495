import { createRedisStores, openQueueRedis, type QueueRedis, type RedisStores } from '@postern/store-redis';
import { createKeyRing, createVault, type Vault } from '@postern/vault';
import type { GatewayConfig } from '../config/config-schema.ts';
import { loadConfig } from '../config/load-config.ts';
import { startEmbeddedRedis } from '../embedded-redis.ts';
import { type Pseudonyms, pseudonymsOf } from '../pseudonyms.ts';
import { hasOwnRedis, redisTarget } from '../redis-target.ts';
import { StartError } from '../start-error.ts';
import { CliError, type CliIo } from './cli-io.ts';

export interface OpenStore extends AsyncDisposable {
  readonly vault: Vault;
  readonly stores: RedisStores;
  readonly config: GatewayConfig;
  readonly pseudonym: Pseudonyms;
  /** Closed by whoever opens it. */
  readonly openQueueRedis: () => QueueRedis;
}

/**
 * The vault and the store of the gateway that this configuration is for. Where it keeps its private Redis, that one is
 * started, which works only while the gateway is not running.
 * @throws ConfigError, CliError, UnsafeRedisError, StoreUnavailableError
 */
export async function openStore(configPath: string, io: CliIo): Promise<OpenStore> {
  const config = loadConfig(configPath, io.env);
  const vault = createVault(createKeyRing(config.vault.keys));
  await using stack = new AsyncDisposableStack();
  const own = hasOwnRedis(config.redis) ? stack.use(await ownRedis(config.redis.directory)) : undefined;
  const { stores: options, queue } = redisTarget(config.redis, own?.url);
  const stores = stack.use(
    await createRedisStores({
      ...options,
      connectionName: 'postern-cli',
      startTimeoutMs: 3_000,
    }),
  );
  const held = stack.move();
  return {
    vault,
    stores,
    config,
    pseudonym: pseudonymsOf(config),
    openQueueRedis: () => openQueueRedis({ ...queue, connectionName: 'postern-cli' }),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

async function ownRedis(directory: string) {
  try {
    return await startEmbeddedRedis(directory);
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    throw new CliError(
      `${error.message}\nThe private Redis answers to its gateway alone. Stop the gateway first, or leave the work to it: a ` +
        'running gateway re-wraps by itself and logs vault.keys_removable.',
    );
  }
}
