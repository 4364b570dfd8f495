import type { RECORD_LAYOUT } from './elicitation.ts';
import type { ConnectionId, ElicitationId } from './ids.ts';
import type { Subject } from './subject.ts';

/** A subject's stored authorization at a provider, owned by one MCP server or by a group the operator declared. */
export interface Connection {
  readonly layout: typeof RECORD_LAYOUT;
  readonly connectionId: ConnectionId;
  /** Counts token sets, starting at 1. */
  readonly generation: number;
  readonly owner: string;
  readonly subject: Subject;
  readonly provider: string;
  readonly resource?: string;
  /** Granted by the provider; sorted. */
  readonly scopes: readonly string[];
  readonly account?: { readonly id: string; readonly name?: string };
  /** The token set, sealed by the vault before it comes here. */
  readonly sealedTokens: string;
  readonly accessTokenExpiresAt?: number;
  /** The elicitation that brought it. */
  readonly elicitationId: ElicitationId;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** A token this close to its end is not worth handing out: clocks differ and the call it is for takes time. */
export const FRESH_ENOUGH_MS = 30_000;

export function hasFreshToken(connection: Connection, now: number): boolean {
  return connection.accessTokenExpiresAt === undefined || connection.accessTokenExpiresAt - FRESH_ENOUGH_MS > now;
}

/** Whether a tool that needs these scopes can use the connection without asking anybody. */
export function serves(connection: Connection, scopes: readonly string[], now: number): boolean {
  return scopes.every(scope => connection.scopes.includes(scope)) && hasFreshToken(connection, now);
}
