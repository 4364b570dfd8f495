import type { ConnectionBody, CredentialBody, ElicitationBody, OutcomeBody } from '@postern/api';
import {
  type Approval,
  type Connection,
  type Credential,
  type Elicitation,
  generationNumber,
  isTerminal,
  matchCodeOf,
  type Outcome,
  serves,
} from '@postern/elicitation';

const iso = (epochMs: number): string => new Date(epochMs).toISOString();

export function elicitationUrl(publicUrl: string, elicitationId: string): string {
  return `${publicUrl}/e/${elicitationId}`;
}

/** Elicitations as MCP servers see them: never the subject, never anything sealed. */
export function createPresenter(p: { publicUrl: string; providers: readonly { name: string; displayName: string }[] }) {
  const names = new Map(p.providers.map(({ name, displayName }) => [name, displayName]));
  const asked = (provider: string) => ({ provider, providerName: names.get(provider) ?? provider });
  const addressOf = (elicitationId: Elicitation['elicitationId']) => ({
    url: elicitationUrl(p.publicUrl, elicitationId),
    matchCode: matchCodeOf(elicitationId),
  });

  return {
    elicitation: (elicitation: Elicitation): ElicitationBody => ({
      elicitationId: elicitation.elicitationId,
      kind: elicitation.request.kind,
      status: elicitation.status,
      ...addressOf(elicitation.elicitationId),
      ...(elicitation.message === undefined ? {} : { message: elicitation.message }),
      ...(elicitation.request.kind === 'authorization' ? { authorization: asked(elicitation.request.provider) } : {}),
      createdAt: iso(elicitation.createdAt),
      expiresAt: iso(elicitation.expiresAt),
      ...(isTerminal(elicitation) ? { endedAt: iso(elicitation.endedAt) } : {}),
      ...(elicitation.status === 'completed' ? { outcome: presentOutcome(elicitation.outcome) } : {}),
      ...(elicitation.status === 'completed' && elicitation.redeemedAt !== undefined
        ? { redeemedAt: iso(elicitation.redeemedAt) }
        : {}),
      ...(elicitation.status === 'failed' ? { failure: { code: elicitation.failure } } : {}),
    }),

    /** A connection that already answers an ask, in the shape of the elicitation that once brought it. */
    served: (connection: Connection): ElicitationBody => ({
      elicitationId: connection.elicitationId,
      kind: 'authorization',
      status: 'completed',
      ...addressOf(connection.elicitationId),
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

    /** Likewise, a lasting credential. */
    kept: ({ elicitationId, credentialId, name, createdAt, updatedAt }: Credential): ElicitationBody => ({
      elicitationId,
      kind: 'credential',
      status: 'completed',
      ...addressOf(elicitationId),
      createdAt: iso(createdAt),
      expiresAt: iso(updatedAt),
      endedAt: iso(updatedAt),
      outcome: { kind: 'credential', name, credentialId },
    }),
  };
}

function presentOutcome(outcome: Outcome): OutcomeBody {
  switch (outcome.kind) {
    case 'authorization':
      return { ...outcome, scopes: [...outcome.scopes] };
    case 'payment':
    case 'confirmation':
      return { ...outcome, approval: presentApproval(outcome.approval) };
    default:
      return { ...outcome };
  }
}

/** Which passkey it was is the person's own business. */
function presentApproval({ method, identity, at, authTime, passkeyAddedAt }: Approval) {
  return {
    ...{ method, identity, at: iso(at) },
    ...(authTime === undefined ? {} : { authTime: iso(authTime) }),
    ...(passkeyAddedAt === undefined ? {} : { passkeyAddedAt: iso(passkeyAddedAt) }),
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

export function presentCredential(credential: Credential): CredentialBody {
  return {
    credentialId: credential.credentialId,
    name: credential.name,
    fields: [...credential.fields],
    generation: generationNumber(credential),
    createdAt: iso(credential.createdAt),
    updatedAt: iso(credential.updatedAt),
    ...(credential.lastUse === undefined ? {} : { lastUsedAt: iso(credential.lastUse.at) }),
  };
}
