export { assertSafeRedis, type SafetyOptions, UnsafeRedisError, type UnsafeSetting } from './assert-safe-redis.ts';
export type { RedisAddress } from './connect-redis.ts';
export { type SealedKind, sealedKinds } from './keys.ts';
export type { LeaseStore } from './lease-store.ts';
export type { LoggedEvent, RedisEventLog } from './redis-event-log.ts';
export { type FaultKind, RedisFault } from './redis-fault.ts';
export { createRedisStores, type RedisStores, type RedisStoresOptions } from './redis-stores.ts';
export type { SealedRecord, SealedRecords, SealedRecordsStep } from './sealed-records.ts';
export { type Sweeper, type SweeperOptions, startSweeper } from './sweeper.ts';
