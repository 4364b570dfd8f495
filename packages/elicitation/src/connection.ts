import type { RECORD_LAYOUT } from './elicitation.ts';
import type { ConnectionId, ElicitationId } from './ids.ts';
import type { Subject } from './subject.ts';

/** Why a connection is of no use until its person authorizes again. */
export const lossReasons = [
  /** The provider no longer accepts the refresh token (`invalid_grant`, RFC 6749 section 5.2). */
  'refused',
  /** The provider's API turned the access token away, and there is nothing to refresh it with. */
  'rejected',
] as const;
export type LossReason = (typeof lossReasons)[number];

/** A subject's stored authorization at a provider, owned by one MCP server or by a group the operator declared. */
export interface Connection {
  readonly layout: typeof RECORD_LAYOUT;
  readonly connectionId: ConnectionId;
  /**
   * Counts token sets, starting at 1. An id is used again when its person connects again after disconnecting, so a write that
   * was decided on a token set names `createdAt` as well.
   */
  readonly generation: number;
  readonly owner: string;
  readonly subject: Subject;
  readonly provider: string;
  readonly resource?: string;
  /** Granted by the provider; sorted. Includes what the provider counts as granted with them. */
  readonly scopes: readonly string[];
  readonly account?: { readonly id: string; readonly name?: string };
  /** The token set, sealed by the vault before it comes here. */
  readonly sealedTokens: string;
  readonly accessTokenExpiresAt?: number;
  /** Whether the token set can be renewed without its person. */
  readonly refreshable: boolean;
  /** Absent while the connection is of use. */
  readonly lost?: { readonly reason: LossReason; readonly at: number };
  /** To the minute: not every use is written down. */
  readonly lastUse?: ConnectionUse & { readonly at: number };
  /** The elicitation that brought it. */
  readonly elicitationId: ElicitationId;
  readonly createdAt: number;
  /** When this token set was stored. */
  readonly updatedAt: number;
}

/** Who took an access token; the tool is what the MCP server says. */
export interface ConnectionUse {
  readonly mcpServerId: string;
  readonly tool?: string;
}

/** The same use is written down again after this time; another one at once. */
export const USE_NOTED_AGAIN_MS = 60_000;

/** Whether writing this use down would tell nothing new. */
export function isUseNoted({ lastUse }: Pick<Connection, 'lastUse'>, use: ConnectionUse, now: number): boolean {
  return (
    lastUse !== undefined &&
    lastUse.mcpServerId === use.mcpServerId &&
    lastUse.tool === use.tool &&
    now - lastUse.at < USE_NOTED_AGAIN_MS
  );
}

/** A token this close to its end is not worth handing out: clocks differ and the call it is for takes time. */
export const FRESH_ENOUGH_MS = 30_000;
/** How long before its end a token is renewed, at most; the third part of its life where that is less. */
export const REFRESH_AHEAD_MS = 5 * 60_000;

/** `due`: good for now, and time to renew it. `stale`: must not be handed out. */
export type TokenFreshness = 'fresh' | 'due' | 'stale';

export function tokenFreshness(
  { accessTokenExpiresAt, updatedAt }: Pick<Connection, 'accessTokenExpiresAt' | 'updatedAt'>,
  now: number,
): TokenFreshness {
  if (accessTokenExpiresAt === undefined) return 'fresh';
  // The two are of different clocks: one that is behind must not make a token fresh that is over.
  const lifetime = Math.max(0, accessTokenExpiresAt - updatedAt);
  const left = accessTokenExpiresAt - now;
  // Of a token that lives for a minute, half a minute would be too much to leave unused.
  if (left <= Math.min(FRESH_ENOUGH_MS, lifetime / 6)) return 'stale';
  return left <= Math.min(REFRESH_AHEAD_MS, lifetime / 3) ? 'due' : 'fresh';
}

/** Whether a tool that needs these scopes can use the connection without asking anybody. */
export function serves(connection: Connection, scopes: readonly string[], now: number): boolean {
  if (connection.lost !== undefined || !covers(connection.scopes, scopes)) return false;
  return connection.refreshable || tokenFreshness(connection, now) !== 'stale';
}

export function covers(granted: readonly string[], needed: readonly string[]): boolean {
  return needed.every(scope => granted.includes(scope));
}

/** Why the person of a connection that does not serve is asked again. */
export type ReconnectReason = LossReason | 'expired' | 'more_scopes';

/** Undefined when it serves. */
export function reconnectReason(
  connection: Connection,
  scopes: readonly string[],
  now: number,
): ReconnectReason | undefined {
  if (connection.lost !== undefined) return connection.lost.reason;
  if (!connection.refreshable && tokenFreshness(connection, now) === 'stale') return 'expired';
  return covers(connection.scopes, scopes) ? undefined : 'more_scopes';
}
