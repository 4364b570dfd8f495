import { allEvents, eventsOf } from '@postern/testkit/contract';
import type { ConnectionStore } from '../connection.ts';
import type { AuditEvent, Elicitation, ElicitationStatus } from '../elicitation.ts';
import { createElicitationService, type IssueElicitation } from '../elicitation-service.ts';
import type { ElicitationStore } from '../elicitation-store.ts';
import { digestOf, type Entropy, systemEntropy } from '../ids.ts';
import type { McpServer } from '../mcp-server.ts';
import type { Visitor } from '../same-person-check.ts';
import type { EventLog } from '../stores.ts';
import type { Notifier } from '../waiters.ts';
import { alice, connectionFor, mcpServer, oneTime, scopesOf, signedIn, TTL_MS } from './samples.ts';

/** The ports of the service, passed in because this package does not know their implementations. */
export interface BenchStores {
  readonly elicitations: ElicitationStore;
  readonly connections: ConnectionStore;
  readonly notifier: Notifier;
  readonly events: EventLog;
}

export interface BenchClock {
  readonly now: () => number;
  set(epochMs: number): void;
}

/** A service under test, with its audit events and a way to bring an elicitation into any status. */
export function createServiceBench<S extends BenchStores, C extends BenchClock>(
  stores: S,
  clock: C,
  entropy: Entropy = systemEntropy,
) {
  const audits: AuditEvent[] = [];
  const service = createElicitationService({
    ...stores,
    providers: name => (name === 'github' ? { defaultScopes: ['repo', 'read:user'] } : undefined),
    audit: event => audits.push(event),
    entropy,
    now: clock.now,
  });

  function issue(server: McpServer = mcpServer(), change: Partial<IssueElicitation> = {}) {
    const request = { kind: 'authorization', provider: 'github', scopes: ['repo'] } as const;
    return service.issue(server, { subject: alice, request, ttlMs: TTL_MS, ...change });
  }

  /** An elicitation that its user has not decided on. */
  async function pending(server?: McpServer, change?: Partial<IssueElicitation>): Promise<Elicitation> {
    const issued = await issue(server, change);
    if (issued.disposition !== 'created') throw new Error(`Expected a new elicitation, got ${issued.disposition}.`);
    return issued.elicitation;
  }

  /** Uses the verbs, with the attempt named `attempt` if there is one; advances the clock for `expired`. */
  async function at(status: ElicitationStatus, server = mcpServer(), visitor: Visitor = signedIn(alice)) {
    const elicitation = await pending(server);
    const { elicitationId: id } = elicitation;
    if (status === 'pending') return elicitation;
    if (status === 'cancelled') return service.cancel(server, id);
    if (status === 'declined') return service.decline(id, visitor);
    if (status === 'expired') {
      clock.set(elicitation.expiresAt);
      return service.expire(id);
    }
    const transaction = oneTime(id, status === 'verifying' ? 'started' : 'attempt');
    const active = await service.accept(id, visitor, transaction, scopesOf(elicitation));
    if (status === 'verifying') return service.hold(id, digestOf('started'), oneTime(id, 'attempt'));
    if (status === 'completed') return service.complete(id, digestOf('attempt'), connectionFor(active));
    if (status === 'failed') return service.fail(id, digestOf('attempt'), 'provider_refused');
    return active;
  }

  /** The types of the events of an elicitation, oldest first. */
  const announced = async (of: Pick<Elicitation, 'elicitationId'>) =>
    (await eventsOf(stores, of)).map(event => event.type);
  const allAnnounced = () => allEvents(stores);

  /** Runs it and returns the audit events that it caused. */
  async function audited(run: () => Promise<unknown>): Promise<readonly AuditEvent[]> {
    const before = audits.length;
    await run();
    return audits.slice(before);
  }

  return { stores, clock, service, audits, issue, pending, at, announced, allAnnounced, audited };
}

/** The attempt digest that `at` uses. */
export const ATTEMPT = digestOf('attempt');
