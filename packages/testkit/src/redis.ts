/** Real Redis servers of this machine, for tests: alone, in a cluster, under Sentinel; with TLS and users where wanted. */
export { leaseRedis } from './leased-redis.ts';
export type { RedisAccess, RedisLogin } from './redis-access.ts';
export { type RedisCluster, type RedisClusterOptions, startRedisCluster } from './redis-cluster.ts';
export { type RedisSentinel, type RedisSentinelOptions, startRedisSentinel } from './redis-sentinel.ts';
export { type RedisPlace, type RedisServer, type RedisServerOptions, startRedis } from './redis-server.ts';
export { createRedisTls, type PemFile, type RedisTls } from './redis-tls.ts';
