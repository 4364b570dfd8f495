import type {
  AuthorizationError,
  Provider,
  ProviderRegistry,
  AuthorizationStart as StartedAttempt,
} from '@postern/authorization';
import {
  type AuthorizationState,
  type Connection,
  DomainError,
  digestOf,
  type Elicitation,
  type ElicitationOf,
  type ElicitationService,
  type Entropy,
  newAuthorizationState,
  type ReconnectReason,
  type RetryReason,
  type Stores,
  shardIn,
  type Visitor,
} from '@postern/elicitation';
import type { Vault } from '@postern/vault';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { redirectUriOf } from '../platform/http/public-urls.ts';
import { transactionContext } from '../sealing/seal-contexts.ts';

/** Lifetime of `state`: the user must return from the provider within this time. */
const TRANSACTION_MS = 10 * 60 * 1000;

/** The values of the start that the callback needs. Sealed, because they can redeem authorization codes. */
export interface TransactionSecret extends Omit<StartedAttempt, 'authorizationUrl'> {
  readonly state: AuthorizationState;
  readonly authorizationUrl: string;
  /** Requested from the provider. */
  readonly scopes: readonly string[];
  /** Granted before, at a provider that adds new scopes to them. */
  readonly heldScopes: readonly string[];
  /** Id of the account that granted them, if it is known. */
  readonly heldAccount?: string;
}

/** The scopes that an attempt will request, compared with the scopes that are granted already. */
export interface ScopePlan {
  /** Requested from the provider. */
  readonly requested: readonly string[];
  /** Granted before and after the attempt. */
  readonly held: readonly string[];
  /** The connection that will be replaced, and why it is not usable. */
  readonly connection?: Connection;
  readonly reason?: ReconnectReason;
  /** Identifies the plan: a consent is valid only for the plan that the page showed. */
  readonly digest: string;
}

export interface AuthorizationStartDeps {
  readonly config: Pick<GatewayConfig, 'publicUrl'>;
  readonly service: Pick<ElicitationService, 'accept'>;
  readonly stores: Pick<Stores, 'oneTime'>;
  readonly vault: Vault;
  readonly providers: ProviderRegistry;
  readonly entropy: Entropy;
}

/** Attempts to connect an account, up to the redirect to the provider. */
export class AuthorizationStart {
  readonly #deps: AuthorizationStartDeps;

  constructor(deps: AuthorizationStartDeps) {
    this.#deps = deps;
  }

  /**
   * Begins an attempt after the user has agreed.
   * @throws AuthorizationError before anything is written; DomainError as `accept`
   */
  async begin(
    elicitation: ElicitationOf<'authorization'>,
    visitor: Visitor,
    browserBinding: string,
    plan: ScopePlan & { readonly locale?: string },
  ): Promise<void> {
    const { elicitationId, mcpServerId, request } = elicitation;
    const state = newAuthorizationState(shardIn(elicitationId), this.#deps.entropy);
    const { requested: scopes, held: heldScopes } = plan;
    const { authorizationUrl, ...start } = await providerOf(this.#deps.providers, elicitation).start({
      redirectUri: redirectUriOf(this.#deps.config.publicUrl, mcpServerId, request.provider),
      state,
      scopes,
      resource: request.resource,
      expectedAccount: request.expectedAccount,
      locale: plan.locale,
    });
    const secret: TransactionSecret = {
      ...start,
      state,
      scopes,
      heldScopes,
      heldAccount: plan.connection?.account?.id,
      authorizationUrl: authorizationUrl.href,
    };
    const key = { digest: digestOf(state), elicitationId };
    const sealed = await this.#deps.vault.seal(JSON.stringify(secret), transactionContext(key));
    await this.#deps.service.accept(
      elicitationId,
      visitor,
      {
        record: { ...key, mcpServerId, provider: request.provider, browserBinding, sealed },
        ttlMs: TRANSACTION_MS,
      },
      [...scopes, ...heldScopes],
    );
  }

  /** Returns the authorization URL of the attempt in progress, only to the browser that began it. Changes nothing. */
  async destination(
    elicitation: Elicitation,
    browserBinding: string | undefined,
  ): Promise<{ url: string; host: string } | undefined> {
    if (elicitation.status !== 'active') return undefined;
    const record = await this.#deps.stores.oneTime.read(shardIn(elicitation.elicitationId), elicitation.attempt);
    if (record === undefined || record.browserBinding !== browserBinding) return undefined;
    const secret = JSON.parse(
      await this.#deps.vault.open(record.sealed, transactionContext(record)),
    ) as TransactionSecret;
    return { url: secret.authorizationUrl, host: secret.destinationHost };
  }
}

/** Returns the provider that the elicitation names. @throws DomainError `unknown_provider` if it is no longer configured */
export function providerOf(
  providers: Pick<ProviderRegistry, 'get'>,
  { request }: ElicitationOf<'authorization'>,
): Provider {
  const provider = providers.get(request.provider);
  if (provider === undefined) throw new DomainError('unknown_provider', 'The provider is no longer configured.');
  return provider;
}

/** Returns why the user may retry after this error of a provider. */
export function retryReasonOf(error: AuthorizationError): RetryReason {
  switch (error.code) {
    case 'access_denied':
      return 'provider_denied';
    case 'provider_unavailable':
    case 'outbound_blocked':
    case 'outbound_redirect':
    case 'outbound_too_large':
      return 'provider_unavailable';
    default:
      return 'provider_refused';
  }
}
