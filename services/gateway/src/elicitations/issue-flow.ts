import { type ElicitationBody, type IssueElicitation, TTL_SECONDS } from '@postern/api';
import { MAX_FORM_TEXT_LENGTH } from '@postern/api/form';
import { type AccessTokenVerifier, AuthorizationError, type ProviderRegistry } from '@postern/authorization';
import {
  askDigest,
  DomainError,
  digestOf,
  type ElicitationRequest,
  type ElicitationService,
  type IdempotencyKey,
  type Issued,
  type JsonObject,
  type PaymentRequest,
  QuotaExceededError,
  type Stores,
  type Subject,
  shardOf,
} from '@postern/elicitation';
import { decimalsOf, type PaymentProcessor } from '@postern/payment';
import { fieldsSentBy } from '../entries/credential-check.ts';
import type { PatternedText, Patterns } from '../entries/patterns.ts';
import { allowed } from '../mcp-servers/allowed-to-caller.ts';
import { assertHonestNames, type RegisteredNames } from '../mcp-servers/confusable-names.ts';
import {
  asConfigured,
  checkOf,
  isForRegisteredPayee,
  issuerNotAllowed,
  mayAsk,
  payeeOf,
  type RegisteredMcpServer,
} from '../mcp-servers/registered-mcp-server.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { ProblemError } from '../platform/http/problems.ts';
import { Presenter } from './presenter.ts';

type AuthorizationInput = Extract<IssueElicitation, { kind: 'authorization' }>;

export interface IssueResponse {
  readonly status: 200 | 201;
  readonly body: ElicitationBody;
}

export interface IssueFlowDeps {
  readonly config: Pick<GatewayConfig, 'publicUrl' | 'providers'>;
  readonly providers: ProviderRegistry;
  readonly service: ElicitationService;
  readonly stores: Pick<Stores, 'idempotency'>;
  readonly accessTokens: AccessTokenVerifier;
  readonly processors: ReadonlyMap<string, Pick<PaymentProcessor, 'canTake'>>;
  readonly registeredNames: RegisteredNames;
  readonly patterns: Pick<Patterns, 'findFault'>;
}

/** Issues elicitations over the API, once per Idempotency-Key. */
export class IssueFlow {
  readonly #deps: IssueFlowDeps;
  readonly #presenter: Presenter;

  constructor(deps: IssueFlowDeps) {
    this.#deps = deps;
    this.#presenter = new Presenter(deps.config);
  }

  /** @throws ProblemError `muted`, `subject_token_invalid`, `upstream_unavailable`; DomainError as `ElicitationService.issue` */
  async issue(
    mcpServer: RegisteredMcpServer,
    request: IssueElicitation,
    idempotencyKey: string | undefined,
  ): Promise<IssueResponse> {
    const mayUse = request.kind === 'authorization' && mcpServer.providers.includes(request.authorization.provider);
    const elicitationRequest =
      request.kind === 'authorization'
        ? { kind: request.kind, ...(mayUse ? this.#requestable(request.authorization) : request.authorization) }
        : elicitationRequestOf(request, mcpServer);
    if (elicitationRequest.kind === 'payment')
      assertPossiblePayment(elicitationRequest, mcpServer, this.#deps.processors);
    await assertHonestNames(this.#deps.registeredNames, mcpServer.mcpServerId, request);
    const fault = await this.#deps.patterns.findFault(mcpServer.mcpServerId, patternedTextsIn(request));
    if (fault !== undefined) throw new ProblemError('invalid_request', { errors: [fault] });
    const subject = await this.#subjectOf(mcpServer, request.subject);
    const key =
      idempotencyKey === undefined ? undefined : idempotencyKeyOf(mcpServer, { subject, request, idempotencyKey });
    const issued = await this.#deps.service
      .issue(mcpServer, {
        subject,
        request: elicitationRequest,
        ttlMs: (request.ttlSeconds ?? TTL_SECONDS.default) * 1000,
        message: request.message,
        requestedBy: request.requestedBy,
        returnUrl: request.returnUrl,
        locale: request.locale,
        idempotencyKey: key,
      })
      .catch((error: unknown) => {
        if (!(error instanceof DomainError) || error.code !== 'muted') throw error;
        throw new ProblemError('muted', { undoUrl: `${this.#deps.config.publicUrl}/me` });
      });
    // The commit that created it has stored the response under the key.
    if (issued.disposition === 'created' || issued.disposition === 'repeated')
      return { status: 201, body: this.#presenter.elicitation(issued.elicitation) };
    if (issued.disposition === 'replayed') return JSON.parse(issued.response) as IssueResponse;
    const response: IssueResponse = { status: 200, body: this.#bodyOf(issued) };
    if (key === undefined) return response;
    const put = await this.#deps.stores.idempotency.put({
      ...key,
      shard: shardOf(subject),
      mcpServerId: mcpServer.mcpServerId,
      response: JSON.stringify(response),
      quota: mcpServer.limits.quota,
    });
    if (put.result === 'over_quota') throw new QuotaExceededError(mcpServer.mcpServerId, put.retryAfterMs);
    // A concurrent request under the same key was answered first: return its response.
    return put.result === 'stored' ? response : this.issue(mcpServer, request, idempotencyKey);
  }

  async #subjectOf(mcpServer: RegisteredMcpServer, subject: IssueElicitation['subject']): Promise<Subject> {
    if (!('accessToken' in subject)) return asConfigured(mcpServer, subject);
    try {
      return await this.#deps.accessTokens.verify(subject.accessToken, {
        allowedIssuers: mcpServer.issuers,
        audience: mcpServer.audience,
      });
    } catch (error) {
      if (!(error instanceof AuthorizationError)) throw error;
      if (error.code === 'issuer_not_allowed') throw issuerNotAllowed();
      throw new ProblemError(error.retryable ? 'upstream_unavailable' : 'subject_token_invalid');
    }
  }

  /**
   * Returns the request with the scopes in one spelling, because the domain compares them as texts. Refuses a request that the provider
   * would later reject in front of the user. The domain refuses unknown providers.
   */
  #requestable(authorization: AuthorizationInput['authorization']): AuthorizationInput['authorization'] {
    const { provider: name, scopes = [], resource, expectedAccount } = authorization;
    const config = this.#deps.config.providers.find(candidate => candidate.name === name);
    const provider = this.#deps.providers.get(name);
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

  #bodyOf(issued: Exclude<Issued, { disposition: 'replayed' }>): ElicitationBody {
    if (issued.disposition === 'existing_connection') return this.#presenter.existingConnection(issued.connection);
    if (issued.disposition === 'existing_credential') return this.#presenter.existingCredential(issued.credential);
    return this.#presenter.elicitation(issued.elicitation);
  }
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

/**
 * Converts the body of an API call to the immutable request of an elicitation, with its digest.
 * @throws ProblemError `invalid_request` for a credential that cannot be checked, or an amount that cannot be shown
 * @internal exported for tests
 */
export function elicitationRequestOf(
  input: Exclude<IssueElicitation, { kind: 'authorization' }>,
  mcpServer: RegisteredMcpServer,
): Exclude<ElicitationRequest, { kind: 'authorization' }> {
  switch (input.kind) {
    case 'payment': {
      const { processor = mcpServer.payment?.processors[0] ?? 'none', items, ...rest } = input.payment;
      const terms = { ...rest, items };
      const request = { kind: input.kind, terms, processor };
      const payeeAccount = payeeOf(mcpServer, request)?.account;
      return { ...request, digest: askDigest(request), payeeAccount };
    }
    case 'confirmation': {
      // No page can show a number of minor units of such a currency.
      for (const [at, fact] of input.confirmation.facts.entries())
        if (fact.type === 'amount' && decimalsOf(fact.value.currency) === undefined)
          throw invalid(`body.confirmation.facts.${at}.value.currency`, 'not an active currency with a minor unit');
      const request = { kind: input.kind, terms: input.confirmation };
      return { ...request, digest: askDigest(request) };
    }
    case 'credential': {
      const { rejectedGeneration, ...rest } = input.credential;
      // Without these fields the check would fail for any input.
      const check = checkOf(mcpServer, rest.name);
      for (const name of check === undefined ? [] : fieldsSentBy(check))
        if (!rest.fields.some(field => field.name === name))
          throw invalid('body.credential.fields', `the check of this credential needs a field "${name}"`);
      const request = { kind: input.kind, ...rest };
      return {
        ...request,
        digest: askDigest(request),
        rejectedGeneration,
      };
    }
    case 'form': {
      const { title, requestedSchema, texts, secretFields } = input.form;
      // Validated JSON: every member is stored as sent.
      const schema = JSON.parse(JSON.stringify(requestedSchema)) as JsonObject;
      const request = {
        kind: input.kind,
        title,
        requestedSchema: schema,
        texts: texts && (JSON.parse(JSON.stringify(texts)) as JsonObject),
        secretFields,
      };
      return { ...request, digest: askDigest(request) };
    }
  }
}

/**
 * Returns the texts that the user types, with their patterns.
 * @internal exported for tests
 */
export function patternedTextsIn(input: IssueElicitation): PatternedText[] {
  if (input.kind === 'credential')
    return input.credential.fields.map((field, at) => ({ path: `body.credential.fields.${at}.pattern`, ...field }));
  if (input.kind !== 'form') return [];
  return Object.entries(input.form.requestedSchema.properties).map(([name, property]) => ({
    path: `body.form.requestedSchema.properties.${name}.pattern`,
    pattern: 'pattern' in property ? property.pattern : undefined,
    maxLength: Math.min('maxLength' in property ? (property.maxLength ?? Infinity) : Infinity, MAX_FORM_TEXT_LENGTH),
  }));
}

function invalid(path: string, message: string): ProblemError {
  return new ProblemError('invalid_request', { errors: [{ path, message }] });
}

/**
 * Refuses a payment at issue that its processor would refuse after the approval, and one whose payee nothing binds to the account that
 * gets the money. Payments outside the MCP server's own limits are left to the domain, which has other error codes for them.
 *
 * @throws ProblemError `payee_not_registered`, `payment_not_possible`, which name the invalid member
 * @internal exported for tests
 */
export function assertPossiblePayment(
  request: PaymentRequest,
  mcpServer: RegisteredMcpServer,
  processors: ReadonlyMap<string, Pick<PaymentProcessor, 'canTake'>>,
): void {
  const { kinds, payment } = mcpServer;
  const isPermitted = kinds.includes(request.kind) && payment?.processors.includes(request.processor) === true;
  if (isPermitted && !isForRegisteredPayee(mcpServer, request)) {
    const names = mcpServer.config.payment?.payees.map(({ name }) => name) ?? [];
    const message = 'is not a registered payee of this MCP server, and a processor takes payments for no others';
    throw new ProblemError('payee_not_registered', {
      detail: allowed('payees', names),
      errors: [{ path: 'body.payment.payee.name', message }],
    });
  }
  if (!mayAsk(mcpServer, request)) return;
  const possibility = processors.get(request.processor)?.canTake(request.terms);
  if (possibility?.result !== 'impossible') return;
  const { member, message } = possibility;
  throw new ProblemError('payment_not_possible', { errors: [{ path: `body.payment.${member}`, message }] });
}
