import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Stores } from '@postern/elicitation';
import type { SqliteStoresOptions } from '@postern/store-sqlite';
import type { GatewayConfig } from '../config/config-schema.ts';
import { hasRedis } from '../config/redis-config.ts';
import type { Logger } from '../logger.ts';
import type { RedisOptions, RedisReports } from '../redis/open-redis-stores.ts';
import { retentionOf } from '../redis/redis-target.ts';
import { StartError } from '../start-error.ts';
import type { Network } from './network.ts';

export interface OpenedStores {
  readonly stores: Stores;
  /** Undefined without Redis. */
  readonly network: Network | undefined;
}

/** Replaces clocks and times, in tests. */
export type StoreOptions = RedisOptions;

/**
 * The only place that decides what keeps the state of a gateway: the configured Redis, or a file.
 * @throws UnsafeRedisError, StoreUnavailableError, StartError
 */
export async function openStores(p: RedisReports, options: StoreOptions): Promise<OpenedStores> {
  if (!hasRedis(p.config)) {
    const stores = await openFile(p.config, {
      now: options.now,
      onRefusals: refusalReport(p.logger),
    });
    return { stores, network: undefined };
  }
  // ioredis takes 7 MB, which a gateway on a file does without.
  const { openRedisStores } = await import('../redis/open-redis-stores.ts');
  return openRedisStores(p, options);
}

const refusalReport = (logger: Pick<Logger, 'info' | 'error'>) => (codes: readonly string[]) => {
  if (codes.length === 0) logger.info({ event: 'store.writes_regained' }, 'store.file accepts writes again');
  else logger.error({ event: 'store.writes_refused', codes }, 'store.file refuses writes');
};

/** Opens the file of a configuration without Redis. @throws StartError if another process has it, or it cannot be opened */
export async function openFile(
  config: GatewayConfig,
  options: Partial<Pick<SqliteStoresOptions, 'now' | 'onRefusals'>> = {},
): Promise<Stores> {
  const { createSqliteStores, UnusableFileError } = await import('@postern/store-sqlite');
  const path = config.store.file;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    return createSqliteStores({ path, ...options, now: options.now ?? Date.now, ...retentionOf(config) });
  } catch (error) {
    if (error instanceof UnusableFileError) throw new StartError(error.message, { code: error.code });
    throw new StartError(`store.file: ${path} cannot be opened (${reasonOf(error)}).`, { cause: error });
  }
}

/** What SQLite says of the file, such as "database or disk is full", or the code of the operating system. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unexpected';
  return 'errstr' in error ? String(error.errstr) : 'code' in error ? String(error.code) : 'unexpected';
}
