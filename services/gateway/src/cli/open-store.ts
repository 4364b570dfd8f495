import { commandProcess, type RecordAct } from '../admin/admin-audit.ts';
import { type AdminService, createAdminService } from '../admin/admin-service.ts';
import { registerMcpServers } from '../mcp-servers/registered-mcp-server.ts';
import { pseudonymsOf } from '../platform/audit/audit-log.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { loadConfig } from '../platform/config/load-config.ts';
import { hasRedis } from '../platform/config/redis-config.ts';
import { redisTarget, retentionOf } from '../platform/redis/redis-target.ts';
import { StartError } from '../platform/start-error.ts';
import { type OpenedStores, openFile } from '../platform/store/open-stores.ts';
import { openVault } from '../sealing/open-vault.ts';
import { CliError, type CliIo, type HeldStore } from './cli-io.ts';

export interface OpenStore extends HeldStore, AsyncDisposable {
  /** Writes the audit lines of this command to standard error. */
  readonly print: (text: string) => void;
}

/**
 * Opens the vault and the stores of a configuration: Redis, or the file, which no running gateway may have.
 * @throws ConfigError, CliError, UnsafeRedisError, StoreUnavailableError
 */
export async function openStore(configPath: string, io: CliIo): Promise<OpenStore> {
  const print = io.err;
  // Those of the gateway stay open.
  if (io.store !== undefined) return { ...io.store, print, [Symbol.asyncDispose]: () => Promise.resolve() };
  const config = loadConfig(configPath, io.env);
  await using stack = new AsyncDisposableStack();
  const { vault } = stack.use(await openVault(config));
  const { stores, network } = await storesOf(config);
  stack.use(stores);
  const held = stack.move();
  return {
    vault,
    stores,
    network,
    config,
    pseudonym: pseudonymsOf(config),
    print,
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

async function storesOf(config: GatewayConfig): Promise<OpenedStores> {
  try {
    if (!hasRedis(config)) return { stores: await openFile(config), network: undefined };
  } catch (error) {
    throw error instanceof StartError ? new CliError(error.message) : error;
  }
  const { createRedisStores, openQueueRedis } = await import('@postern/store-redis');
  const { stores: options, queue } = redisTarget(config.redis);
  const connectionName = 'postern-cli';
  const stores = await createRedisStores({
    ...options,
    ...retentionOf(config),
    connectionName,
    startTimeoutMs: 3_000,
  });
  return { stores, network: { ...stores, openQueueRedis: () => openQueueRedis({ ...queue, connectionName }) } };
}

export interface OpenAdmin extends AsyncDisposable {
  readonly admin: AdminService;
  readonly store: OpenStore;
}

/** Opens the admin service over the stores of a configuration. @throws as openStore */
export async function openAdmin(configPath: string, io: CliIo): Promise<OpenAdmin> {
  await using stack = new AsyncDisposableStack();
  const store = stack.use(await openStore(configPath, io));
  const admin = stack.use(
    createAdminService({
      ...store,
      mcpServers: registerMcpServers(store.config),
      adminProcess: commandProcess({ ...store, now: Date.now }),
      now: Date.now,
    }),
  );
  const held = stack.move();
  return { admin, store, [Symbol.asyncDispose]: () => held.disposeAsync() };
}

/** Records the acts of commands for which the admin service has no verb. */
export const recordIn = (store: OpenStore): RecordAct => commandProcess({ ...store, now: Date.now }).record;
