import { about } from './audit.ts';
import { type Connection, covers, serves } from './connection.ts';
import { contention, MAX_TRIES } from './contention.ts';
import { type Elicitation, type ElicitationRequest, isTerminal, type RequestedBy } from './elicitation.ts';
import { DomainError, NotFoundError, TooManyElicitationsError } from './errors.ts';
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
import type { Moves, MovesDeps } from './moves.ts';
import type { Clock, CreateElicitation } from './ports.ts';
import type { Subject } from './subject.ts';

export interface IssuanceDeps extends MovesDeps, Pick<Moves, 'move'> {
  readonly providers: (name: string) => ProviderFacts | undefined;
  readonly now: Clock;
}

export interface IssueElicitation {
  readonly subject: Subject;
  /** Without scopes, the provider's default scopes are asked for. */
  readonly request: Omit<ElicitationRequest, 'scopes'> & { readonly scopes?: readonly string[] };
  readonly message?: string;
  readonly requestedBy?: RequestedBy;
  /** How long it stays open, in milliseconds; never longer than the MCP server's limit. */
  readonly ttlMs: number;
  readonly returnUrl?: string;
  /** Reserved by an idempotent caller, so that a repeat meets the same elicitation. */
  readonly reservation?: { readonly elicitationId: ElicitationId; readonly operationId: string };
}

export type Issued =
  /** `created` also when a repeat met what an earlier call under the same reservation created. */
  | { readonly disposition: 'created' | 'open'; readonly elicitation: Elicitation }
  /** A connection already serves; nobody is asked. */
  | { readonly disposition: 'served'; readonly connection: Connection };

export function createIssuance({ elicitations, move, providers, audit, entropy, now }: IssuanceDeps) {
  /**
   * Issues an elicitation, or finds the connection that already answers it, or the open one that asks the same person for the
   * same account. Parallel tool calls share that one: it is widened to the scopes of all of them for as long as nobody has
   * agreed to it; afterwards what it lacks is asked for by a second one. A repeat under a reservation is audited again: nobody
   * knows whether the earlier call lived long enough to say so.
   * @throws DomainError `kind_not_allowed`, `provider_not_allowed`, `issuer_not_allowed`, `return_url_not_registered`,
   * `unknown_provider`, `contention`; TooManyElicitationsError.
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
          audit({ type: 'issued', ...about(created.elicitation) });
          return { disposition: 'created', elicitation: created.elicitation };
        case 'connected':
          if (answers(created.connection, request, now()))
            return { disposition: 'served', connection: created.connection };
          seen = { ...seen, connection: created.connection };
          break;
        case 'open': {
          const elicitation = await widened(created.elicitationId, request.scopes);
          if (elicitation !== undefined) return { disposition: 'open', elicitation };
          seen = { ...seen, openId: created.elicitationId };
          break;
        }
        case 'limited':
          throw new TooManyElicitationsError(created.retryAfterMs);
      }
    }
    throw contention();
  }

  /** The open elicitation once it asks for all of the scopes; undefined when it cannot any more. */
  async function widened(elicitationId: ElicitationId, scopes: readonly string[]): Promise<Elicitation | undefined> {
    try {
      const elicitation = await move(elicitationId, current => {
        if (current.status !== 'pending' || covers(current.request.scopes, scopes)) return undefined;
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
      return !isTerminal(elicitation) && covers(elicitation.request.scopes, scopes) ? elicitation : undefined;
    } catch (error) {
      // It has ended and was forgotten between being found and being read.
      if (error instanceof NotFoundError) return undefined;
      throw error;
    }
  }

  return { issue };
}

/** What the MCP server may ask for, in one form: the same ask is the same request however it was spelled. */
function permitted(
  mcpServer: McpServer,
  input: IssueElicitation,
  providers: IssuanceDeps['providers'],
): ElicitationRequest {
  const { kind, provider, scopes, resource, expectedAccount } = input.request;
  if (!mcpServer.kinds.includes(kind))
    throw new DomainError('kind_not_allowed', 'This MCP server may not issue this kind.');
  if (!mcpServer.issuers.includes(input.subject.issuer))
    throw new DomainError('issuer_not_allowed', 'This MCP server may not name users of this issuer.');
  if (input.returnUrl !== undefined && !mcpServer.returnUrls.includes(input.returnUrl))
    throw new DomainError('return_url_not_registered', 'The return URL is not registered for this MCP server.');
  if (!mcpServer.providers.includes(provider))
    throw new DomainError('provider_not_allowed', 'This MCP server may not use this provider.');
  const facts = providers(provider);
  if (facts === undefined) throw new DomainError('unknown_provider', 'The provider is not configured.');
  return {
    kind,
    provider,
    scopes: [...new Set(scopes ?? facts.defaultScopes)].sort(),
    ...(resource === undefined ? {} : { resource }),
    ...(expectedAccount === undefined ? {} : { expectedAccount }),
  };
}

function asked(
  mcpServer: McpServer,
  input: IssueElicitation,
  request: ElicitationRequest,
  entropy: Entropy,
): Omit<CreateElicitation, 'seen'> {
  const { subject, message, requestedBy, returnUrl, reservation } = input;
  const { mcpServerId, identityMode, connectionOwner, limits } = mcpServer;
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
    },
    ttlMs: Math.min(input.ttlMs, limits.maxTtlMs),
    operationId: reservation?.operationId ?? newOperationId(entropy),
    coalescingDigest: coalescingDigestOf(mcpServer, subject, request),
    connectionId: connectionIdOf({
      owner: connectionOwner,
      subject,
      provider: request.provider,
      resource: request.resource,
    }),
    subjectLimit: { max: limits.subjectMax, windowMs: limits.subjectWindowMs },
  };
}

/**
 * Names what can be settled by one visit of the person: one account at one provider for one MCP server, whatever the scopes.
 * With the mode, so that what was issued under another one, and is refused now, stands in nobody's way.
 */
function coalescingDigestOf(
  { mcpServerId, identityMode }: McpServer,
  { issuer, subject }: Subject,
  { kind, provider, resource, expectedAccount }: ElicitationRequest,
): string {
  return digestOf(
    JSON.stringify([
      mcpServerId,
      identityMode,
      issuer,
      subject,
      kind,
      provider,
      resource ?? null,
      expectedAccount ?? null,
    ]),
  );
}

function answers(connection: Connection, request: ElicitationRequest, now: number): boolean {
  const isExpected = request.expectedAccount === undefined || connection.account?.id === request.expectedAccount;
  return isExpected && serves(connection, request.scopes, now);
}
