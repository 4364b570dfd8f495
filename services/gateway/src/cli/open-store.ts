import { createRedisStores, openQueueRedis, type QueueRedis, type RedisStores } from '@postern/store-redis';
import type { Vault } from '@postern/vault';
import { type Pseudonyms, pseudonymsOf } from '../platform/audit/pseudonyms.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { loadConfig } from '../platform/config/load-config.ts';
import { joinEmbeddedRedis, startEmbeddedRedis } from '../platform/redis/embedded-redis.ts';
import { hasOwnRedis, redisTarget, retentionOf } from '../platform/redis/redis-target.ts';
import { StartError } from '../platform/start-error.ts';
import { openVault } from '../sealing/open-vault.ts';
import { CliError, type CliIo, printable } from './cli-io.ts';

export interface OpenStore extends AsyncDisposable {
  readonly vault: Vault;
  readonly stores: RedisStores;
  readonly config: GatewayConfig;
  readonly pseudonym: Pseudonyms;
  /** Writes the audit lines of this command to standard error. */
  readonly print: (text: string) => void;
  /** Opens a separate connection for job queues. The caller closes it. */
  readonly openQueueRedis: () => QueueRedis;
}

/**
 * Opens the vault and the stores of a configuration. If that has a private Redis, connects to that of the running gateway, or starts it.
 * @throws ConfigError, CliError, UnsafeRedisError, StoreUnavailableError
 */
export async function openStore(configPath: string, io: CliIo): Promise<OpenStore> {
  const config = loadConfig(configPath, io.env);
  await using stack = new AsyncDisposableStack();
  const { vault } = stack.use(await openVault(config));
  const own = hasOwnRedis(config.redis) ? stack.use(await ownRedis(config.redis.directory)) : undefined;
  const { stores: options, queue } = redisTarget(config.redis, own?.url);
  const stores = stack.use(
    await createRedisStores({
      ...options,
      ...retentionOf(config),
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
    print: text => io.err(printable(text)),
    openQueueRedis: () => openQueueRedis({ ...queue, connectionName: 'postern-cli' }),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

async function ownRedis(directory: string) {
  try {
    return (await joinEmbeddedRedis(directory)) ?? (await startEmbeddedRedis(directory));
  } catch (error) {
    throw error instanceof StartError ? new CliError(error.message) : error;
  }
}
