import { createHash } from 'node:crypto';
import type { ElicitationBody, IssueElicitation } from '@postern/api';
import { TTL_SECONDS } from '@postern/api';
import { type AccessTokenVerifier, AuthorizationError, type ProviderRegistry } from '@postern/authorization';
import {
  DomainError,
  digestOf,
  type ElicitationId,
  type ElicitationService,
  type Entropy,
  QuotaExceededError,
  type Subject,
  shardOf,
} from '@postern/elicitation';
import type { PaymentProcessor } from '@postern/payment';
import type { RedisStores } from '@postern/store-redis';
import type { GatewayConfig } from '../config/config-schema.ts';
import { definedOnly } from '../defined-only.ts';
import { createPresenter } from '../http/api/present.ts';
import { ProblemError } from '../http/problem-error.ts';
import { assertHonestNames } from '../names/assert-honest-names.ts';
import type { RegisteredNames } from '../names/registered-names.ts';
import type { RegisteredMcpServer } from '../registered-mcp-server.ts';
import { askedRequest } from './asked-request.ts';
import { assertPossiblePayment } from './possible-payment.ts';

type AuthorizationAsk = Extract<IssueElicitation, { kind: 'authorization' }>;

export interface IssueAnswer {
  readonly status: 200 | 201;
  readonly body: ElicitationBody;
}

/** How long one attempt may hold an Idempotency-Key before a repeat takes over. Longer than any request may run. */
const LEASE_MS = 15_000;
/** draft-ietf-httpapi-idempotency-key-header-07 leaves it to us; a day outlives any sensible retry. */
const RETENTION_MS = 24 * 3600 * 1000;

/** Issuing over the API: who is meant, once per Idempotency-Key, and what to answer. */
export function createIssueFlow(p: {
  config: Pick<GatewayConfig, 'publicUrl' | 'providers'>;
  providers: ProviderRegistry;
  service: ElicitationService;
  stores: Pick<RedisStores, 'idempotency'>;
  accessTokens: AccessTokenVerifier;
  processors: ReadonlyMap<string, Pick<PaymentProcessor, 'canTake'>>;
  registeredNames: RegisteredNames;
  entropy: Entropy;
}) {
  const present = createPresenter(p.config);

  async function subjectOf(mcpServer: RegisteredMcpServer, subject: IssueElicitation['subject']): Promise<Subject> {
    if (!('accessToken' in subject)) return subject;
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

  /** Refuses now what the provider could only refuse later, in front of the user. Unknown providers are the domain's to refuse. */
  function assertAskable({
    provider,
    scopes = [],
    resource,
    expectedAccount,
  }: AuthorizationAsk['authorization']): void {
    const config = p.config.providers.find(candidate => candidate.name === provider);
    if (config === undefined) return;
    if (resource !== undefined && !config.resources.includes(resource)) throw new ProblemError('resource_not_allowed');
    if (expectedAccount !== undefined && config.account === undefined)
      throw new ProblemError('expected_account_unsupported');
    try {
      p.providers.get(provider)?.requestedScopes(scopes);
    } catch (error) {
      if (error instanceof AuthorizationError && error.code === 'scope_not_allowed')
        throw new ProblemError('scope_not_allowed');
      throw error;
    }
  }

  async function issue(
    mcpServer: RegisteredMcpServer,
    request: IssueElicitation,
    reservation?: string,
  ): Promise<IssueAnswer> {
    if (request.kind === 'authorization' && mcpServer.providers.includes(request.authorization.provider))
      assertAskable(request.authorization);
    const asked =
      request.kind === 'authorization'
        ? { kind: request.kind, ...definedOnly(request.authorization) }
        : askedRequest(request, mcpServer);
    if (asked.kind === 'payment') assertPossiblePayment(asked, mcpServer, p.processors);
    await assertHonestNames(p.registeredNames, mcpServer.mcpServerId, request);
    const subject = await subjectOf(mcpServer, request.subject);
    const issued = await p.service.issue(mcpServer, {
      subject,
      request: asked,
      ...(request.message === undefined ? {} : { message: request.message }),
      ...(request.requestedBy === undefined ? {} : { requestedBy: definedOnly(request.requestedBy) }),
      ...(request.returnUrl === undefined ? {} : { returnUrl: request.returnUrl }),
      ttlMs: (request.ttlSeconds ?? TTL_SECONDS.default) * 1000,
      ...(reservation === undefined
        ? {}
        : // The same reservation leads to the same id, so a repeat after a crash meets what the first attempt created.
          {
            reservation: {
              elicitationId: `el_${shardOf(subject)}${reservation}` satisfies ElicitationId,
              operationId: reservation,
            },
          }),
    });
    if (issued.disposition === 'served') return { status: 200, body: present.served(issued.connection) };
    if (issued.disposition === 'kept') return { status: 200, body: present.kept(issued.credential) };
    return {
      status: issued.disposition === 'created' ? 201 : 200,
      body: present.elicitation(issued.elicitation),
    };
  }

  return {
    /**
     * @throws ProblemError `idempotency_key_reused`, `idempotency_in_flight`, `subject_token_invalid`,
     * `upstream_unavailable`; DomainError as ElicitationService.issue.
     */
    async issue(
      mcpServer: RegisteredMcpServer,
      request: IssueElicitation,
      idempotencyKey: string | undefined,
    ): Promise<IssueAnswer> {
      if (idempotencyKey === undefined) return issue(mcpServer, request);
      // Scoped to the caller: two MCP servers may choose the same key.
      const digest = digestOf(JSON.stringify(['issue', mcpServer.mcpServerId, idempotencyKey]));
      const fingerprint = createHash('sha256').update(JSON.stringify(request)).digest('base64url');
      const { mcpServerId } = mcpServer;
      const begun = await p.stores.idempotency.begin({
        mcpServerId,
        digest,
        fingerprint,
        reservation: Buffer.from(p.entropy(32)).toString('base64url'),
        leaseMs: LEASE_MS,
        quota: mcpServer.limits.quota,
      });
      switch (begun.result) {
        case 'mismatch':
          throw new ProblemError('idempotency_key_reused');
        case 'in_flight':
          throw new ProblemError('idempotency_in_flight', { retryAfterMs: begun.retryAfterMs });
        case 'over_quota':
          throw new QuotaExceededError(mcpServerId, begun.retryAfterMs);
        case 'replay':
          return JSON.parse(begun.response) as IssueAnswer;
        case 'begun': {
          let answer: IssueAnswer;
          try {
            answer = await issue(mcpServer, request, begun.reservation);
          } catch (error) {
            // A refusal wrote nothing, so the key is free again. After anything else it stays taken until the lease ends.
            if (error instanceof ProblemError || (error instanceof DomainError && error.code !== 'store_unavailable')) {
              await p.stores.idempotency.abandon({ mcpServerId, digest, fingerprint });
            }
            throw error;
          }
          await p.stores.idempotency.finish({
            mcpServerId,
            digest,
            fingerprint,
            response: JSON.stringify(answer),
            retentionMs: RETENTION_MS,
          });
          return answer;
        }
      }
    },
  };
}

export type IssueFlow = ReturnType<typeof createIssueFlow>;
