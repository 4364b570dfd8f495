import type { ConnectionBody, ElicitationBody } from '@postern/api';
import { type Connection, type Elicitation, isTerminal, matchCodeOf } from '@postern/elicitation';

const iso = (epochMs: number): string => new Date(epochMs).toISOString();

export function elicitationUrl(publicUrl: string, elicitationId: string): string {
  return `${publicUrl}/e/${elicitationId}`;
}

/** What an MCP server may know of an elicitation: never the subject, never anything sealed. */
export function presentElicitation(elicitation: Elicitation, publicUrl: string): ElicitationBody {
  return {
    elicitationId: elicitation.elicitationId,
    kind: elicitation.request.kind,
    status: elicitation.status,
    url: elicitationUrl(publicUrl, elicitation.elicitationId),
    matchCode: matchCodeOf(elicitation.elicitationId),
    ...(elicitation.message === undefined ? {} : { message: elicitation.message }),
    createdAt: iso(elicitation.createdAt),
    expiresAt: iso(elicitation.expiresAt),
    ...(isTerminal(elicitation) ? { endedAt: iso(elicitation.endedAt) } : {}),
    ...(elicitation.status === 'completed'
      ? { outcome: { ...elicitation.outcome, scopes: [...elicitation.outcome.scopes] } }
      : {}),
    ...(elicitation.status === 'failed' ? { failure: { code: elicitation.failure } } : {}),
  };
}

/** A connection that already answers an ask, in the shape of the elicitation that once brought it. */
export function presentConnectionAsElicitation(connection: Connection, publicUrl: string): ElicitationBody {
  return {
    elicitationId: connection.elicitationId,
    kind: 'authorization',
    status: 'completed',
    url: elicitationUrl(publicUrl, connection.elicitationId),
    matchCode: matchCodeOf(connection.elicitationId),
    createdAt: iso(connection.createdAt),
    expiresAt: iso(connection.updatedAt),
    endedAt: iso(connection.updatedAt),
    outcome: {
      kind: 'authorization',
      connectionId: connection.connectionId,
      provider: connection.provider,
      scopes: [...connection.scopes],
    },
  };
}

export function presentConnection(connection: Connection): ConnectionBody {
  return {
    connectionId: connection.connectionId,
    provider: connection.provider,
    ...(connection.resource === undefined ? {} : { resource: connection.resource }),
    scopes: [...connection.scopes],
    ...(connection.account === undefined ? {} : { account: connection.account }),
    createdAt: iso(connection.createdAt),
    updatedAt: iso(connection.updatedAt),
  };
}
