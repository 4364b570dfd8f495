import { type Connection, covers, serves } from './connection.ts';
import { answersCredential, type Credential } from './credential.ts';
import {
  type AuthorizationRequest,
  about,
  askDigest,
  type Clock,
  type CompletedElicitation,
  type CredentialRequest,
  type Elicitation,
  type ElicitationRequest,
  isOfKind,
  isTerminal,
  isUnredeemed,
  type LocalText,
  type PaymentRequest,
  type RequestedBy,
} from './elicitation.ts';
import type { CreateElicitation, IdempotencyKey } from './elicitation-store.ts';
import {
  contention,
  DomainError,
  NotFoundError,
  QuotaExceededError,
  TooManyElicitationsError,
  TooManyOpenElicitationsError,
} from './errors.ts';
import {
  connectionIdOf,
  credentialIdOf,
  digestOf,
  type ElicitationId,
  type Entropy,
  newElicitationId,
  newOperationId,
  type Subject,
  shardOf,
} from './ids.ts';
import type { McpServer, ProviderFacts } from './mcp-server.ts';
import { MAX_TRIES, type Moves, type MovesDeps } from './moves.ts';

export interface IssuanceDeps extends MovesDeps, Pick<Moves, 'move'> {
  readonly providers: (name: string) => ProviderFacts | undefined;
  readonly now: Clock;
}

/** A request as the MCP server sends it. Without scopes, it asks for the provider's default scopes. */
export type RequestInput =
  | (Omit<AuthorizationRequest, 'scopes'> & { readonly scopes?: readonly string[] })
  | Exclude<ElicitationRequest, AuthorizationRequest>;

export interface IssueElicitation {
  readonly subject: Subject;
  readonly request: RequestInput;
  readonly message?: LocalText;
  readonly requestedBy?: RequestedBy;
  /** Lifetime in milliseconds, limited by the MCP server's maximum. */
  readonly ttlMs: number;
  readonly returnUrl?: string;
  readonly locale?: string;
  readonly traceparent?: string;
  readonly idempotencyKey?: IdempotencyKey;
}

export type Issued =
  | { readonly disposition: 'created' | 'open'; readonly elicitation: Elicitation }
  /** The user has already answered the same request, and the result is not redeemed yet. */
  | { readonly disposition: 'answered'; readonly elicitation: CompletedElicitation }
  /** A stored connection answers the request without the user. */
  | { readonly disposition: 'existing_connection'; readonly connection: Connection }
  /** A stored lasting credential answers the request without the user. */
  | { readonly disposition: 'existing_credential'; readonly credential: Credential }
  /** Created by an earlier call under the same idempotency key, in its initial state. */
  | { readonly disposition: 'repeated'; readonly elicitation: Elicitation }
  /** The response of an earlier call under the same idempotency key. */
  | { readonly disposition: 'replayed'; readonly response: string };

export function createIssuance({ elicitations, move, providers, audit, entropy, now }: IssuanceDeps) {
  /**
   * Issues an elicitation, or returns what already answers the request: a usable connection, a lasting credential, or an
   * elicitation of the same request that is open or has a result to redeem. A repeated call finds the payment that it made.
   *
   * Concurrent requests for one account share one elicitation. It is widened to the scopes of all of them until the user agrees.
   * Afterwards a second elicitation asks for the missing scopes. A repeat under an idempotency key is not audited again.
   * @throws DomainError as `authorizeRequest`, `contention`, `idempotency_key_reused`, `muted`; TooManyElicitationsError;
   * TooManyOpenElicitationsError; QuotaExceededError; TypeError if the digest does not match the request
   */
  async function issue(mcpServer: McpServer, input: IssueElicitation): Promise<Issued> {
    const request = authorizeRequest(mcpServer, input, providers);
    const ask = asked(mcpServer, input, request, entropy);
    // Names unusable records to the store, which then reports only newer ones.
    let seen: CreateElicitation['seen'] = {};
    for (let attempt = 0; attempt < MAX_TRIES; attempt += 1) {
      const created = await elicitations.create({ ...ask, seen });
      switch (created.result) {
        case 'created':
          audit({ type: 'issued', ...about(created.elicitation) }, created.elicitation);
          return { disposition: 'created', elicitation: created.elicitation };
        case 'repeated':
          return { disposition: 'repeated', elicitation: created.elicitation };
        case 'replayed':
          return { disposition: 'replayed', response: created.response };
        case 'key_reused':
          throw new DomainError('idempotency_key_reused', 'The Idempotency-Key was used for another request body.');
        case 'existing_connection':
          if (request.kind === 'authorization' && answers(created.connection, request, now()))
            return { disposition: 'existing_connection', connection: created.connection };
          seen = { ...seen, answer: created.connection };
          break;
        case 'existing_credential':
          if (request.kind === 'credential' && answersCredential(created.credential, request))
            return { disposition: 'existing_credential', credential: created.credential };
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
        case 'crowded':
          throw new TooManyOpenElicitationsError(created.retryAfterMs);
        case 'muted':
          throw new DomainError('muted', 'The user muted this MCP server.');
        case 'over_quota':
          throw new QuotaExceededError(mcpServer.mcpServerId, created.retryAfterMs);
      }
    }
    throw contention();
  }

  /** Returns what the elicitation of the same request results in; undefined if it is no longer usable. */
  async function metBy(request: ElicitationRequest, elicitationId: ElicitationId): Promise<Issued | undefined> {
    const elicitation =
      request.kind === 'authorization'
        ? await widened(elicitationId, request.scopes)
        : await elicitations.read(elicitationId);
    if (elicitation === undefined) return undefined;
    if (isUnredeemed(elicitation) && answersStill(elicitation, now())) return { disposition: 'answered', elicitation };
    return isTerminal(elicitation) ? undefined : { disposition: 'open', elicitation };
  }

  /** Returns the open elicitation once it requests all scopes; undefined if it no longer can. */
  async function widened(elicitationId: ElicitationId, scopes: readonly string[]): Promise<Elicitation | undefined> {
    try {
      const elicitation = await move(elicitationId, current => {
        if (current.status !== 'pending' || !isOfKind(current, 'authorization')) return undefined;
        if (covers(current.request.scopes, scopes)) return undefined;
        const { retryReason, missing } = current;
        const added = scopes.filter(scope => !current.request.scopes.includes(scope));
        return {
          events: ['widen'],
          next: {
            status: 'pending',
            scopes: [...current.request.scopes, ...added].sort(),
            retryReason,
            missing,
          },
          auditedAs: { type: 'widened', scopes: added },
        };
      });
      if (isTerminal(elicitation) || !isOfKind(elicitation, 'authorization')) return undefined;
      return covers(elicitation.request.scopes, scopes) ? elicitation : undefined;
    } catch (error) {
      // It ended and was deleted between being found and being read.
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
  const { subject, message, requestedBy, returnUrl, locale, traceparent, idempotencyKey } = input;
  const { mcpServerId, identityMode, limits } = mcpServer;
  const answeredBy = answerIdOf(mcpServer, subject, request);
  return {
    elicitation: {
      elicitationId: newElicitationId(shardOf(subject), entropy),
      mcpServerId,
      identityMode,
      subject,
      request,
      message,
      requestedBy,
      returnUrl,
      locale,
      traceparent,
    },
    ttlMs: Math.min(input.ttlMs, limits.maxTtlMs),
    operationId: newOperationId(entropy),
    idempotencyKey,
    coalescingDigest: coalescingDigestOf(mcpServer, subject, request),
    answeredBy,
    subjectLimit: { max: limits.subjectMax, windowMs: limits.subjectWindowMs },
    openMax: limits.openMax,
    quota: limits.quota,
  };
}

/** Returns the id of the reusable answer, for kinds that have one. */
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
 * Identifies the requests that one visit of the user can settle: one account at one provider for one MCP server, with any scopes;
 * for other kinds, exactly the same request. It includes the identity mode: an elicitation issued under another mode is refused
 * now and must not block a new one.
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
      // An approval without a charge differs from a payment by a processor, even with the same terms.
      return [request.digest, request.processor];
    default:
      return [request.digest];
  }
}

/**
 * Whether a repeated call may get this answer: until the elicitation's `expiresAt`, because an unredeemed approval must not serve
 * another run of the same tool on the next day. A payment is found as long as it is stored, or the user would pay twice.
 */
function answersStill({ outcome, expiresAt }: CompletedElicitation, now: number): boolean {
  const isPaid = outcome.kind === 'payment' && outcome.processorReference !== undefined;
  return isPaid || now < expiresAt;
}

function answers(connection: Connection, request: AuthorizationRequest, now: number): boolean {
  const isExpected = request.expectedAccount === undefined || connection.account?.id === request.expectedAccount;
  return isExpected && serves(connection, request.scopes, now);
}

/**
 * Returns the request in canonical form: the same request is equal however it was spelled.
 * @throws DomainError `kind_not_allowed`, `issuer_not_allowed`, `return_url_not_registered`, `provider_not_allowed`,
 * `unknown_provider`, `processor_not_allowed`, `currency_not_allowed`, `amount_over_limit`; TypeError if the digest does not
 * match the request
 */
function authorizeRequest(
  mcpServer: McpServer,
  input: { readonly subject: Subject; readonly request: RequestInput; readonly returnUrl?: string },
  providers: (name: string) => ProviderFacts | undefined,
): ElicitationRequest {
  const { request, subject, returnUrl } = input;
  if (!mcpServer.kinds.includes(request.kind))
    throw new DomainError('kind_not_allowed', 'This MCP server may not issue this kind.');
  if (!mcpServer.issuers.includes(subject.issuer))
    throw new DomainError('issuer_not_allowed', 'This MCP server may not name users of this issuer.');
  if (returnUrl !== undefined && !mcpServer.returnUrls.includes(returnUrl))
    throw new DomainError('return_url_not_registered', 'The return URL is not registered for this MCP server.');
  if (request.kind === 'authorization') return permittedAuthorization(mcpServer, request, providers);
  // Everything later relies on this digest: the page, the approval and the signature refer to it.
  if (request.digest !== askDigest(request)) throw new TypeError('The digest is not that of the request.');
  if (request.kind === 'payment') assertPermittedPayment(mcpServer, request);
  return request;
}

function permittedAuthorization(
  mcpServer: McpServer,
  { kind, provider, scopes, resource, expectedAccount }: Extract<RequestInput, { kind: 'authorization' }>,
  providers: (name: string) => ProviderFacts | undefined,
): AuthorizationRequest {
  if (!mcpServer.providers.includes(provider))
    throw new DomainError('provider_not_allowed', 'This MCP server may not use this provider.');
  const facts = providers(provider);
  if (facts === undefined) throw new DomainError('unknown_provider', 'The provider is not configured.');
  return {
    kind,
    provider,
    scopes: [...new Set(scopes ?? facts.defaultScopes)].sort(),
    resource,
    expectedAccount,
  };
}

function assertPermittedPayment({ payment }: McpServer, { processor, terms: { amount } }: PaymentRequest): void {
  const { currency, minorUnits } = amount;
  if (!Number.isSafeInteger(minorUnits) || minorUnits <= 0)
    throw new TypeError('An amount is a positive integer of minor units.');
  if (payment === undefined || !payment.processors.includes(processor))
    throw new DomainError('processor_not_allowed', 'This MCP server may not use this payment processor.');
  if (!Object.hasOwn(payment.maxMinorUnits, currency))
    throw new DomainError('currency_not_allowed', 'This MCP server may not ask for payments in this currency.');
  // A NaN limit refuses as well.
  if (!(minorUnits <= (payment.maxMinorUnits[currency] ?? 0)))
    throw new DomainError('amount_over_limit', 'This MCP server may not ask for payments this high.');
}
