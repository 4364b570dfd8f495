/** Real Redis servers on this machine, for tests: single, clustered or under Sentinel, optionally with TLS and users. */
export { leaseRedis } from './leased-redis.ts';
export type { RedisAccess, RedisLogin } from './redis-access.ts';
export { type RedisCluster, startRedisCluster } from './redis-cluster.ts';
export { askRedis } from './redis-command.ts';
export { type RedisSentinel, startRedisSentinel } from './redis-sentinel.ts';
export { type RedisPlace, type RedisServer, startRedis } from './redis-server.ts';
export { createRedisTls } from './redis-tls.ts';
