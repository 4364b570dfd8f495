import {
  AuthorizationError,
  type AuthorizationStart,
  type Grant,
  type Provider,
  type ProviderRegistry,
} from '@postern/authorization';
import {
  type AuthorizationState,
  DomainError,
  digestOf,
  type Elicitation,
  type ElicitationId,
  type ElicitationOf,
  type ElicitationService,
  type Entropy,
  type FailureCode,
  isOfKind,
  newAuthorizationState,
  newVerificationId,
  type OneTimeRecord,
  parseAuthorizationState,
  shardIn,
  type Trouble,
  type Visitor,
} from '@postern/elicitation';
import type { RedisStores } from '@postern/store-redis';
import type { Vault } from '@postern/vault';
import type { Events } from '../events.ts';
import type { RegisteredMcpServer } from '../registered-mcp-server.ts';
import type { GrantKeeping } from './grant-keeping.ts';
import { redirectUriOf } from './redirect-uri.ts';
import type { ScopePlan } from './scope-plan.ts';
import { unlessOvertaken } from './unless-overtaken.ts';

/** The person must come back from the provider within this time (OAuth `state` lifetime). */
const TRANSACTION_MS = 10 * 60 * 1000;
/** The application must verify within this time; authorization codes rarely live longer. */
const VERIFICATION_MS = 5 * 60 * 1000;

/** What one attempt must remember until its answer comes; sealed, because it redeems codes. */
interface TransactionSecret extends Omit<AuthorizationStart, 'authorizationUrl'> {
  readonly state: AuthorizationState;
  readonly authorizationUrl: string;
  /** Asked for at the provider. */
  readonly scopes: readonly string[];
  /** Granted before, at a provider that adds to it. */
  readonly heldScopes: readonly string[];
}

interface VerificationSecret extends TransactionSecret {
  readonly code: string;
}

export interface ProviderAnswer {
  readonly mcpServerId: string;
  readonly providerName: string;
  readonly callbackUrl: URL;
  /** Digest of the browser the answer arrived in. */
  readonly browserBinding: string | undefined;
  readonly visitorOf: (elicitation: Elicitation) => Visitor | undefined;
}

export type AnswerResult =
  /** The answer does not belong to this browser, this path, or to anything at all. */
  | { readonly result: 'refused' }
  /** The elicitation's own page tells how it stands. */
  | { readonly result: 'settled'; readonly elicitationId: ElicitationId }
  /** The application must say who is there. */
  | { readonly result: 'verify'; readonly url: URL };

export function createAuthorizationFlow(p: {
  config: { publicUrl: string };
  events: Events;
  service: ElicitationService;
  stores: Pick<RedisStores, 'oneTime'>;
  vault: Vault;
  providers: ProviderRegistry;
  grantKeeping: GrantKeeping;
  mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  entropy: Entropy;
}) {
  const { service, vault, stores, events } = p;

  const secretContext = (record: Pick<OneTimeRecord, 'digest' | 'elicitationId'>, purpose: string) => ({
    purpose,
    digest: record.digest,
    elicitation: record.elicitationId,
  });

  function providerOf(elicitation: ElicitationOf<'authorization'>): Provider {
    const provider = p.providers.get(elicitation.request.provider);
    if (provider === undefined) throw new DomainError('unknown_provider', 'The provider is no longer configured.');
    return provider;
  }

  const redirectUriFor = ({ mcpServerId, request }: ElicitationOf<'authorization'>) =>
    redirectUriOf(p.config.publicUrl, mcpServerId, request.provider);

  async function exchange(
    elicitation: ElicitationOf<'authorization'>,
    secret: TransactionSecret,
    code: string,
  ): Promise<Grant> {
    const { request } = elicitation;
    return providerOf(elicitation).exchange({
      code,
      redirectUri: redirectUriFor(elicitation),
      codeVerifier: secret.codeVerifier,
      scopes: secret.scopes,
      heldScopes: secret.heldScopes,
      ...(secret.dpopKey === undefined ? {} : { dpopKey: secret.dpopKey }),
      ...(secret.nonce === undefined ? {} : { nonce: secret.nonce }),
      ...(request.resource === undefined ? {} : { resource: request.resource }),
      expectedIssuer: secret.expectedIssuer,
    });
  }

  return {
    /** The person agreed: begins an attempt. @throws AuthorizationError before anything is written; DomainError as `accept`. */
    async begin(
      elicitation: ElicitationOf<'authorization'>,
      visitor: Visitor,
      browserBinding: string,
      plan: ScopePlan,
    ): Promise<void> {
      const { elicitationId, mcpServerId, request } = elicitation;
      const state = newAuthorizationState(shardIn(elicitationId), p.entropy);
      const { requested: scopes, held: heldScopes } = plan;
      const { authorizationUrl, ...start } = await providerOf(elicitation).start({
        redirectUri: redirectUriFor(elicitation),
        state,
        scopes,
        ...(request.resource === undefined ? {} : { resource: request.resource }),
        ...(request.expectedAccount === undefined ? {} : { expectedAccount: request.expectedAccount }),
      });
      const secret: TransactionSecret = {
        ...start,
        state,
        scopes,
        heldScopes,
        authorizationUrl: authorizationUrl.href,
      };
      const key = { digest: digestOf(state), elicitationId };
      const sealed = await vault.seal(JSON.stringify(secret), secretContext(key, 'authorization-transaction'));
      await service.accept(
        elicitationId,
        visitor,
        {
          record: { ...key, mcpServerId, provider: request.provider, browserBinding, sealed },
          ttlMs: TRANSACTION_MS,
        },
        [...plan.requested, ...plan.held],
      );
    },

    /** Where the attempt in progress leads, for the browser that began it and nobody else. Changes nothing. */
    async destination(
      elicitation: Elicitation,
      browserBinding: string | undefined,
    ): Promise<{ url: string; host: string } | undefined> {
      if (elicitation.status !== 'active') return undefined;
      const record = await stores.oneTime.read(shardIn(elicitation.elicitationId), elicitation.attempt);
      if (record === undefined || record.browserBinding !== browserBinding) return undefined;
      const secret = JSON.parse(
        await vault.open(record.sealed, secretContext(record, 'authorization-transaction')),
      ) as TransactionSecret;
      return { url: secret.authorizationUrl, host: secret.destinationHost };
    },

    /**
     * Check 3. The provider's answer counts only in the browser that began the attempt, signed in as the same person, on
     * the path of the same MCP server and provider. The transaction is taken first, so an answer that arrives anywhere
     * else burns it; no token request is made before every check has passed.
     */
    async answer(answer: ProviderAnswer): Promise<AnswerResult> {
      const refuse = (reason: string, elicitationId?: string): AnswerResult => {
        const { mcpServerId, providerName: provider } = answer;
        events.callbackRefused({
          reason,
          mcpServerId,
          provider,
          ...(elicitationId === undefined ? {} : { elicitationId }),
        });
        return { result: 'refused' };
      };
      const states = answer.callbackUrl.searchParams.getAll('state');
      const state = states.length === 1 ? parseAuthorizationState(states[0] ?? '') : undefined;
      if (state === undefined) return refuse('no_state');

      const consumed = await stores.oneTime.consume(shardIn(state), digestOf(state));
      if (consumed.result === 'unknown') return refuse('unknown_state');
      const { record } = consumed;
      const { elicitationId } = record;
      if (record.browserBinding === undefined || record.browserBinding !== answer.browserBinding)
        return refuse('foreign_browser', elicitationId);
      if (consumed.result === 'spent') return { result: 'settled', elicitationId };
      if (record.mcpServerId !== answer.mcpServerId || record.provider !== answer.providerName)
        return refuse('foreign_path', elicitationId);

      const elicitation = await service.find(elicitationId);
      if (elicitation === undefined || !isOfKind(elicitation, 'authorization'))
        return refuse('no_elicitation', elicitationId);
      const settled: AnswerResult = { result: 'settled', elicitationId };
      const comeBack = async (trouble: Trouble, missing?: readonly string[]): Promise<AnswerResult> => {
        await unlessOvertaken(service.retry(elicitationId, record.digest, trouble, missing));
        return settled;
      };
      const visitor = answer.visitorOf(elicitation);
      if (visitor === undefined) return comeBack('start_again');
      if (!service.checkSamePerson(elicitation, visitor)) return comeBack('start_again');
      if (elicitation.status !== 'active' || elicitation.attempt !== record.digest) return settled;

      const secret = JSON.parse(
        await vault.open(consumed.record.sealed, secretContext(record, 'authorization-transaction')),
      ) as TransactionSecret;
      let grant: Grant;
      try {
        const { code } = await providerOf(elicitation).validateCallback({
          callbackUrl: answer.callbackUrl,
          redirectUri: redirectUriFor(elicitation),
          state: secret.state,
          issRequired: secret.issRequired,
          expectedIssuer: secret.expectedIssuer,
        });
        const identity = p.mcpServers.get(elicitation.mcpServerId)?.config.identity;
        if (identity?.mode === 'external')
          return await hold(elicitation, record.digest, { ...secret, code }, identity.verifyUrl);
        grant = await exchange(elicitation, secret, code);
      } catch (error) {
        if (!(error instanceof AuthorizationError)) throw error;
        events.callbackRefused({
          reason: error.code,
          mcpServerId: answer.mcpServerId,
          provider: answer.providerName,
          elicitationId,
        });
        return comeBack(troubleOf(error));
      }
      const kept = await p.grantKeeping(elicitation, record.digest, grant, redirectUriFor(elicitation));
      return kept.result === 'wrong_account' || kept.result === 'fewer_scopes'
        ? comeBack(kept.result, kept.missing)
        : settled;
    },

    /** The application has confirmed the person: the code is used now. Ends the elicitation either way. */
    async finishVerified(elicitation: ElicitationOf<'authorization'>, record: OneTimeRecord): Promise<Elicitation> {
      const secret = JSON.parse(
        await vault.open(record.sealed, secretContext(record, 'verification')),
      ) as VerificationSecret;
      const fail = (failure: FailureCode) => service.fail(elicitation.elicitationId, record.digest, failure);
      let grant: Grant;
      try {
        grant = await exchange(elicitation, secret, secret.code);
      } catch (error) {
        if (error instanceof AuthorizationError) return fail('provider_refused');
        throw error;
      }
      const kept = await p.grantKeeping(elicitation, record.digest, grant, redirectUriFor(elicitation));
      switch (kept.result) {
        case 'completed':
          return kept.elicitation;
        case 'overtaken':
          throw kept.error;
        default:
          return fail(kept.result);
      }
    },
  };

  async function hold(
    elicitation: Elicitation,
    attempt: string,
    secret: VerificationSecret,
    verifyUrl: string,
  ): Promise<AnswerResult> {
    const { elicitationId, mcpServerId } = elicitation;
    const verificationId = newVerificationId(shardIn(elicitationId), p.entropy);
    const key = { digest: digestOf(verificationId), elicitationId };
    const sealed = await vault.seal(JSON.stringify(secret), secretContext(key, 'verification'));
    let held = false;
    await unlessOvertaken(
      service
        .hold(elicitationId, attempt, { record: { ...key, mcpServerId, sealed }, ttlMs: VERIFICATION_MS })
        .then(() => {
          held = true;
        }),
    );
    if (!held) return { result: 'settled', elicitationId };
    const url = new URL(verifyUrl);
    url.searchParams.set('elicitationId', elicitationId);
    url.searchParams.set('verificationId', verificationId);
    return { result: 'verify', url };
  }
}

export type AuthorizationFlow = ReturnType<typeof createAuthorizationFlow>;

export function troubleOf(error: AuthorizationError): Trouble {
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
