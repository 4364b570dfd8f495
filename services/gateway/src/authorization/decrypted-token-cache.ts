import type { Clock, Connection, ConnectionId } from '@postern/elicitation';
import { LRUCache } from 'lru-cache';
import type { TokenSet, TokenSets } from './token-set.ts';

/** The part of a token set that an MCP server may receive. Never includes the refresh token. */
export type UsableToken = Pick<TokenSet, 'accessToken' | 'tokenType' | 'dpopKey'>;

/** Lifetime of an entry, in milliseconds. */
const LIFETIME_MS = 60_000;
const MAX_ENTRIES = 10_000;

/**
 * Opens the access tokens of connections and caches them for one to two minutes: a tool requests the same token many times, and
 * opening it costs more than the rest of the request. Concurrent callers share one opening, above all the callers that waited for the
 * same refresh. An entry is valid only for the sealed value that it came from, so the cache never returns a token of a replaced token
 * set or a removed connection.
 */
export function createDecryptedTokenCache(p: { tokenSets: TokenSets; now: Clock }) {
  const entries = new LRUCache<ConnectionId, Entry>({
    max: MAX_ENTRIES,
    // lru-cache keeps an entry through the last millisecond of its ttl.
    ttl: LIFETIME_MS - 1,
    ttlResolution: 0,
    perf: p,
  });
  let pruning: NodeJS.Timeout | undefined;

  function prune(): void {
    entries.purgeStale();
    pruning = entries.size > 0 ? setTimeout(prune, LIFETIME_MS).unref() : undefined;
  }

  async function openAnew(connection: Connection): Promise<UsableToken> {
    const { accessToken, tokenType, dpopKey } = await p.tokenSets.open(connection);
    return { accessToken, tokenType, dpopKey };
  }

  return async function open(connection: Connection): Promise<UsableToken> {
    const { connectionId, sealedTokens: sealed } = connection;
    const found = entries.get(connectionId);
    if (found?.sealed === sealed) return found.token;
    const entry: Entry = { sealed, token: openAnew(connection) };
    entries.set(connectionId, entry);
    if (pruning === undefined) pruning = setTimeout(prune, LIFETIME_MS).unref();
    try {
      return await entry.token;
    } catch (error) {
      // A later call tries again. A newer entry stays.
      if (entries.peek(connectionId) === entry) entries.delete(connectionId);
      throw error;
    }
  };
}

export type DecryptedTokenCache = ReturnType<typeof createDecryptedTokenCache>;

interface Entry {
  readonly sealed: string;
  /** Pending while the token set is being opened. An entry whose opening failed is deleted. */
  readonly token: Promise<UsableToken>;
}
