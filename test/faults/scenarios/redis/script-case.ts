import type { RedisStores } from '@postern/store-redis';

/** A call that runs a script, with its preconditions already met. */
export interface ScriptCase {
  prepare(stores: RedisStores): Promise<(stores: RedisStores) => Promise<unknown>>;
  /** Some members of the result. */
  readonly first: unknown;
  /** Result of a caller's retry after a lost response. Default: the same. */
  readonly again?: unknown;
  /** Result when the stores retried the call themselves. Default: the same as without a fault. */
  readonly resent?: unknown;
  /** The stores do not retry the call, because the second result would differ from the first. */
  readonly onlyOnce?: true;
  /** Nouns of the keys whose expiry a caller's retry renews. Default none: a retry changes nothing. */
  readonly renews?: readonly string[];
}
