export type { RedisCapacity } from './capacity-watch.ts';
export type { CommandName, CommandObserver } from './commands.ts';
/** @internal For the crash points of test/faults. */
export { commandNames, scriptOf } from './commands.ts';
export type { DurabilityChange, UnsafeSetting } from './durability.ts';
export { inspectRedis, type RedisInspection } from './inspect-redis.ts';
/** @internal */
export { keyRowOf } from './keyspace.ts';
export type { DataLoss, LossReports } from './loss-watch.ts';
export { openQueueRedis, type QueueRedis, type QueueRedisOptions } from './open-queue-redis.ts';
export * from './profile.ts';
export type { RedisAddress, RedisTlsOptions } from './redis-address.ts';
export type { RedisEpochs } from './redis-epochs.ts';
export { createRedisStores, type NetworkStores, type RedisStores, type RedisStoresOptions } from './redis-stores.ts';
export type { RedisWebhookEndpointStore } from './redis-webhook-endpoint-store.ts';
