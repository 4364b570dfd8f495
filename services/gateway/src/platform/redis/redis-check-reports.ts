/** What the log has when a check of Redis begins to fail, or holds again. */
interface HealthLine {
  readonly event: string;
  readonly text: string;
}

/** How the gateway reports one check of Redis. `RedisHealth` in `@postern/store-redis` says when each runs. */
interface ReportedCheck {
  /** Code of `/readyz` while the check fails. */
  readonly notReady: 'redis_unsafe' | 'data_lost' | 'writes_refused' | 'store_unavailable';
  readonly fails: HealthLine;
  readonly holds?: HealthLine;
}

/** Every check of Redis: code of `/readyz` and log lines. */
export const redisChecks = {
  /** Redis answers, and keeps what it acknowledges. */
  durability: {
    notReady: 'redis_unsafe',
    fails: {
      event: 'redis.durability_lost',
      text: 'Redis does not meet its durability profile, or the gateway cannot check it: not ready',
    },
    holds: { event: 'redis.durability_regained', text: 'Redis durability restored' },
  },
  /** Each shard has the data of this deployment. While it fails, the store refuses every command. */
  data: {
    notReady: 'data_lost',
    fails: {
      event: 'redis.data_lost',
      text: 'Redis has lost data or is a different Redis: not ready. Restore the data, or see postern redis status and postern redis accept-loss',
    },
    holds: { event: 'redis.data_present', text: 'all shards have their data' },
  },
  /** Every master accepts writes. A failure counts for `/readyz` only with `redis.readyNeedsWrites`. */
  writes: {
    notReady: 'writes_refused',
    fails: { event: 'redis.writes_refused', text: 'Redis refuses writes' },
    holds: { event: 'redis.writes_regained', text: 'Redis accepts writes again' },
  },
  /** Redis answers in time at the start. Later, `durability` fails with the reason `unknown`. */
  connection: {
    notReady: 'store_unavailable',
    fails: { event: 'redis.unreachable', text: 'cannot reach Redis at start-up; retrying' },
  },
} as const satisfies Readonly<Record<string, ReportedCheck>>;

export type RedisCheckName = keyof typeof redisChecks;
