import type { ConnectionId, ElicitationId, RevocationId, Shard, Subject } from './ids.ts';

/** Why a connection is unusable until the user authorizes again. */
export const lossReasons = [
  /** The provider no longer accepts the refresh token: `invalid_grant` (RFC 6749 section 5.2), or see `hasGrantEnded`. */
  'refused',
  /** The provider's API rejected the access token, and there is no refresh token. */
  'rejected',
] as const;
export type LossReason = (typeof lossReasons)[number];

/** A subject's stored authorization at a provider, owned by one MCP server or by a group the operator declared. */
export interface Connection {
  readonly connectionId: ConnectionId;
  /**
   * Counts token sets, starting at 1. If the user disconnects and connects again, the connection has the same id. A write that
   * was decided on a token set therefore also names `createdAt`.
   */
  readonly generation: number;
  readonly owner: string;
  readonly subject: Subject;
  readonly provider: string;
  readonly resource?: string;
  /** Granted by the provider; sorted. Includes the scopes that the provider implies. */
  readonly scopes: readonly string[];
  readonly account?: { readonly id: string; readonly name?: string };
  /** Additional parameters of the callback, which the operator named. The provider does not vouch for them. */
  readonly callbackMembers?: Readonly<Record<string, string>> | undefined;
  /** The token set, sealed by the vault before it reaches the store. */
  readonly sealedTokens: string;
  readonly accessTokenExpiresAt?: number;
  /** Whether the token set can be refreshed without the user. */
  readonly refreshable: boolean;
  /** Whether the last refresh replaced the refresh token. Absent before the first refresh. */
  readonly rotates?: boolean;
  /** Absent while the connection is usable. */
  readonly lost?: { readonly reason: LossReason; readonly at: number };
  /** Accurate to a minute, because not every use is recorded. */
  readonly lastUse?: ConnectionUse & { readonly at: number };
  /** The elicitation that created it. */
  readonly elicitationId: ElicitationId;
  readonly createdAt: number;
  /** When this token set was stored. */
  readonly updatedAt: number;
}

/** The token set of a finished authorization, to be stored in the same commit that completes its elicitation. */
export type NewConnection = Omit<Connection, 'generation' | 'createdAt' | 'updatedAt' | 'lost' | 'lastUse' | 'rotates'>;

/** The MCP server that took an access token, and the tool that it claims. */
export interface ConnectionUse {
  readonly mcpServerId: string;
  readonly tool?: string;
}

/** The same use is recorded again after this time, another use immediately. */
export const USE_NOTED_AGAIN_MS = 60_000;

/** Whether recording this use would change nothing. */
export function isUseNoted({ lastUse }: Pick<Connection, 'lastUse'>, use: ConnectionUse, now: number): boolean {
  return (
    lastUse !== undefined &&
    lastUse.mcpServerId === use.mcpServerId &&
    lastUse.tool === use.tool &&
    now - lastUse.at < USE_NOTED_AGAIN_MS
  );
}

/** A token this close to expiry is not handed out: clocks differ, and the request that uses it takes time. */
const FRESH_ENOUGH_MS = 30_000;
/** Maximum time before expiry at which a token is refreshed. A third of its lifetime if that is shorter. */
const REFRESH_AHEAD_MS = 5 * 60_000;

/** `due`: usable, and should be refreshed. `stale`: must not be handed out. */
export type TokenFreshness = 'fresh' | 'due' | 'stale';

export function tokenFreshness(
  { accessTokenExpiresAt, updatedAt }: Pick<Connection, 'accessTokenExpiresAt' | 'updatedAt'>,
  now: number,
): TokenFreshness {
  if (accessTokenExpiresAt === undefined) return 'fresh';
  // The two times come from different clocks. A clock that is behind must not make an expired token fresh.
  const lifetime = Math.max(0, accessTokenExpiresAt - updatedAt);
  const left = accessTokenExpiresAt - now;
  // Half a minute would be too large a part of a lifetime of one minute.
  if (left <= Math.min(FRESH_ENOUGH_MS, lifetime / 6)) return 'stale';
  return left <= Math.min(REFRESH_AHEAD_MS, lifetime / 3) ? 'due' : 'fresh';
}

/** Whether a tool that needs these scopes can use the connection without the user. */
export function serves(connection: Connection, scopes: readonly string[], now: number): boolean {
  if (connection.lost !== undefined || !covers(connection.scopes, scopes)) return false;
  return connection.refreshable || tokenFreshness(connection, now) !== 'stale';
}

export function covers(granted: readonly string[], needed: readonly string[]): boolean {
  return needed.every(scope => granted.includes(scope));
}

/** Why the user must reconnect. */
export type ReconnectReason = LossReason | 'expired' | 'more_scopes';

/** Returns undefined if the connection is usable. */
export function reconnectReason(
  connection: Connection,
  scopes: readonly string[],
  now: number,
): ReconnectReason | undefined {
  if (connection.lost !== undefined) return connection.lost.reason;
  if (!connection.refreshable && tokenFreshness(connection, now) === 'stale') return 'expired';
  return covers(connection.scopes, scopes) ? undefined : 'more_scopes';
}

/**
 * Identifies a stored token set or the values of a credential for MCP servers. A deleted and recreated record has the same id and
 * restarts its generation at one, so the number includes its time. A late report about the old record then does not match the new
 * one, and newer numbers are greater. Integers up to 2^53 suffice until the year 2255.
 */
export function generationNumber({ createdAt, generation }: { createdAt: number; generation: number }): number {
  return createdAt * 1000 + generation;
}

/**
 * The token set that a decision was made on. Both members must still match the stored ones, because the generation restarts when
 * the user reconnects.
 */
export type TokenSetOf = Pick<Connection, 'connectionId' | 'createdAt' | 'generation'>;

/** How the provider has refused to refresh one token set, in words that do not end the grant by themselves. */
export interface Refusals {
  readonly count: number;
  readonly firstAt: number;
  readonly lastAt: number;
  /** Whether the last attempt was refused, not failed. */
  readonly isLatest: boolean;
}

/** Refusals that end a grant without a report by the API, and the time between the first and the last, in milliseconds. */
const ENDING_REFUSALS = 3;
const ENDING_REFUSALS_APART_MS = 2 * 60 * 60_000;

/**
 * Whether a grant has ended whose refresh the provider refuses without `invalid_grant`.
 * @param p.isRejected whether the API has rejected the access token of this token set
 * @param p.isUnfinished whether an earlier refresh took the refresh token, and its response is lost: the token may be spent
 */
export function hasGrantEnded(
  refusals: Refusals,
  p: { readonly isRejected: boolean; readonly isUnfinished: boolean },
): boolean {
  if (refusals.isLatest && (p.isRejected || p.isUnfinished)) return true;
  return refusals.count >= ENDING_REFUSALS && refusals.lastAt - refusals.firstAt >= ENDING_REFUSALS_APART_MS;
}

export type BeginRefresh =
  /**
   * Only the caller may send the refresh request, until its lease expires. `failures` counts the consecutive failures before it.
   * `isUnfinished`: the lease of an earlier holder expired without a result.
   */
  | {
      readonly result: 'begun';
      readonly connection: Connection;
      readonly failures: number;
      readonly isUnfinished: boolean;
    }
  /** Another caller holds the lease. */
  | { readonly result: 'held'; readonly retryAfterMs: number; readonly holder: string }
  /** The provider has just failed, and the back-off has not ended. */
  | { readonly result: 'postponed'; readonly retryAfterMs: number; readonly refusals?: Refusals }
  /** There is a newer token set, or the connection is lost. */
  | { readonly result: 'superseded'; readonly connection: Connection }
  | { readonly result: 'missing' };

/** The result of a refresh. */
export type RefreshedTokens = Pick<Connection, 'sealedTokens' | 'scopes' | 'refreshable'> &
  Partial<Pick<Connection, 'accessTokenExpiresAt' | 'rotates'>>;

export type TokenSetChange =
  /** Committed now, or earlier under the same operation id. */
  | { readonly result: 'stored'; readonly connection: Connection }
  | { readonly result: 'superseded'; readonly connection: Connection }
  | { readonly result: 'missing' };

export interface ConnectionStore {
  read(connectionId: ConnectionId): Promise<Connection | undefined>;
  /** Connections of all owners, oldest first. */
  list(subject: Subject): Promise<readonly Connection[]>;

  /**
   * Takes the lease to refresh one token set. One of many concurrent callers on any replica gets it.
   * @param p.goneHolder a holder that the caller knows to be gone: its lease is free before its end
   */
  beginRefresh(p: {
    readonly current: TokenSetOf;
    /** Identifies the caller; the holder may take the lease again. */
    readonly holder: string;
    readonly leaseMs: number;
    readonly goneHolder?: string;
  }): Promise<BeginRefresh>;
  /**
   * Stores the next token set and releases the lease, even if another replica holds it by now: issued tokens must not be lost
   * because this replica was slow. Wakes the waiters of the connection.
   */
  finishRefresh(p: {
    readonly current: TokenSetOf;
    readonly tokens: RefreshedTokens;
    readonly operationId: string;
  }): Promise<TokenSetChange>;
  /**
   * The refresh failed: releases the lease, and no replica starts another refresh within `delayMs`. Wakes the waiters. Counts a
   * refusal in the same commit, and returns the refusals of the token set, if any.
   */
  postponeRefresh(p: {
    readonly current: TokenSetOf;
    readonly holder: string;
    readonly delayMs: number;
    readonly isRefusal?: boolean;
  }): Promise<Refusals | undefined>;
  /** Marks this token set, and no newer one, as lost. Wakes the waiters. Also `stored` if it was already lost. */
  markLost(p: { readonly current: TokenSetOf; readonly reason: LossReason }): Promise<TokenSetChange>;
  /** Records the last user. Does nothing if the connection is gone. */
  recordUse(p: { readonly connectionId: ConnectionId; readonly use: ConnectionUse }): Promise<void>;

  /**
   * Deletes the connection. With `revocationId`, the grant moves to the pending revocations in the same commit, due immediately.
   * Returns undefined if there was none. Wakes the waiters.
   * @param p.connectedUntil removes only a connection whose first token set was stored at this time or before: a repeat spares the one
   * that the user made after the first removal
   */
  remove(p: {
    readonly connectionId: ConnectionId;
    readonly revocationId?: RevocationId;
    readonly connectedUntil?: number;
  }): Promise<Connection | undefined>;
}

/** A grant to be revoked at its provider. Its tokens stay sealed as in the connection. */
export interface Revocation
  extends Pick<
    Connection,
    'owner' | 'subject' | 'provider' | 'resource' | 'account' | 'elicitationId' | 'sealedTokens'
  > {
  readonly revocationId: RevocationId;
  readonly createdAt: number;
  /** Number of claims, including this one. */
  readonly attempts: number;
}

export type NewRevocation = Omit<Revocation, 'createdAt' | 'attempts'>;

/** Grants to be revoked at their providers. */
export interface RevocationStore {
  /** Adds a grant that never became a connection, due immediately. Repeating it under its id changes nothing. */
  add(revocation: NewRevocation): Promise<void>;
  /** Claims the due revocations of the shard, each for one caller until the lease expires. */
  claim(shard: Shard, p: { readonly limit: number; readonly leaseMs: number }): Promise<readonly Revocation[]>;
  /** Claims one by its id, due or not, for one caller until the lease expires; undefined if it is gone or claimed. */
  claimOne(revocationId: RevocationId, leaseMs: number): Promise<Revocation | undefined>;
  /** Deletes a revocation that is done or given up. */
  finish(revocation: Pick<Revocation, 'revocationId' | 'owner'>): Promise<void>;
  /** Schedules the next attempt. */
  postpone(revocationId: RevocationId, delayMs: number): Promise<void>;
}
