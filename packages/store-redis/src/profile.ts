/** What says how Redis must be, and what went wrong with it, without a client of Redis. */
export { DEPLOYMENT_ID, durabilityProfiles } from './durability.ts';
export { isDataLost, RedisFault } from './redis-fault.ts';
export { UnsafeRedisError } from './unsafe-redis-error.ts';
