import type { Clock, Connection, ConnectionId } from '@postern/elicitation';
import type { TokenSet, TokenSets } from './token-set.ts';

/** What a caller may come to see of a token set; never the refresh token. */
export type UsableToken = Pick<TokenSet, 'accessToken' | 'tokenType' | 'dpopKey'>;

/** How long an opened token is remembered, in milliseconds, and how many are. */
const KEEP_MS = 60_000;
const KEEP = 10_000;

/**
 * Opens the access tokens of connections, and remembers them for a minute or two: a tool that works asks for the same one again and
 * again, and opening costs more than everything else the answer takes. An opened token counts only for the sealed value it came
 * from, so a token set that was replaced, or a connection that is gone, is never answered from here.
 */
export function createOpenedTokens(p: { tokenSets: TokenSets; now: Clock }) {
  const entries = new Map<ConnectionId, Entry>();
  let pruning: NodeJS.Timeout | undefined;

  /** A map keeps the order in which its keys came, and all are kept equally long: the oldest are in front. */
  function prune(): void {
    pruning = undefined;
    for (const [connectionId, { until }] of entries) {
      if (until > p.now()) break;
      entries.delete(connectionId);
    }
    if (entries.size > 0) pruning = setTimeout(prune, KEEP_MS).unref();
  }

  return async function open(connection: Connection): Promise<UsableToken> {
    const { connectionId, sealedTokens: sealed } = connection;
    const entry = entries.get(connectionId);
    if (entry?.sealed === sealed && entry.until > p.now()) return entry.token;
    entries.delete(connectionId);
    const { accessToken, tokenType, dpopKey } = await p.tokenSets.open(connection);
    const token = { accessToken, tokenType, ...(dpopKey === undefined ? {} : { dpopKey }) };
    if (entries.size >= KEEP) entries.delete(entries.keys().next().value ?? connectionId);
    entries.set(connectionId, { sealed, until: p.now() + KEEP_MS, token });
    if (pruning === undefined) pruning = setTimeout(prune, KEEP_MS).unref();
    return token;
  };
}

export type OpenedTokens = ReturnType<typeof createOpenedTokens>;

interface Entry {
  readonly sealed: string;
  readonly until: number;
  readonly token: UsableToken;
}
