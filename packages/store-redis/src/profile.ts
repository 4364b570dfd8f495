/** What says how Redis must be, and what went wrong with it, without a client of Redis. */
export { durabilityProfiles, UnsafeRedisError } from './durability.ts';
export { isDataLost, RedisFault } from './redis-fault.ts';

/** Format of a deployment id. The configuration checks it too. */
export const DEPLOYMENT_ID = /^dp_[A-Za-z0-9_-]{8,64}$/;
