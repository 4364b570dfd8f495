export { UnsafeRedisError, type UnsafeSetting } from './assert-safe-redis.ts';
export type { RedisCapacity } from './capacity-watch.ts';
export type { CommandName, CommandObserver } from './commands.ts';
/** @internal For the crash points of test/faults. */
export { commandNames, scriptOf } from './commands.ts';
export type { DataLoss } from './data-loss.ts';
export { durabilityProfiles } from './durability.ts';
export type { DurabilityChange } from './durability-watch.ts';
export { inspectRedis, type RedisInspection } from './inspect-redis.ts';
export { type SealedKind, sealedKinds } from './keys.ts';
/** @internal */
export { keyRowOf } from './keyspace.ts';
export type { LeaseStore } from './lease-store.ts';
export { isDataLost, type LossReports } from './loss-watch.ts';
export { openQueueRedis, type QueueRedis, type QueueRedisOptions } from './open-queue-redis.ts';
export type { RedisAddress, RedisTlsOptions } from './redis-address.ts';
export { type AdminScope, adminScopes, type StoredAdminCredential } from './redis-admin-credential-store.ts';
export type { RedisApiKeyStore, StoredApiKey } from './redis-api-key-store.ts';
export { type AuditStreamName, isAuditPosition, type RedisAuditLog } from './redis-audit-log.ts';
export { DEPLOYMENT_ID, type RedisEpochs } from './redis-epochs.ts';
export type { LoggedEvent } from './redis-event-log.ts';
export { RedisFault } from './redis-fault.ts';
export type { JobAbout, JobProgress, StoredJob } from './redis-job-store.ts';
export type { KeyAge } from './redis-key-ages.ts';
export { hourOf, type RefreshBatch, type RefreshCount } from './redis-refresh-counts.ts';
export type { ListedReplica, ReplicaRecord } from './redis-replica-store.ts';
export { createRedisStores, type RedisStores, type RedisStoresOptions } from './redis-stores.ts';
export type {
  DisabledReason,
  RedisWebhookEndpointStore,
} from './redis-webhook-endpoint-store.ts';
export type { SealedRecord, SealedRecords, SealedRecordsStep } from './sealed-records.ts';
export { type Sweeper, type SweeperOptions, startSweeper } from './sweeper.ts';
