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
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { elicitationUrl } from '../platform/http/public-urls.ts';

const iso = (epochMs: number): string => new Date(epochMs).toISOString();

/** Creates the API bodies of elicitations. They never contain the subject or sealed values. */
export class Presenter {
  readonly #publicUrl: string;
  /** Display names of the providers. */
  readonly #names: ReadonlyMap<string, string>;

  constructor(config: Pick<GatewayConfig, 'publicUrl' | 'providers'>) {
    this.#publicUrl = config.publicUrl;
    this.#names = new Map(config.providers.map(({ name, displayName }) => [name, displayName]));
  }

  elicitation(elicitation: Elicitation): ElicitationBody {
    return {
      elicitationId: elicitation.elicitationId,
      kind: elicitation.request.kind,
      status: elicitation.status,
      ...this.#addressOf(elicitation.elicitationId),
      message: elicitation.message,
      ...(elicitation.request.kind === 'authorization'
        ? { authorization: this.#authorizationOf(elicitation.request.provider) }
        : {}),
      createdAt: iso(elicitation.createdAt),
      expiresAt: iso(elicitation.expiresAt),
      ...(isTerminal(elicitation) ? { endedAt: iso(elicitation.endedAt) } : {}),
      ...(elicitation.status === 'completed' ? { outcome: presentOutcome(elicitation.outcome) } : {}),
      ...(elicitation.status === 'completed' && elicitation.redeemedAt !== undefined
        ? { redeemedAt: iso(elicitation.redeemedAt) }
        : {}),
      ...(elicitation.status === 'failed' ? { failure: { code: elicitation.failure } } : {}),
    };
  }

  /** The existing connection as the completed elicitation that created it. */
  existingConnection(connection: Connection): ElicitationBody {
    return {
      elicitationId: connection.elicitationId,
      kind: 'authorization',
      status: 'completed',
      ...this.#addressOf(connection.elicitationId),
      authorization: this.#authorizationOf(connection.provider),
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

  /** The existing credential as the completed elicitation that created it. */
  existingCredential({ elicitationId, credentialId, name, createdAt, updatedAt }: Credential): ElicitationBody {
    return {
      elicitationId,
      kind: 'credential',
      status: 'completed',
      ...this.#addressOf(elicitationId),
      createdAt: iso(createdAt),
      expiresAt: iso(updatedAt),
      endedAt: iso(updatedAt),
      outcome: { kind: 'credential', name, credentialId },
    };
  }

  #authorizationOf(provider: string) {
    return { provider, providerName: this.#names.get(provider) ?? provider };
  }

  #addressOf(elicitationId: Elicitation['elicitationId']) {
    return { url: elicitationUrl(this.#publicUrl, elicitationId), matchCode: matchCodeOf(elicitationId) };
  }
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
