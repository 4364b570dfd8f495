import type { RedisStores } from '@postern/store-redis';

/** What calls a script, once somebody has brought about what it needs. */
export interface ScriptCase {
  prepare(stores: RedisStores): Promise<(stores: RedisStores) => Promise<unknown>>;
  /** What the caller gets; some of its members. */
  readonly first: unknown;
  /** What a caller gets who calls again because no answer came. Default: the same. */
  readonly again?: unknown;
  /** What a caller gets whose stores repeated the call by themselves. Default: the same as the first time. */
  readonly resent?: unknown;
  /** The stores do not repeat it by themselves, because the second answer would not be that of the first. */
  readonly onlyOnce?: true;
  /** Nouns of the keys in which a caller's repeat begins a time anew. Default none: it changes nothing at all. */
  readonly renews?: readonly string[];
}
