import type { ConnectionBody, ElicitationBody } from '@postern/api';
import { type Connection, type Elicitation, isTerminal, matchCodeOf, serves } from '@postern/elicitation';

const iso = (epochMs: number): string => new Date(epochMs).toISOString();

export function elicitationUrl(publicUrl: string, elicitationId: string): string {
  return `${publicUrl}/e/${elicitationId}`;
}

/** Elicitations as MCP servers see them: never the subject, never anything sealed. */
export function createPresenter(p: { publicUrl: string; providers: readonly { name: string; displayName: string }[] }) {
  const names = new Map(p.providers.map(({ name, displayName }) => [name, displayName]));
  const asked = (provider: string) => ({ provider, providerName: names.get(provider) ?? provider });

  return {
    elicitation: (elicitation: Elicitation): ElicitationBody => ({
      elicitationId: elicitation.elicitationId,
      kind: elicitation.request.kind,
      status: elicitation.status,
      url: elicitationUrl(p.publicUrl, elicitation.elicitationId),
      matchCode: matchCodeOf(elicitation.elicitationId),
      ...(elicitation.message === undefined ? {} : { message: elicitation.message }),
      authorization: asked(elicitation.request.provider),
      createdAt: iso(elicitation.createdAt),
      expiresAt: iso(elicitation.expiresAt),
      ...(isTerminal(elicitation) ? { endedAt: iso(elicitation.endedAt) } : {}),
      ...(elicitation.status === 'completed'
        ? { outcome: { ...elicitation.outcome, scopes: [...elicitation.outcome.scopes] } }
        : {}),
      ...(elicitation.status === 'failed' ? { failure: { code: elicitation.failure } } : {}),
    }),

    /** A connection that already answers an ask, in the shape of the elicitation that once brought it. */
    served: (connection: Connection): ElicitationBody => ({
      elicitationId: connection.elicitationId,
      kind: 'authorization',
      status: 'completed',
      url: elicitationUrl(p.publicUrl, connection.elicitationId),
      matchCode: matchCodeOf(connection.elicitationId),
      authorization: asked(connection.provider),
      createdAt: iso(connection.createdAt),
      expiresAt: iso(connection.updatedAt),
      endedAt: iso(connection.updatedAt),
      outcome: {
        kind: 'authorization',
        connectionId: connection.connectionId,
        provider: connection.provider,
        scopes: [...connection.scopes],
      },
    }),
  };
}

export function presentConnection(connection: Connection, now: number): ConnectionBody {
  return {
    connectionId: connection.connectionId,
    provider: connection.provider,
    ...(connection.resource === undefined ? {} : { resource: connection.resource }),
    scopes: [...connection.scopes],
    ...(connection.account === undefined ? {} : { account: connection.account }),
    status: serves(connection, [], now) ? 'usable' : 'reauthorization_required',
    createdAt: iso(connection.createdAt),
    updatedAt: iso(connection.updatedAt),
    ...(connection.lastUse === undefined ? {} : { lastUsedAt: iso(connection.lastUse.at) }),
  };
}
