import type { ElicitationBody, OutcomeBody } from '@postern/api';
import {
  type Approval,
  type Connection,
  type Credential,
  type Elicitation,
  isTerminal,
  matchCodeOf,
  type Outcome,
} from '@postern/elicitation';
import { elicitationUrl } from '../platform/http/public-urls.ts';

const iso = (epochMs: number): string => new Date(epochMs).toISOString();

/** Creates the API bodies of elicitations. They never contain the subject or sealed values. */
export function createPresenter(p: { publicUrl: string; providers: readonly { name: string; displayName: string }[] }) {
  const names = new Map(p.providers.map(({ name, displayName }) => [name, displayName]));
  const authorizationOf = (provider: string) => ({ provider, providerName: names.get(provider) ?? provider });
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
      message: elicitation.message,
      ...(elicitation.request.kind === 'authorization'
        ? { authorization: authorizationOf(elicitation.request.provider) }
        : {}),
      createdAt: iso(elicitation.createdAt),
      expiresAt: iso(elicitation.expiresAt),
      ...(isTerminal(elicitation) ? { endedAt: iso(elicitation.endedAt) } : {}),
      ...(elicitation.status === 'completed' ? { outcome: presentOutcome(elicitation.outcome) } : {}),
      ...(elicitation.status === 'completed' && elicitation.redeemedAt !== undefined
        ? { redeemedAt: iso(elicitation.redeemedAt) }
        : {}),
      ...(elicitation.status === 'failed' ? { failure: { code: elicitation.failure } } : {}),
    }),

    /** The existing connection as the completed elicitation that created it. */
    existingConnection: (connection: Connection): ElicitationBody => ({
      elicitationId: connection.elicitationId,
      kind: 'authorization',
      status: 'completed',
      ...addressOf(connection.elicitationId),
      authorization: authorizationOf(connection.provider),
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

    /** The existing credential as the completed elicitation that created it. */
    existingCredential: ({ elicitationId, credentialId, name, createdAt, updatedAt }: Credential): ElicitationBody => ({
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

/** Omits the passkey, which is private to the user. */
function presentApproval({ method, identity, at, authTime, passkeyAddedAt, language }: Approval) {
  return {
    method,
    identity,
    at: iso(at),
    authTime: authTime === undefined ? undefined : iso(authTime),
    passkeyAddedAt: passkeyAddedAt === undefined ? undefined : iso(passkeyAddedAt),
    language,
  };
}
