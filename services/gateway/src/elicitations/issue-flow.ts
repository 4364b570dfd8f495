import { type ElicitationBody, type IssueElicitation, TTL_SECONDS } from '@postern/api';
import { type AccessTokenVerifier, AuthorizationError, type ProviderRegistry } from '@postern/authorization';
import {
  DomainError,
  digestOf,
  type ElicitationService,
  type IdempotencyKey,
  type Issued,
  QuotaExceededError,
  type Stores,
  type Subject,
  shardOf,
} from '@postern/elicitation';
import type { PaymentProcessor } from '@postern/payment';
import type { Patterns } from '../entries/patterns.ts';
import { allowed } from '../mcp-servers/allowed-to-caller.ts';
import { assertHonestNames, type RegisteredNames } from '../mcp-servers/confusable-names.ts';
import { asConfigured, type RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { ProblemError } from '../platform/http/problems.ts';
import { assertPossiblePayment, elicitationRequestOf, patternedTextsIn } from './elicitation-request.ts';
import { createPresenter } from './presenter.ts';

type AuthorizationInput = Extract<IssueElicitation, { kind: 'authorization' }>;

export interface IssueResponse {
  readonly status: 200 | 201;
  readonly body: ElicitationBody;
}

/** Issues elicitations over the API, once per Idempotency-Key. */
export function createIssueFlow(p: {
  config: Pick<GatewayConfig, 'publicUrl' | 'providers'>;
  providers: ProviderRegistry;
  service: ElicitationService;
  stores: Pick<Stores, 'idempotency'>;
  accessTokens: AccessTokenVerifier;
  processors: ReadonlyMap<string, Pick<PaymentProcessor, 'canTake'>>;
  registeredNames: RegisteredNames;
  patterns: Pick<Patterns, 'findFault'>;
}) {
  const present = createPresenter(p.config);

  async function subjectOf(mcpServer: RegisteredMcpServer, subject: IssueElicitation['subject']): Promise<Subject> {
    if (!('accessToken' in subject)) return asConfigured(mcpServer, subject);
    try {
      return await p.accessTokens.verify(subject.accessToken, {
        allowedIssuers: mcpServer.issuers,
        audience: mcpServer.audience,
      });
    } catch (error) {
      if (!(error instanceof AuthorizationError)) throw error;
      if (error.code === 'issuer_not_allowed')
        throw new DomainError('issuer_not_allowed', 'This MCP server may not name users of this issuer.');
      throw new ProblemError(error.retryable ? 'upstream_unavailable' : 'subject_token_invalid');
    }
  }

  /**
   * Returns the request with the scopes in one spelling, because the domain compares them as texts. Refuses a request that the provider
   * would later reject in front of the user. The domain refuses unknown providers.
   */
  function requestable(authorization: AuthorizationInput['authorization']): AuthorizationInput['authorization'] {
    const { provider: name, scopes = [], resource, expectedAccount } = authorization;
    const config = p.config.providers.find(candidate => candidate.name === name);
    const provider = p.providers.get(name);
    if (config === undefined || provider === undefined) return authorization;
    if (resource !== undefined && !config.resources.includes(resource))
      throw new ProblemError('resource_not_allowed', { detail: allowed('resources', config.resources) });
    if (expectedAccount !== undefined && config.account === undefined)
      throw new ProblemError('expected_account_unsupported');
    try {
      provider.requestedScopes(scopes);
    } catch (error) {
      if (error instanceof AuthorizationError && error.code === 'scope_not_allowed')
        throw new ProblemError(
          'scope_not_allowed',
          config.scopes && { detail: allowed('scopes', Object.keys(config.scopes)) },
        );
      throw error;
    }
    return authorization.scopes === undefined
      ? authorization
      : { ...authorization, scopes: provider.spelledScopes(authorization.scopes) };
  }

  async function issue(
    mcpServer: RegisteredMcpServer,
    request: IssueElicitation,
    idempotencyKey: string | undefined,
  ): Promise<IssueResponse> {
    const mayUse = request.kind === 'authorization' && mcpServer.providers.includes(request.authorization.provider);
    const elicitationRequest =
      request.kind === 'authorization'
        ? { kind: request.kind, ...(mayUse ? requestable(request.authorization) : request.authorization) }
        : elicitationRequestOf(request, mcpServer);
    if (elicitationRequest.kind === 'payment') assertPossiblePayment(elicitationRequest, mcpServer, p.processors);
    await assertHonestNames(p.registeredNames, mcpServer.mcpServerId, request);
    const fault = await p.patterns.findFault(mcpServer.mcpServerId, patternedTextsIn(request));
    if (fault !== undefined) throw new ProblemError('invalid_request', { errors: [fault] });
    const subject = await subjectOf(mcpServer, request.subject);
    const key =
      idempotencyKey === undefined ? undefined : idempotencyKeyOf(mcpServer, { subject, request, idempotencyKey });
    const issued = await p.service
      .issue(mcpServer, {
        subject,
        request: elicitationRequest,
        ttlMs: (request.ttlSeconds ?? TTL_SECONDS.default) * 1000,
        message: request.message,
        requestedBy: request.requestedBy && request.requestedBy,
        returnUrl: request.returnUrl,
        locale: request.locale,
        idempotencyKey: key,
      })
      .catch((error: unknown) => {
        if (!(error instanceof DomainError) || error.code !== 'muted') throw error;
        throw new ProblemError('muted', { undoUrl: `${p.config.publicUrl}/me` });
      });
    // The commit that created it has stored the response under the key.
    if (issued.disposition === 'created' || issued.disposition === 'repeated')
      return { status: 201, body: present.elicitation(issued.elicitation) };
    if (issued.disposition === 'replayed') return JSON.parse(issued.response) as IssueResponse;
    const response: IssueResponse = { status: 200, body: bodyOf(issued) };
    if (key === undefined) return response;
    const put = await p.stores.idempotency.put({
      ...key,
      shard: shardOf(subject),
      mcpServerId: mcpServer.mcpServerId,
      response: JSON.stringify(response),
      quota: mcpServer.limits.quota,
    });
    if (put.result === 'over_quota') throw new QuotaExceededError(mcpServer.mcpServerId, put.retryAfterMs);
    // A concurrent request under the same key was answered first: return its response.
    return put.result === 'stored' ? response : issue(mcpServer, request, idempotencyKey);
  }

  function bodyOf(issued: Exclude<Issued, { disposition: 'replayed' }>): ElicitationBody {
    if (issued.disposition === 'existing_connection') return present.existingConnection(issued.connection);
    if (issued.disposition === 'existing_credential') return present.existingCredential(issued.credential);
    return present.elicitation(issued.elicitation);
  }

  return {
    /** @throws ProblemError `muted`, `subject_token_invalid`, `upstream_unavailable`; DomainError as ElicitationService.issue. */
    issue,
  };
}

/** Scoped to the caller and to the subject, whose token may be another one in a retry. The record of the key is in the shard of the subject. */
function idempotencyKeyOf(
  { mcpServerId }: RegisteredMcpServer,
  p: { subject: Subject; request: IssueElicitation; idempotencyKey: string },
): IdempotencyKey {
  const { issuer, subject } = p.subject;
  return {
    digest: digestOf(JSON.stringify(['issue', mcpServerId, issuer, subject, p.idempotencyKey])),
    fingerprint: digestOf(JSON.stringify({ ...p.request, subject: undefined })),
  };
}

export type IssueFlow = ReturnType<typeof createIssueFlow>;
