import type { AuthorizationError } from '@postern/authorization';
import type { Clock, Connection, Subject } from '@postern/elicitation';
import type { AuditLog } from '../platform/audit/audit-events.ts';

const HOUR_MS = 60 * 60_000;
/** Refused users from which on the provider is suspected instead of their grants. */
const MANY_USERS = 3;
/** Maximum number of users, and of connections with an unclear answer, that a process remembers per provider. */
const MAX_REMEMBERED = 10_000;

interface Remembered {
  /** The last answer to each user of the last hour, oldest first. */
  readonly users: Map<string, { readonly at: number; readonly isRefusal: boolean }>;
  /** When each connection first got an answer that may refuse the client instead of the grant. */
  readonly unclear: Map<string, number>;
  acceptedAt: number;
  /** The same by client id: remote MCP servers of one provider have a client for each MCP server. */
  readonly acceptedClients: Map<string, number>;
  /** The last alarm by fault. */
  readonly alarms: Map<Fault, number>;
}

/** Who has to act so that refreshes succeed again. */
export type Fault = 'operator' | 'provider';

export interface ProviderAnswers {
  /** The provider refreshed tokens of this client. Exchanges of codes do not count: they say nothing about refreshes. */
  accepted(connection: Connection, clientId: string): void;
  /**
   * Records a failed refresh. Raises an alarm if not the grant is at fault. Returns whether the answer refuses this grant.
   * @param clientId undefined if it is not recorded: then an answer to any client counts
   */
  failed(
    connection: Connection,
    clientId: string | undefined,
    error: Pick<AuthorizationError, 'code' | 'providerError' | 'refuses'>,
  ): boolean;
  /** Whether the provider refuses so many users that no refusal says anything about a grant. */
  isSuspect(provider: string): boolean;
}

/**
 * Distinguishes a grant that has ended from a provider, or a client registration, that is at fault for all users.
 *
 * Kept per process, not in Redis. A process that knows fewer users than the deployment suspects the provider later, by two users at
 * most. What it has seen can only keep a grant: it never counts as a refusal of another connection, and a process without memory
 * takes an unclear answer as one about the client.
 */
export function createProviderAnswers({ auditLog, now }: { auditLog: AuditLog; now: Clock }): ProviderAnswers {
  const providers = new Map<string, Remembered>();
  const keyOf = ({ issuer, subject }: Subject) => JSON.stringify([issuer, subject]);

  function of(provider: string): Remembered {
    const known = providers.get(provider) ?? {
      users: new Map(),
      unclear: new Map(),
      acceptedAt: -Infinity,
      acceptedClients: new Map(),
      alarms: new Map(),
    };
    providers.set(provider, known);
    return known;
  }

  function note({ users }: Remembered, subject: Subject, isRefusal: boolean): void {
    users.delete(keyOf(subject));
    users.set(keyOf(subject), { at: now(), isRefusal });
    for (const [user, { at }] of users) {
      if (at > now() - HOUR_MS && users.size <= MAX_REMEMBERED) break;
      users.delete(user);
    }
  }

  function isSuspect(provider: string): boolean {
    const { users, acceptedAt } = of(provider);
    const recent = [...users.values()].filter(({ at }) => at > now() - HOUR_MS);
    const refused = recent.filter(({ isRefusal }) => isRefusal);
    // An outage begins in an hour of successes, so refusals in a row count as much as the majority.
    const inRow = refused.filter(({ at }) => at > acceptedAt).length;
    return inRow >= MANY_USERS || (refused.length >= MANY_USERS && refused.length * 2 > recent.length);
  }

  /** Whether the provider has refreshed tokens of the same client since its first unclear answer to this connection. */
  function areOthersAccepted(known: Remembered, connectionId: string, clientId: string | undefined): boolean {
    const { unclear, acceptedAt, acceptedClients } = known;
    const since = unclear.get(connectionId);
    if (since !== undefined)
      return (clientId === undefined ? acceptedAt : (acceptedClients.get(clientId) ?? 0)) > since;
    const [oldest] = unclear.keys();
    if (unclear.size >= MAX_REMEMBERED && oldest !== undefined) unclear.delete(oldest);
    unclear.set(connectionId, now());
    return false;
  }

  function alarm(provider: string, fault: Fault, code: string): void {
    const { alarms } = of(provider);
    if (now() - (alarms.get(fault) ?? -Infinity) < HOUR_MS) return;
    alarms.set(fault, now());
    auditLog.record('provider.refreshes_fail', { provider, fault, code });
  }

  return {
    accepted({ provider, subject, connectionId }, clientId) {
      const known = of(provider);
      known.acceptedAt = now();
      known.acceptedClients.set(clientId, now());
      known.unclear.delete(connectionId);
      note(known, subject, false);
    },

    failed({ provider, subject, connectionId }, clientId, { code, providerError, refuses }) {
      const known = of(provider);
      const isOfGrant =
        refuses === 'grant' || (refuses === 'unclear' && areOthersAccepted(known, connectionId, clientId));
      if (isOfGrant) {
        note(known, subject, true);
        if (!isSuspect(provider)) return true;
      }
      const isOperators = refuses === 'client' || (refuses === 'unclear' && !isOfGrant);
      if (isOperators) alarm(provider, 'operator', providerError ?? code);
      else if (isOfGrant || code === 'invalid_token_response') alarm(provider, 'provider', providerError ?? code);
      return false;
    },

    isSuspect,
  };
}
