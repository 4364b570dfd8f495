import {
  type AccessTokenVerifier,
  type ClientPresentation,
  createAccessTokenVerifier,
  createOutboundFetch,
  createProviderRegistry,
  createRemoteRegistrations,
  createSignIn,
  type IdentityProviderConfig,
  type ProviderRegistry,
  type SignIn,
} from '@postern/authorization';
import {
  type Clock,
  createElicitationService,
  type ElicitationService,
  type Entropy,
  systemEntropy,
} from '@postern/elicitation';
import {
  createPasskeys,
  createProcessor,
  createReceipts,
  type PaymentProcessor,
  type Receipts,
} from '@postern/payment';
import { createRedisStores, openQueueRedis, type QueueRedis, type RedisStores } from '@postern/store-redis';
import { createKeyRing, createVault, type KeyRing, type Vault } from '@postern/vault';
import { createAuditStream } from './audit-stream.ts';
import { type CallerDirectory, createCallerDirectory } from './caller-directory.ts';
import { capacityReports, createRedisFaultLog } from './capacity-reports.ts';
import type { GatewayConfig } from './config/config-schema.ts';
import { configuredHosts } from './config/configured-hosts.ts';
import { storageQuotaOf } from './config/storage-quota.ts';
import { durabilityReports } from './durability-reports.ts';
import { type AuditSink, createEvents, type Events } from './events.ts';
import { type AccessTokenFlow, createAccessTokenFlow } from './flows/access-token-flow.ts';
import { type ApprovalFlow, createApprovalFlow } from './flows/approval-flow.ts';
import { type ApprovalPolicy, createApprovalPolicy } from './flows/approval-policy.ts';
import { type AuthorizationFlow, createAuthorizationFlow } from './flows/authorization-flow.ts';
import { createClientPresentation } from './flows/client-presentation.ts';
import { createClientRegistrations } from './flows/client-registrations.ts';
import { createCredentialCheck, isUnavailable } from './flows/credential-check.ts';
import { type CredentialFlow, createCredentialFlow } from './flows/credential-flow.ts';
import { createDeviceFlow, type DeviceFlow } from './flows/device-flow.ts';
import { createDisconnection, type Disconnection } from './flows/disconnection.ts';
import { createExternalVerification, type ExternalVerification } from './flows/external-verification.ts';
import { createGrantKeeping } from './flows/grant-keeping.ts';
import { createIssueFlow, type IssueFlow } from './flows/issue-flow.ts';
import { createOpenedTokens } from './flows/opened-tokens.ts';
import { createPasskeyChangeFlow, type PasskeyChangeFlow } from './flows/passkey-change-flow.ts';
import { createPasskeyFlow, type PasskeyFlow } from './flows/passkey-flow.ts';
import { createPaymentFlow, type PaymentFlow } from './flows/payment-flow.ts';
import { receiptKeysOf } from './flows/receipt-keys.ts';
import { createRedemptionFlow, type RedemptionFlow } from './flows/redemption-flow.ts';
import { createRevocationFlow, type RevocationFlow } from './flows/revocation-flow.ts';
import { createScopePlanner, type ScopePlanner } from './flows/scope-plan.ts';
import { createSignInFlow, type SignInFlow } from './flows/sign-in-flow.ts';
import { createSignInWays, type SignInWays } from './flows/sign-in-ways.ts';
import { createSubmissionFlow, type SubmissionFlow } from './flows/submission-flow.ts';
import { createTokenRefresh, type TokenRefresh } from './flows/token-refresh.ts';
import { createTokenSets } from './flows/token-set.ts';
import { createEventStreams, type EventStreams } from './http/api/event-streams.ts';
import type { Logger } from './logger.ts';
import { lossReports } from './loss-reports.ts';
import type { Metrics } from './metrics/create-metrics.ts';
import { createRegisteredNames, namesIn, type RegisteredNames } from './names/registered-names.ts';
import { createObservation, type Observation } from './observation.ts';
import { outboundPolicyOf } from './outbound/outbound-policy-of.ts';
import { identityProviderAt, watchedProviders } from './outbound/watched-parts.ts';
import { createOverload, type Overload } from './overload/overload.ts';
import { processorThrough, providersThrough, signInThrough, verifyThrough } from './overload/through-upstream.ts';
import { createUpstreams } from './overload/upstreams.ts';
import { pseudonymsOf } from './pseudonyms.ts';
import { createQuotaReports } from './quota-reports.ts';
import { redisTarget } from './redis-target.ts';
import { type RegisteredMcpServer, registerMcpServer } from './registered-mcp-server.ts';
import { sharedSecretOf } from './shared-secret.ts';
import { createStopping, type Stopping } from './stopping.ts';
import type { Telemetry } from './telemetry/telemetry.ts';
import { createUnknownLayoutLog } from './unknown-layouts.ts';

const DAY_MS = 24 * 3_600_000;

export interface IdentityProvider {
  readonly config: IdentityProviderConfig;
  readonly signIn: SignIn;
}

/** Everything the routes work with. Made once, here; nothing below reaches for anything global. */
export interface GatewayDeps extends AsyncDisposable {
  readonly config: GatewayConfig;
  readonly logger: Logger;
  readonly events: Events;
  /** Who gets audit events beside the log. */
  readonly auditSinks: readonly AuditSink[];
  /** Where metrics are configured. */
  readonly metrics: Metrics | undefined;
  /** Where traces are configured. */
  readonly telemetry: Telemetry | undefined;
  /** For what begins to ask others only when all of this is there. */
  readonly observe: Pick<Observation, 'fetch' | 'delivery'>;
  readonly overload: Overload;
  readonly stopping: Stopping;
  readonly stores: RedisStores;
  /** See `createUnknownLayoutLog`. */
  readonly noteUnknownLayout: (error: unknown) => boolean;
  /** See `createQuotaReports`. */
  readonly noteQuota: (error: unknown) => void;
  /** A connection of its own for job queues, closed by whoever opens it. */
  readonly openQueueRedis: () => QueueRedis;
  readonly service: ElicitationService;
  readonly vault: Vault;
  readonly providers: ProviderRegistry;
  readonly clientPresentation: ClientPresentation;
  readonly identityProviders: readonly IdentityProvider[];
  readonly mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  readonly accessTokens: AccessTokenVerifier;
  readonly callers: CallerDirectory;
  readonly registeredNames: RegisteredNames;
  readonly issueFlow: IssueFlow;
  readonly authorizationFlow: AuthorizationFlow;
  readonly deviceFlow: DeviceFlow;
  readonly scopePlan: ScopePlanner;
  readonly accessTokenFlow: AccessTokenFlow;
  readonly tokenRefresh: TokenRefresh;
  readonly revocationFlow: RevocationFlow;
  readonly disconnection: Disconnection;
  readonly signInFlow: SignInFlow;
  readonly signInWays: SignInWays;
  readonly externalVerification: ExternalVerification;
  readonly approvalPolicy: ApprovalPolicy;
  readonly approvalFlow: ApprovalFlow;
  readonly passkeyFlow: PasskeyFlow;
  readonly passkeyChangeFlow: PasskeyChangeFlow;
  readonly processors: ReadonlyMap<string, PaymentProcessor>;
  readonly paymentFlow: PaymentFlow;
  readonly submissionFlow: SubmissionFlow;
  readonly redemptionFlow: RedemptionFlow;
  readonly credentialFlow: CredentialFlow;
  readonly receipts: Receipts;
  readonly eventStreams: EventStreams;
  readonly now: Clock;
  readonly entropy: Entropy;
}

export interface DepsOptions {
  readonly logger: Logger;
  /** Where the store is; the embedded Redis hands its own address here. */
  readonly redisUrl?: string;
  /** Replaces the clocks of process and store, in tests. */
  readonly now?: Clock;
  /** Replaces the pause between two ticks of the sweepers, in milliseconds, in tests. */
  readonly sweepPauseMs?: number;
  /** Replaces the pause between two looks at Redis, in milliseconds, in tests. */
  readonly redisWatchMs?: number;
  /** Replaces the timeout of a Redis command, in milliseconds, in tests. */
  readonly redisTimeoutMs?: number;
  readonly entropy?: Entropy;
  /** Instead of the keys of the configuration: for keys that stay in a key service. */
  readonly keyRing?: KeyRing;
}

/**
 * The composition root: configuration in, working parts out. Talks to Redis (and refuses an unsafe one), to nobody else.
 * @throws UnsafeRedisError, StoreUnavailableError, VaultError
 */
export async function createDeps(config: GatewayConfig, options: DepsOptions): Promise<GatewayDeps> {
  const { logger } = options;
  const now = options.now ?? Date.now;
  const entropy = options.entropy ?? systemEntropy;
  const { metrics, telemetry, ...observe } = await createObservation(config, logger);
  const { outboundLog } = observe;
  const vault = createVault(options.keyRing ?? createKeyRing(config.vault.keys));
  const requestLimitMs = config.outbound.timeoutSeconds * 1000;
  const overload = createOverload({
    limits: config.overload,
    mcpServers: config.mcpServers.length,
    logger,
    metrics,
  });
  const stopping = createStopping();
  const fetch = createOutboundFetch({
    ...outboundPolicyOf(config),
    timeoutMs: requestLimitMs,
    configuredHosts: configuredHosts([config.identityProviders, config.providers, config.mcpServers]),
  });
  const upstreamOf = createUpstreams({ fetch, observe: observe.fetch, overload, logger, metrics, now });
  const identityProviders = config.identityProviders.map(identityProvider => {
    const upstream = upstreamOf('identity_provider', identityProvider.name);
    const signIn = createSignIn({ identityProvider, fetch: upstream.fetch, now });
    const watched = outboundLog.watched(identityProviderAt(identityProvider), signIn);
    return { config: identityProvider, signIn: signInThrough(upstream, watched) };
  });
  const mcpServers = new Map(
    config.mcpServers.map(server => [server.id, registerMcpServer(server, storageQuotaOf(server, config))]),
  );
  const target = redisTarget(config.redis, options.redisUrl);
  const stores = await createRedisStores({
    ...target.stores,
    paymentRetentionMs: config.payment.retentionDays * DAY_MS,
    feed: { events: config.events.retained, maxAgeMs: config.events.retainedDays * DAY_MS },
    ...(options.now === undefined ? {} : { now: options.now }),
    ...(options.redisTimeoutMs === undefined ? {} : { commandTimeoutMs: options.redisTimeoutMs }),
    ...(options.redisWatchMs === undefined ? {} : { watchMs: options.redisWatchMs }),
    onCommand: observe.onCommand(createRedisFaultLog(logger)),
    auditRetained: config.audit.retained,
    maxPendingCommands: config.overload.redisCommands,
    ...durabilityReports(logger, metrics),
    ...capacityReports(logger, metrics),
    onLate: late =>
      logger.warn({ event: 'redis.unreachable', ...late }, 'Redis does not answer; the gateway keeps trying to start'),
    lossWatch: {
      deployment: config.redis.deployment,
      ...lossReports({ logger, metrics, events: () => events, isPinned: config.redis.deployment !== undefined }),
    },
  });
  // Times in the log are those of this machine, whatever clock the rest goes by.
  const auditStream = config.audit.stream
    ? createAuditStream({
        ...{ audits: stores.audits, logger, now: Date.now },
        onLost: () => metrics?.auditLineLost(),
      })
    : undefined;
  const auditSinks = [metrics?.audit ?? [], auditStream?.sink ?? []].flat();
  const events = createEvents(logger, pseudonymsOf(config, options.keyRing !== undefined), auditSinks);

  const clientPresentation = createClientPresentation({ config, mcpServers });
  const clientRegistrations = createClientRegistrations({ stores, vault });
  const registries = config.providers.map(provider => {
    const { fetch } = upstreamOf('provider', provider.name);
    const registrationsOf = createRemoteRegistrations({
      presentation: clientPresentation,
      store: clientRegistrations,
      onUnusedClient: events.unusedClient,
      ...{ fetch, now },
    });
    return watchedProviders(
      createProviderRegistry({ providers: [provider], fetch, now, registrationsOf }),
      [provider],
      outboundLog,
    );
  });
  const providers = providersThrough(name => upstreamOf('provider', name), registries);

  const defaultScopes = new Map(
    config.providers.map(provider => [provider.name, { defaultScopes: provider.defaultScopes }]),
  );
  const plainService = createElicitationService({
    elicitations: stores.elicitations,
    connections: stores.connections,
    notifier: stores.notifier,
    providers: name => defaultScopes.get(name),
    audit: events.elicitation,
    entropy,
    now,
  });
  const service = observe.service(plainService);
  const shared = { config, events, stores, service, vault, providers, mcpServers, now, entropy, requestLimitMs };
  const tokenSets = createTokenSets(vault);
  const revocationFlow = observe.revocationFlow(createRevocationFlow({ ...shared, tokenSets }));
  const tokenRefresh = observe.tokenRefresh(createTokenRefresh({ ...shared, tokenSets, revocationFlow }));
  const grantKeeping = createGrantKeeping({ ...shared, tokenSets, revocationFlow });
  const parts = { ...shared, identityProviders, tokenSets, tokenRefresh, revocationFlow, grantKeeping };
  const approvalPolicy = createApprovalPolicy(shared);
  const processors = new Map(
    await Promise.all(
      config.processors.map(async processor => {
        const gateway = new URL(config.publicUrl).host;
        const upstream = upstreamOf('processor', processor.name);
        const options = { fetch: upstream.fetch, gateway, now, timeoutMs: requestLimitMs };
        const whose = { target: 'processor', name: processor.name } as const;
        const watched = outboundLog.watched(whose, await createProcessor(processor, options));
        return [processor.name, processorThrough(upstream, watched)] as const;
      }),
    ),
  );
  const receipts = createReceipts({
    issuer: config.publicUrl,
    keys: receiptKeysOf(config, options.keyRing !== undefined),
  });
  const passkeys = createPasskeys({
    rpId: new URL(config.publicUrl).hostname,
    rpName: config.branding.name,
    origin: config.publicUrl,
  });
  const accessTokens = createAccessTokenVerifier({
    identityProviders: config.identityProviders,
    fetchFor: ({ name }) => upstreamOf('identity_provider', name).fetch,
    now,
    around: (identityProvider, work) =>
      verifyThrough(upstreamOf('identity_provider', identityProvider.name), identityProvider.name, () =>
        outboundLog.run(identityProviderAt(identityProvider), work),
      ),
  });
  const authorizationFlow = createAuthorizationFlow(parts);
  const registeredNames = createRegisteredNames(namesIn(config));

  return {
    ...parts,
    logger,
    noteUnknownLayout: createUnknownLayoutLog({ logger, now: Date.now }),
    noteQuota: createQuotaReports({ logger, metrics, now: Date.now }),
    auditSinks,
    metrics,
    telemetry,
    observe,
    overload,
    stopping,
    openQueueRedis: () => openQueueRedis(target.queue),
    clientPresentation,
    accessTokens,
    registeredNames,
    callers: createCallerDirectory({ mcpServers: [...mcpServers.values()], audience: config.publicUrl, now }),
    issueFlow: createIssueFlow({ ...parts, accessTokens, processors, registeredNames }),
    authorizationFlow,
    deviceFlow: createDeviceFlow(parts),
    scopePlan: createScopePlanner(parts),
    accessTokenFlow: createAccessTokenFlow({
      ...parts,
      upstreamOf: provider => upstreamOf('provider', provider),
      openedTokens: createOpenedTokens(parts),
    }),
    disconnection: createDisconnection(parts),
    signInFlow: createSignInFlow(parts),
    signInWays: createSignInWays({ ...parts, secret: sharedSecretOf(config, options.keyRing !== undefined) }),
    externalVerification: createExternalVerification({ ...parts, authorizationFlow }),
    approvalPolicy,
    approvalFlow: createApprovalFlow({ ...parts, approvalPolicy }),
    passkeyFlow: createPasskeyFlow({ ...parts, passkeys, approvalPolicy }),
    passkeyChangeFlow: createPasskeyChangeFlow({ ...parts, passkeys }),
    processors,
    paymentFlow: createPaymentFlow({ ...parts, processors }),
    submissionFlow: createSubmissionFlow({
      ...parts,
      credentialCheck(check, values, name) {
        const { fetch, ask } = upstreamOf('credential_check', name);
        const work = () => createCredentialCheck({ fetch })(check, values);
        return ask(
          () => outboundLog.run({ target: 'credential_check', name }, work, isUnavailable),
          () => 'unavailable',
        );
      },
    }),
    redemptionFlow: createRedemptionFlow({ ...parts, receipts }),
    credentialFlow: createCredentialFlow(parts),
    receipts,
    eventStreams: createEventStreams({
      feeds: stores.feeds,
      max: config.overload.eventStreams,
      onFull: () => overload.refused('wait', 'cap'),
      onError: error => logger.warn({ event: 'events.unread', error }, 'events could not be read, will try again'),
    }),
    async [Symbol.asyncDispose]() {
      overload[Symbol.dispose]();
      await tokenRefresh.drain();
      await auditStream?.[Symbol.asyncDispose]();
      await stores.close();
      await fetch.close();
      await telemetry?.[Symbol.asyncDispose]();
    },
  };
}
