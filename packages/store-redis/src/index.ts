export { assertSafeRedis, type SafetyOptions, UnsafeRedisError, type UnsafeSetting } from './assert-safe-redis.ts';
export type { RedisCapacity } from './capacity-watch.ts';
export { type CommandName, commandNames, scriptOf } from './commands.ts';
export type { DataLoss } from './data-loss.ts';
export {
  type DurabilityOptions,
  type DurabilityProfile,
  durabilityProfiles,
} from './durability.ts';
export type { DurabilityChange } from './durability-watch.ts';
export { type SealedKind, sealedKinds } from './keys.ts';
export type { LeaseStore } from './lease-store.ts';
export { isDataLost, type LossReports, type RolledBack } from './loss-watch.ts';
export { openQueueRedis, type QueueRedis, type QueueRedisOptions } from './open-queue-redis.ts';
export type { RedisAddress, RedisTlsOptions, SentinelAddress } from './redis-address.ts';
export type { AuditLine, RedisAuditLog } from './redis-audit-log.ts';
export type { RedisEpochs } from './redis-epochs.ts';
export type { LoggedEvent, RedisEventLog } from './redis-event-log.ts';
export type { FeedRetention } from './redis-event-outbox.ts';
export { type FaultKind, RedisFault } from './redis-fault.ts';
export type { CommandObserver } from './redis-link.ts';
export { createRedisStores, type RedisStores, type RedisStoresOptions } from './redis-stores.ts';
export type {
  DisabledReason,
  RedisWebhookEndpointStore,
  WebhookEndpointRecord,
} from './redis-webhook-endpoint-store.ts';
export type { SealedRecord, SealedRecords, SealedRecordsStep } from './sealed-records.ts';
export { DEPLOYMENT_ID, type ShardEpoch } from './shard-epoch.ts';
export { type Sweeper, type SweeperOptions, startSweeper } from './sweeper.ts';
