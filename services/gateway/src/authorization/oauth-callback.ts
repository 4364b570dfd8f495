import { AuthorizationError, type Grant, type ProviderRegistry, type ValidatedCallback } from '@postern/authorization';
import {
  type BrowserSession,
  digestOf,
  type Elicitation,
  type ElicitationId,
  type ElicitationOf,
  type ElicitationService,
  type Entropy,
  type FailureCode,
  ignoreSuperseded,
  isOfKind,
  newVerificationId,
  type OneTimeRecord,
  parseAuthorizationState,
  type RetryReason,
  type Stores,
  shardIn,
  type Visitor,
} from '@postern/elicitation';
import { noRequestPage, wrongBrowserPage } from '@postern/pages';
import type { Vault } from '@postern/vault';
import type { FastifyPluginAsync } from 'fastify';
import type { RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import { visitorIn, visitorOf } from '../pages/browser-cookies.ts';
import { assertNoPrefetch } from '../pages/page-request.ts';
import type { PageKit } from '../pages/page-views.ts';
import type { AuditLog } from '../platform/audit/audit-events.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { elicitationPath, redirectUriOf } from '../platform/http/public-urls.ts';
import { transactionContext, verificationContext } from '../sealing/seal-contexts.ts';
import { providerOf, retryReasonOf, type TransactionSecret } from './authorization-start.ts';
import type { StoreGrant } from './store-grant.ts';

/** The application must verify within this time. Authorization codes rarely live longer. */
const VERIFICATION_MS = 5 * 60 * 1000;

/** A code that waits for the application to verify the user. */
type VerificationSecret = TransactionSecret & ValidatedCallback;

/** An authorization response (RFC 6749 section 4.1.2) and the browser that delivers it. */
export interface AuthorizationResponse {
  readonly mcpServerId: string;
  readonly providerName: string;
  readonly callbackUrl: URL;
  /** Digest of the cookie of the browser that delivers the response. */
  readonly browserBinding: string | undefined;
  readonly visitorOf: (elicitation: Elicitation) => Visitor | undefined;
}

export type CallbackResult =
  /** Another browser began the attempt. */
  | { readonly result: 'foreign_browser' }
  /** The response belongs to no transaction, or to one of another path. */
  | { readonly result: 'no_request' }
  /** The page of the elicitation shows the status. */
  | { readonly result: 'settled'; readonly elicitationId: ElicitationId }
  /** The application must verify the user. */
  | { readonly result: 'verify'; readonly url: URL };

type RefusalReason = 'no_state' | 'unknown_state' | 'foreign_browser' | 'foreign_path' | 'no_elicitation';

export interface CallbackRoutesDeps {
  readonly config: Pick<GatewayConfig, 'publicUrl'>;
  readonly mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  readonly providers: Pick<ProviderRegistry, 'get'>;
  readonly oauthCallback: Pick<OAuthCallback, 'handle'>;
  readonly service: Pick<ElicitationService, 'listOpen'>;
}

/**
 * The redirect URI. It redirects the browser immediately, because its URL contains a code. A refused response gets a 4xx
 * without a redirect: its `state` is used up, so this gateway will not accept the code in the address bar.
 */
export const callbackRoutes: FastifyPluginAsync<PageKit<CallbackRoutesDeps>> = async (
  app,
  { deps, browser, views },
) => {
  /**
   * The way back for a response without a request. Without `state`, a response changes nothing: any page can send a browser here. The
   * link depends on who is signed in only.
   */
  async function wayBack(browserSession: BrowserSession | undefined, mcpServerId: string, provider: string) {
    if (browserSession === undefined) return {};
    const begun = (await deps.service.listOpen(visitorIn(browserSession), [mcpServerId])).filter(
      elicitation =>
        elicitation.status === 'active' &&
        isOfKind(elicitation, 'authorization') &&
        elicitation.request.provider === provider &&
        views.isStillAllowed(elicitation),
    );
    const [only, ...others] = begun;
    return only === undefined || others.length > 0
      ? { accountHref: '/me' }
      : { requestHref: elicitationPath(only.elicitationId) };
  }

  app.get<{ Params: { mcpServerId: string; provider: string } }>(
    '/callback/:mcpServerId/:provider',
    { exposeHeadRoute: false },
    async (request, reply) => {
      assertNoPrefetch(request);
      const { mcpServerId, provider } = request.params;
      const browserSession = await browser.readSession(request);
      const callback = await deps.oauthCallback.handle({
        // Audit events never carry text from the path.
        mcpServerId: deps.mcpServers.has(mcpServerId) ? mcpServerId : '(unknown)',
        providerName: deps.providers.get(provider) === undefined ? '(unknown)' : provider,
        callbackUrl: new URL(request.url, deps.config.publicUrl),
        browserBinding: browser.bindingOf(request),
        visitorOf: elicitation =>
          views.isStillAllowed(elicitation) ? visitorOf(elicitation, browserSession) : undefined,
      });
      switch (callback.result) {
        case 'foreign_browser':
          return reply.code(400).send(wrongBrowserPage(views.context(request)));
        case 'no_request': {
          const back = await wayBack(browserSession, mcpServerId, provider);
          return reply.code(400).send(noRequestPage(views.context(request), back));
        }
        case 'settled':
          return reply.redirect(elicitationPath(callback.elicitationId), 303);
        case 'verify':
          return reply.redirect(callback.url.href, 303);
      }
    },
  );
};

export interface OAuthCallbackDeps {
  readonly config: Pick<GatewayConfig, 'publicUrl'>;
  readonly auditLog: AuditLog;
  readonly service: Pick<ElicitationService, 'find' | 'checkSamePerson' | 'retry' | 'hold' | 'fail'>;
  readonly stores: Pick<Stores, 'oneTime'>;
  readonly vault: Vault;
  readonly providers: ProviderRegistry;
  readonly storeGrant: StoreGrant;
  readonly mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  readonly entropy: Entropy;
}

/** Turns authorization responses into connections. */
export class OAuthCallback {
  readonly #deps: OAuthCallbackDeps;

  constructor(deps: OAuthCallbackDeps) {
    this.#deps = deps;
  }

  /**
   * Check 3 of the same-person rule. Each check below must pass before the code reaches the token endpoint. The transaction is
   * consumed before the comparisons, so a response in a foreign browser or on a foreign path uses it up.
   */
  async handle(response: AuthorizationResponse): Promise<CallbackResult> {
    const { service, stores, vault, providers, mcpServers, storeGrant, auditLog } = this.#deps;
    const refuse = (reason: RefusalReason, elicitationId?: string): CallbackResult => {
      const { mcpServerId, providerName: provider } = response;
      auditLog.record('callback.refused', {
        reason,
        mcpServerId,
        provider,
        elicitationId,
      });
      return { result: reason === 'foreign_browser' ? reason : 'no_request' };
    };

    // RFC 6749 sections 3.1 and 10.12: exactly one `state`, in our format.
    const states = response.callbackUrl.searchParams.getAll('state');
    const state = states.length === 1 ? parseAuthorizationState(states[0] ?? '') : undefined;
    if (state === undefined) return refuse('no_state');

    // RFC 9700 section 4.2.4: `state` is valid once. Redis consumes it atomically, also on concurrent requests.
    const consumed = await stores.oneTime.consume(shardIn(state), digestOf(state));
    if (consumed.result === 'unknown') return refuse('unknown_state');
    const { record } = consumed;
    const { elicitationId } = record;

    // RFC 9700 section 4.7: the browser must be the one that began the attempt.
    if (record.browserBinding === undefined || record.browserBinding !== response.browserBinding)
      return refuse('foreign_browser', elicitationId);
    if (consumed.result === 'spent') return { result: 'settled', elicitationId };

    // RFC 9700 section 4.4.2.2: each MCP server and provider has its own redirect URI.
    if (record.mcpServerId !== response.mcpServerId || record.provider !== response.providerName)
      return refuse('foreign_path', elicitationId);

    const elicitation = await service.find(elicitationId);
    if (elicitation === undefined || !isOfKind(elicitation, 'authorization'))
      return refuse('no_elicitation', elicitationId);
    const settled: CallbackResult = { result: 'settled', elicitationId };
    const letRetry = async (reason: RetryReason, missing?: readonly string[]): Promise<CallbackResult> => {
      await ignoreSuperseded(service.retry(elicitationId, record.digest, reason, missing));
      return settled;
    };

    // MCP, URL mode: the signed-in user must be the subject of the elicitation.
    const visitor = response.visitorOf(elicitation);
    if (visitor === undefined) return letRetry('start_again');
    if (!service.checkSamePerson(elicitation, visitor)) return letRetry('start_again');

    // A newer attempt replaces this one.
    if (elicitation.status !== 'active' || elicitation.attempt !== record.digest) return settled;

    const opened = await vault.open(consumed.record.sealed, transactionContext(record));
    const secret = JSON.parse(opened) as TransactionSecret;
    let grant: Grant;
    let validated: ValidatedCallback;
    try {
      // RFC 9207 section 2.4: `iss` names the recorded issuer. RFC 6749 section 4.1.2: one code, or an error.
      validated = await providerOf(providers, elicitation).validateCallback({
        callbackUrl: response.callbackUrl,
        redirectUri: this.#redirectUriFor(elicitation),
        state: secret.state,
        issRequired: secret.issRequired,
        expectedIssuer: secret.expectedIssuer,
      });
      const identity = mcpServers.get(elicitation.mcpServerId)?.config.identity;
      if (identity?.mode === 'external')
        return await this.#holdCode(elicitation, record.digest, { ...secret, ...validated }, identity.verifyUrl);
      grant = await this.#exchange(elicitation, secret, validated.code);
    } catch (error) {
      if (!(error instanceof AuthorizationError)) throw error;
      auditLog.record('callback.refused', {
        reason: error.code,
        mcpServerId: response.mcpServerId,
        provider: response.providerName,
        elicitationId,
      });
      return letRetry(retryReasonOf(error));
    }

    // The grant must be for the expected account and cover the requested scopes. It is committed with the outcome.
    const stored = await storeGrant(elicitation, record.digest, grant, validated.callbackMembers);
    return stored.result === 'wrong_account' || stored.result === 'fewer_scopes'
      ? letRetry(stored.result, stored.missing)
      : settled;
  }

  /** The application has verified the user: exchanges the held code. The elicitation always ends. */
  async finishVerified(elicitation: ElicitationOf<'authorization'>, record: OneTimeRecord): Promise<Elicitation> {
    const { service, vault, storeGrant } = this.#deps;
    const secret = JSON.parse(await vault.open(record.sealed, verificationContext(record))) as VerificationSecret;
    const fail = (failure: FailureCode) => service.fail(elicitation.elicitationId, record.digest, failure);
    let grant: Grant;
    try {
      grant = await this.#exchange(elicitation, secret, secret.code);
    } catch (error) {
      if (error instanceof AuthorizationError) return fail('provider_refused');
      throw error;
    }
    const stored = await storeGrant(elicitation, record.digest, grant, secret.callbackMembers);
    switch (stored.result) {
      case 'completed':
        return stored.elicitation;
      case 'superseded':
        throw stored.error;
      default:
        return fail(stored.result);
    }
  }

  /**
   * Sends the code to the token endpoint with the values of the transaction: redirect URI (RFC 6749 section 4.1.3), code verifier
   * (RFC 7636 section 4.5), nonce (OpenID Connect Core section 3.1.3.7). The provider compares the issuer again.
   */
  #exchange(elicitation: ElicitationOf<'authorization'>, secret: TransactionSecret, code: string): Promise<Grant> {
    const { request } = elicitation;
    return providerOf(this.#deps.providers, elicitation).exchange({
      code,
      redirectUri: this.#redirectUriFor(elicitation),
      codeVerifier: secret.codeVerifier,
      scopes: secret.scopes,
      heldScopes: secret.heldScopes,
      heldAccount: secret.heldAccount,
      clientId: secret.clientId,
      dpopKey: secret.dpopKey,
      nonce: secret.nonce,
      resource: request.resource,
      expectedIssuer: secret.expectedIssuer,
    });
  }

  /** Identity mode `external`: seals the code until the application has verified the user in the same browser. */
  async #holdCode(
    elicitation: Elicitation,
    attempt: string,
    secret: VerificationSecret,
    verifyUrl: string,
  ): Promise<CallbackResult> {
    const { service, vault, entropy } = this.#deps;
    const { elicitationId, mcpServerId } = elicitation;
    const verificationId = newVerificationId(shardIn(elicitationId), entropy);
    const key = { digest: digestOf(verificationId), elicitationId };
    const sealed = await vault.seal(JSON.stringify(secret), verificationContext(key));
    let isHeld = false;
    await ignoreSuperseded(
      service
        .hold(elicitationId, attempt, { record: { ...key, mcpServerId, sealed }, ttlMs: VERIFICATION_MS })
        .then(() => {
          isHeld = true;
        }),
    );
    if (!isHeld) return { result: 'settled', elicitationId };
    const url = new URL(verifyUrl);
    url.searchParams.set('elicitationId', elicitationId);
    url.searchParams.set('verificationId', verificationId);
    return { result: 'verify', url };
  }

  #redirectUriFor({ mcpServerId, request }: ElicitationOf<'authorization'>): URL {
    return redirectUriOf(this.#deps.config.publicUrl, mcpServerId, request.provider);
  }
}
