import { type Audit, about } from './audit.ts';
import { type Connection, serves } from './connection.ts';
import type { Elicitation, ElicitationRequest, FailureCode, RequestedBy, Trouble } from './elicitation.ts';
import { isTerminal } from './elicitation.ts';
import {
  AlreadyEndedError,
  DomainError,
  IllegalTransitionError,
  NotFoundError,
  TooManyElicitationsError,
  WrongPersonError,
} from './errors.ts';
import {
  connectionIdOf,
  digestOf,
  type ElicitationId,
  type Entropy,
  newElicitationId,
  newOperationId,
  shardOf,
} from './ids.ts';
import type { McpServer, ProviderFacts } from './mcp-server.ts';
import type {
  Clock,
  ConnectionStore,
  ElicitationStore,
  NewConnection,
  Notifier,
  OneTimeRecord,
  TransitionElicitation,
} from './ports.ts';
import type { Subject } from './subject.ts';
import { isSamePerson, type Visitor } from './visitor.ts';

export interface ElicitationServiceDeps {
  readonly elicitations: ElicitationStore;
  readonly connections: ConnectionStore;
  readonly notifier: Notifier;
  readonly providers: (name: string) => ProviderFacts | undefined;
  readonly audit: Audit;
  readonly entropy: Entropy;
  readonly now: Clock;
}

export interface IssueElicitation {
  readonly subject: Subject;
  readonly request: Omit<ElicitationRequest, 'scopes'> & { readonly scopes?: readonly string[] };
  readonly message?: string;
  readonly requestedBy?: RequestedBy;
  readonly ttlMs: number;
  readonly returnUrl?: string;
  /** Reserved by an idempotent caller, so that a repeat meets the same elicitation. */
  readonly reservation?: { readonly elicitationId: ElicitationId; readonly operationId: string };
}

export type Issued =
  | { readonly disposition: 'created' | 'open'; readonly elicitation: Elicitation }
  /** A connection already serves; nobody is asked. */
  | { readonly disposition: 'served'; readonly connection: Connection };

export interface OneTime {
  readonly record: OneTimeRecord;
  readonly ttlMs: number;
}

type Move = Pick<TransitionElicitation, 'events' | 'next' | 'putOneTime' | 'putConnection'>;

/** Enough for any honest race; more means that something is wrong. */
const MAX_TRIES = 8;

/**
 * The verbs of the domain. Each decides on what it read and commits against exactly that version; when another move came
 * first it decides again. Nothing here trusts that a status still is what it was a moment ago.
 */
export function createElicitationService(deps: ElicitationServiceDeps) {
  const { elicitations, audit, entropy } = deps;

  async function move(
    elicitationId: ElicitationId,
    decide: (current: Elicitation) => Move | undefined,
  ): Promise<Elicitation> {
    const operationId = newOperationId(entropy);
    let current = await elicitations.read(elicitationId);
    for (let attempt = 0; attempt < MAX_TRIES; attempt += 1) {
      if (current === undefined) throw new NotFoundError();
      const decided = decide(current);
      if (decided === undefined) return current;
      const result = await elicitations.transition({ current, operationId: `${operationId}${attempt}`, ...decided });
      if (result.result === 'applied') return result.elicitation;
      if (result.result === 'missing') throw new NotFoundError();
      if (result.result === 'untimely' && decided.events.includes('expire')) return result.current;
      current = result.result === 'untimely' ? await expire(elicitationId) : result.current;
    }
    throw new DomainError('contention', 'The elicitation is changing too fast.');
  }

  /** @throws AlreadyEndedError, IllegalTransitionError unless a person can still decide. */
  function assertUndecided(
    current: Elicitation,
    verb: string,
  ): asserts current is Elicitation & { status: 'pending' | 'active' } {
    if (isTerminal(current)) throw new AlreadyEndedError(current.status);
    if (current.status === 'verifying') throw new IllegalTransitionError(current.status, verb);
  }

  /** The attempt that an answer belongs to must be the one in progress; anything else is stale. */
  function assertAttempt(current: Elicitation, attempt: string, verb: string): void {
    if (isTerminal(current)) throw new AlreadyEndedError(current.status);
    if (current.status === 'pending' || current.attempt !== attempt)
      throw new IllegalTransitionError(current.status, verb);
  }

  function assertSamePerson(current: Elicitation, visitor: Visitor): void {
    if (isSamePerson(current, visitor)) return;
    audit({
      type: 'wrong_person',
      ...about(current),
      ...(visitor.kind === 'signed_in' ? { visitor: visitor.subject } : {}),
    });
    throw new WrongPersonError();
  }

  async function expire(elicitationId: ElicitationId): Promise<Elicitation> {
    let expired = false;
    const elicitation = await move(elicitationId, current => {
      expired = false;
      if (isTerminal(current)) return undefined;
      expired = true;
      if (current.status === 'verifying')
        return { events: ['fail'], next: { status: 'failed', failure: 'verification_expired' } };
      return { events: ['expire'], next: { status: 'expired' } };
    });
    if (expired && elicitation.status === 'expired') audit({ type: 'expired', ...about(elicitation) });
    if (expired && elicitation.status === 'failed')
      audit({ type: 'failed', failure: elicitation.failure, ...about(elicitation) });
    return elicitation;
  }

  return {
    /**
     * Issues an elicitation, or finds the open one for the same ask, or the connection that already answers it.
     * @throws DomainError `kind_not_allowed`, `provider_not_allowed`, `issuer_not_allowed`, `return_url_not_registered`,
     * `unknown_provider`; TooManyElicitationsError.
     */
    async issue(mcpServer: McpServer, input: IssueElicitation): Promise<Issued> {
      const request = permitted(mcpServer, input, deps.providers);
      const shard = shardOf(input.subject);
      const connectionId = connectionIdOf({
        owner: mcpServer.connectionOwner,
        subject: input.subject,
        provider: request.provider,
        resource: request.resource,
      });
      const elicitationId = input.reservation?.elicitationId ?? newElicitationId(shard, entropy);
      const operationId = input.reservation?.operationId ?? newOperationId(entropy);
      let seen: { openId?: ElicitationId; connectionGeneration?: number } = {};
      for (let attempt = 0; attempt < MAX_TRIES; attempt += 1) {
        const created = await elicitations.create({
          elicitation: {
            elicitationId,
            mcpServerId: mcpServer.mcpServerId,
            identityMode: mcpServer.identityMode,
            subject: input.subject,
            request,
            ...(input.message === undefined ? {} : { message: input.message }),
            ...(input.requestedBy === undefined ? {} : { requestedBy: input.requestedBy }),
            ...(input.returnUrl === undefined ? {} : { returnUrl: input.returnUrl }),
          },
          ttlMs: Math.min(input.ttlMs, mcpServer.limits.maxTtlMs),
          operationId,
          coalescingDigest: digestOf(
            JSON.stringify([mcpServer.mcpServerId, input.subject.issuer, input.subject.subject, request]),
          ),
          connectionId,
          seen,
          subjectLimit: { max: mcpServer.limits.subjectMax, windowMs: mcpServer.limits.subjectWindowMs },
        });
        switch (created.result) {
          case 'created':
            audit({ type: 'issued', ...about(created.elicitation) });
            return { disposition: 'created', elicitation: created.elicitation };
          case 'connected': {
            const fits =
              request.expectedAccount === undefined || created.connection.account?.id === request.expectedAccount;
            if (fits && serves(created.connection, request.scopes, deps.now()))
              return { disposition: 'served', connection: created.connection };
            seen = { ...seen, connectionGeneration: created.connection.generation };
            break;
          }
          case 'open': {
            const elicitation = await elicitations.read(created.elicitationId);
            if (elicitation !== undefined && !isTerminal(elicitation)) return { disposition: 'open', elicitation };
            seen = { ...seen, openId: created.elicitationId };
            break;
          }
          case 'limited':
            throw new TooManyElicitationsError(created.retryAfterMs);
        }
      }
      throw new DomainError('contention', 'The elicitation is changing too fast.');
    },

    /** @throws NotFoundError for unknown ids and for those of another MCP server, alike. */
    async read(mcpServer: Pick<McpServer, 'mcpServerId'>, elicitationId: ElicitationId): Promise<Elicitation> {
      const elicitation = await elicitations.read(elicitationId);
      if (elicitation?.mcpServerId !== mcpServer.mcpServerId) throw new NotFoundError();
      return elicitation;
    },

    /**
     * Reads until the status is terminal, `timeoutMs` is over or the caller has gone. Registers for wake-ups before the
     * first read, so a change in between is not lost.
     */
    async wait(
      mcpServer: Pick<McpServer, 'mcpServerId'>,
      elicitationId: ElicitationId,
      timeoutMs: number,
      signal?: AbortSignal,
    ): Promise<Elicitation> {
      const deadline = deps.now() + timeoutMs;
      using watch = deps.notifier.watch(elicitationId);
      while (true) {
        const elicitation = await this.read(mcpServer, elicitationId);
        const left = deadline - deps.now();
        if (isTerminal(elicitation) || left <= 0 || signal?.aborted === true) return elicitation;
        await watch.next(left, signal);
      }
    },

    /** Check 1: what a page may show. Changes nothing. @throws NotFoundError, WrongPersonError */
    async open(elicitationId: ElicitationId, visitor: Visitor): Promise<Elicitation> {
      const elicitation = await elicitations.read(elicitationId);
      if (elicitation === undefined) throw new NotFoundError();
      assertSamePerson(elicitation, visitor);
      return elicitation;
    },

    /** For routes that must know how to sign the visitor in, before anything is shown. Changes nothing. */
    find(elicitationId: ElicitationId): Promise<Elicitation | undefined> {
      return elicitations.read(elicitationId);
    },

    /**
     * Check 2: the person agrees and an attempt begins. A second acceptance replaces the attempt in progress, so only the
     * newest can end the elicitation.
     * @throws NotFoundError, WrongPersonError, AlreadyEndedError, IllegalTransitionError
     */
    async accept(elicitationId: ElicitationId, visitor: Visitor, transaction: OneTime): Promise<Elicitation> {
      const elicitation = await move(elicitationId, current => {
        assertSamePerson(current, visitor);
        assertUndecided(current, 'accept');
        return {
          events: current.status === 'pending' ? ['engage'] : ['retry', 'engage'],
          next: { status: 'active', attempt: transaction.record.digest },
          putOneTime: transaction,
        };
      });
      audit({ type: 'accepted', ...about(elicitation) });
      return elicitation;
    },

    /** @throws NotFoundError, WrongPersonError, AlreadyEndedError, IllegalTransitionError */
    async decline(elicitationId: ElicitationId, visitor: Visitor): Promise<Elicitation> {
      const elicitation = await move(elicitationId, current => {
        assertSamePerson(current, visitor);
        if (current.status === 'declined') return undefined;
        assertUndecided(current, 'decline');
        return {
          events: current.status === 'pending' ? ['engage', 'decline'] : ['decline'],
          next: { status: 'declined' },
        };
      });
      audit({ type: 'declined', ...about(elicitation) });
      return elicitation;
    },

    /** The attempt came to nothing and the person may try again. @throws AlreadyEndedError, IllegalTransitionError (stale attempt) */
    async retry(elicitationId: ElicitationId, attempt: string, trouble: Trouble): Promise<Elicitation> {
      const elicitation = await move(elicitationId, current => {
        assertAttempt(current, attempt, 'retry');
        return { events: ['retry'], next: { status: 'pending', trouble } };
      });
      audit({ type: 'returned', trouble, ...about(elicitation) });
      return elicitation;
    },

    /** The provider has answered; an external verifier must say who is there before the code is used. */
    async hold(elicitationId: ElicitationId, attempt: string, verification: OneTime): Promise<Elicitation> {
      const elicitation = await move(elicitationId, current => {
        assertAttempt(current, attempt, 'hold');
        return {
          events: ['hold'],
          next: { status: 'verifying', attempt: verification.record.digest },
          putOneTime: verification,
        };
      });
      audit({ type: 'held', ...about(elicitation) });
      return elicitation;
    },

    /** Stores the connection and ends the elicitation in one commit. @throws AlreadyEndedError, IllegalTransitionError (stale attempt) */
    async complete(elicitationId: ElicitationId, attempt: string, connection: NewConnection): Promise<Elicitation> {
      const elicitation = await move(elicitationId, current => {
        assertAttempt(current, attempt, 'complete');
        return {
          events: ['complete'],
          next: {
            status: 'completed',
            outcome: {
              kind: 'authorization',
              connectionId: connection.connectionId,
              provider: connection.provider,
              scopes: connection.scopes,
            },
          },
          putConnection: connection,
        };
      });
      audit({ type: 'completed', ...about(elicitation) });
      return elicitation;
    },

    async fail(elicitationId: ElicitationId, attempt: string, failure: FailureCode): Promise<Elicitation> {
      const elicitation = await move(elicitationId, current => {
        assertAttempt(current, attempt, 'fail');
        return { events: ['fail'], next: { status: 'failed', failure } };
      });
      audit({ type: 'failed', failure, ...about(elicitation) });
      return elicitation;
    },

    /** @throws NotFoundError, AlreadyEndedError, IllegalTransitionError (an answer is being verified) */
    async cancel(mcpServer: Pick<McpServer, 'mcpServerId'>, elicitationId: ElicitationId): Promise<Elicitation> {
      const elicitation = await move(elicitationId, current => {
        if (current.mcpServerId !== mcpServer.mcpServerId) throw new NotFoundError();
        if (current.status === 'cancelled') return undefined;
        assertUndecided(current, 'cancel');
        return { events: ['cancel'], next: { status: 'cancelled' } };
      });
      audit({ type: 'cancelled', ...about(elicitation) });
      return elicitation;
    },

    /** Ends an elicitation whose time is over; any number of replicas may call it. A no-op before its time or after its end. */
    expire,

    /** Records and refuses a person who is not the subject, where the check happens outside these verbs. */
    assertSamePerson,
  };
}

export type ElicitationService = ReturnType<typeof createElicitationService>;

function permitted(
  mcpServer: McpServer,
  input: IssueElicitation,
  providers: ElicitationServiceDeps['providers'],
): ElicitationRequest {
  const { request } = input;
  if (!mcpServer.kinds.includes(request.kind))
    throw new DomainError('kind_not_allowed', 'This MCP server may not issue this kind.');
  if (!mcpServer.issuers.includes(input.subject.issuer)) {
    throw new DomainError('issuer_not_allowed', 'This MCP server may not name users of this issuer.');
  }
  if (input.returnUrl !== undefined && !mcpServer.returnUrls.includes(input.returnUrl)) {
    throw new DomainError('return_url_not_registered', 'The return URL is not registered for this MCP server.');
  }
  if (!mcpServer.providers.includes(request.provider)) {
    throw new DomainError('provider_not_allowed', 'This MCP server may not use this provider.');
  }
  const provider = providers(request.provider);
  if (provider === undefined) throw new DomainError('unknown_provider', 'The provider is not configured.');
  return { ...request, scopes: [...new Set(request.scopes ?? provider.defaultScopes)].sort() };
}
