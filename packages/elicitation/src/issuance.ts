import { about } from './audit.ts';
import { type Connection, covers, serves } from './connection.ts';
import { contention, MAX_TRIES } from './contention.ts';
import { answersCredential, type Credential } from './credential.ts';
import {
  type CompletedElicitation,
  type Elicitation,
  isOfKind,
  isTerminal,
  isUnredeemed,
  type RequestedBy,
} from './elicitation.ts';
import { NotFoundError, QuotaExceededError, TooManyElicitationsError } from './errors.ts';
import {
  connectionIdOf,
  credentialIdOf,
  digestOf,
  type ElicitationId,
  type Entropy,
  newElicitationId,
  newOperationId,
  shardOf,
} from './ids.ts';
import type { McpServer, ProviderFacts } from './mcp-server.ts';
import type { Moves, MovesDeps } from './moves.ts';
import { permitted, type RequestInput } from './permitted.ts';
import type { Clock, CreateElicitation } from './ports.ts';
import type { AuthorizationRequest, CredentialRequest, ElicitationRequest } from './requests.ts';
import type { Subject } from './subject.ts';

export interface IssuanceDeps extends MovesDeps, Pick<Moves, 'move'> {
  readonly providers: (name: string) => ProviderFacts | undefined;
  readonly now: Clock;
}

export interface IssueElicitation {
  readonly subject: Subject;
  readonly request: RequestInput;
  readonly message?: string;
  readonly requestedBy?: RequestedBy;
  /** How long it stays open, in milliseconds; never longer than the MCP server's limit. */
  readonly ttlMs: number;
  readonly returnUrl?: string;
  readonly traceparent?: string;
  /** Reserved by an idempotent caller, so that a repeat meets the same elicitation. */
  readonly reservation?: { readonly elicitationId: ElicitationId; readonly operationId: string };
}

export type Issued =
  /** `created` also when a repeat met what an earlier call under the same reservation created. */
  | { readonly disposition: 'created' | 'open'; readonly elicitation: Elicitation }
  /** The person has answered the same ask already, and the result waits to be redeemed. */
  | { readonly disposition: 'answered'; readonly elicitation: CompletedElicitation }
  /** A connection already serves; nobody is asked. */
  | { readonly disposition: 'served'; readonly connection: Connection }
  /** Likewise, a lasting credential. */
  | { readonly disposition: 'kept'; readonly credential: Credential };

export function createIssuance({ elicitations, move, providers, audit, entropy, now }: IssuanceDeps) {
  /**
   * Issues an elicitation, or finds what answers the ask without asking anybody again: a connection that serves, a lasting
   * credential, or an elicitation of the same ask that is open or whose result waits to be redeemed. A call that is made again
   * meets the payment it made.
   *
   * Parallel asks for one account share one elicitation: it is widened to the scopes of all of them for as long as nobody has
   * agreed to it; afterwards what it lacks is asked for by a second one. A repeat under a reservation is audited again: nobody
   * knows whether the earlier call lived long enough to say so.
   * @throws DomainError as `permitted`, `contention`; TooManyElicitationsError; QuotaExceededError; TypeError where the digest is not that of the
   * request.
   */
  async function issue(mcpServer: McpServer, input: IssueElicitation): Promise<Issued> {
    const request = permitted(mcpServer, input, providers);
    const ask = asked(mcpServer, input, request, entropy);
    // What turned out useless is named to the store, which then reports only what is newer.
    let seen: CreateElicitation['seen'] = {};
    for (let attempt = 0; attempt < MAX_TRIES; attempt += 1) {
      const created = await elicitations.create({ ...ask, seen });
      switch (created.result) {
        case 'created':
          audit({ type: 'issued', ...about(created.elicitation) }, created.elicitation);
          return { disposition: 'created', elicitation: created.elicitation };
        case 'connected':
          if (request.kind === 'authorization' && answers(created.connection, request, now()))
            return { disposition: 'served', connection: created.connection };
          seen = { ...seen, answer: created.connection };
          break;
        case 'kept':
          if (request.kind === 'credential' && answersCredential(created.credential, request))
            return { disposition: 'kept', credential: created.credential };
          seen = { ...seen, answer: created.credential };
          break;
        case 'open': {
          const met = await metBy(request, created.elicitationId);
          if (met !== undefined) return met;
          seen = { ...seen, openId: created.elicitationId };
          break;
        }
        case 'limited':
          throw new TooManyElicitationsError(created.retryAfterMs);
        case 'over_quota':
          throw new QuotaExceededError(mcpServer.mcpServerId, created.retryAfterMs);
      }
    }
    throw contention();
  }

  /** What the elicitation of the same ask comes to; undefined when it is of no use any more. */
  async function metBy(request: ElicitationRequest, elicitationId: ElicitationId): Promise<Issued | undefined> {
    const elicitation =
      request.kind === 'authorization'
        ? await widened(elicitationId, request.scopes)
        : await elicitations.read(elicitationId);
    if (elicitation === undefined) return undefined;
    if (isUnredeemed(elicitation) && answersStill(elicitation, now())) return { disposition: 'answered', elicitation };
    return isTerminal(elicitation) ? undefined : { disposition: 'open', elicitation };
  }

  /** The open elicitation once it asks for all of the scopes; undefined when it cannot any more. */
  async function widened(elicitationId: ElicitationId, scopes: readonly string[]): Promise<Elicitation | undefined> {
    try {
      const elicitation = await move(elicitationId, current => {
        if (current.status !== 'pending' || !isOfKind(current, 'authorization')) return undefined;
        if (covers(current.request.scopes, scopes)) return undefined;
        const { trouble, missing } = current;
        const added = scopes.filter(scope => !current.request.scopes.includes(scope));
        return {
          events: ['widen'],
          next: {
            status: 'pending',
            scopes: [...current.request.scopes, ...added].sort(),
            ...(trouble === undefined ? {} : { trouble }),
            ...(missing === undefined ? {} : { missing }),
          },
          auditedAs: { type: 'widened', scopes: added },
        };
      });
      if (isTerminal(elicitation) || !isOfKind(elicitation, 'authorization')) return undefined;
      return covers(elicitation.request.scopes, scopes) ? elicitation : undefined;
    } catch (error) {
      // It has ended and was forgotten between being found and being read.
      if (error instanceof NotFoundError) return undefined;
      throw error;
    }
  }

  return { issue };
}

function asked(
  mcpServer: McpServer,
  input: IssueElicitation,
  request: ElicitationRequest,
  entropy: Entropy,
): Omit<CreateElicitation, 'seen'> {
  const { subject, message, requestedBy, returnUrl, traceparent, reservation } = input;
  const { mcpServerId, identityMode, limits } = mcpServer;
  const answeredBy = answerIdOf(mcpServer, subject, request);
  return {
    elicitation: {
      elicitationId: reservation?.elicitationId ?? newElicitationId(shardOf(subject), entropy),
      mcpServerId,
      identityMode,
      subject,
      request,
      ...(message === undefined ? {} : { message }),
      ...(requestedBy === undefined ? {} : { requestedBy }),
      ...(returnUrl === undefined ? {} : { returnUrl }),
      ...(traceparent === undefined ? {} : { traceparent }),
    },
    ttlMs: Math.min(input.ttlMs, limits.maxTtlMs),
    operationId: reservation?.operationId ?? newOperationId(entropy),
    coalescingDigest: coalescingDigestOf(mcpServer, subject, request),
    ...(answeredBy === undefined ? {} : { answeredBy }),
    subjectLimit: { max: limits.subjectMax, windowMs: limits.subjectWindowMs },
    quota: limits.quota,
  };
}

/** Where the answer lies that serves again and again, for the kinds that have one. */
function answerIdOf(
  { connectionOwner: owner }: McpServer,
  subject: Subject,
  request: ElicitationRequest,
): CreateElicitation['answeredBy'] {
  if (request.kind === 'authorization')
    return connectionIdOf({ owner, subject, provider: request.provider, resource: request.resource });
  return isLasting(request) ? credentialIdOf({ owner, subject, name: request.name }) : undefined;
}

function isLasting(request: ElicitationRequest): request is CredentialRequest {
  return request.kind === 'credential' && request.retention === 'lasting';
}

/**
 * Names what can be settled by one visit of the person: one account at one provider for one MCP server, whatever the scopes; of
 * the other kinds, exactly what is asked. With the mode, so that what was issued under another one, and is refused now, stands
 * in nobody's way.
 */
function coalescingDigestOf(
  { mcpServerId, identityMode }: McpServer,
  { issuer, subject }: Subject,
  request: ElicitationRequest,
): string {
  return digestOf(JSON.stringify([mcpServerId, identityMode, issuer, subject, request.kind, ...whatIsAsked(request)]));
}

function whatIsAsked(request: ElicitationRequest): readonly (string | null)[] {
  switch (request.kind) {
    case 'authorization':
      return [request.provider, request.resource ?? null, request.expectedAccount ?? null];
    case 'payment':
      // An approval that nobody has charged yet is no payment by a processor, though the terms are the same.
      return [request.digest, request.processor];
    default:
      return [request.digest];
  }
}

/**
 * What a person has answered is found by a repeated call for as long as they could have answered it, and no longer: a yes that nobody
 * took must not serve another run of the same tool on the next day. Money that was paid is found until it is forgotten, or it would be
 * paid twice.
 */
function answersStill({ outcome, expiresAt }: CompletedElicitation, now: number): boolean {
  const isPaid = outcome.kind === 'payment' && outcome.processorReference !== undefined;
  return isPaid || now < expiresAt;
}

function answers(connection: Connection, request: AuthorizationRequest, now: number): boolean {
  const isExpected = request.expectedAccount === undefined || connection.account?.id === request.expectedAccount;
  return isExpected && serves(connection, request.scopes, now);
}
