import { isDeepStrictEqual } from 'node:util';
import { createOutboundConnections, type OutboundConnections } from '@postern/authorization';
import { type Clock, type Entropy, type Stores, systemEntropy } from '@postern/elicitation';
import type { QueueRedis } from '@postern/store-redis';
import type { Vault } from '@postern/vault';
import { createProviderAnswers, type ProviderAnswers } from './authorization/provider-answers.ts';
import type { RefreshesInProgress } from './authorization/token-refresh.ts';
import { createPatterns, type Patterns } from './entries/patterns.ts';
import { type ApiKeyWatch, startApiKeyWatch } from './mcp-servers/api-key-list.ts';
import { createApiKeyUses, type NoteApiKeyUse } from './mcp-servers/caller-auth.ts';
import { createObservation, type Observation } from './observation.ts';
import type { AuditLog, AuditSink, Pseudonyms } from './platform/audit/audit-events.ts';
import { createAuditLog, createAuditStream, createRefreshCounter, pseudonymsOf } from './platform/audit/audit-log.ts';
import type { GatewayConfig } from './platform/config/config-schema.ts';
import { hasKeyService } from './platform/config/vault-config.ts';
import type { Asset } from './platform/http/static-assets.ts';
import type { Logger } from './platform/logger.ts';
import type { Metrics } from './platform/metrics/create-metrics.ts';
import { outboundPolicyOf } from './platform/outbound/outbound-policy-of.ts';
import { createOverload, type Overload } from './platform/overload/admission.ts';
import { type Bulkheads, createBulkheads } from './platform/overload/upstream.ts';
import { createQuotaReports, createUnknownLayoutLog } from './platform/redis/redis-reports.ts';
import { newReplicaId } from './platform/replica.ts';
import { createStopping, type Stopping } from './platform/stopping.ts';
import { type Network, offered } from './platform/store/network.ts';
import { openStores, type StoreOptions } from './platform/store/open-stores.ts';
import type { Telemetry } from './platform/telemetry/telemetry.ts';
import { type OpenedVault, openWatchedVault } from './sealing/open-vault.ts';

/** The parts of the process. They depend only on sections of the configuration that need a restart, so a reload keeps them. */
export interface Foundation extends AsyncDisposable {
  readonly logger: Logger;
  readonly auditLog: AuditLog;
  /** Receive audit events in addition to the log. */
  readonly auditSinks: readonly AuditSink[];
  readonly pseudonym: Pseudonyms;
  /** Undefined unless configured. */
  readonly metrics: Metrics | undefined;
  /** Undefined unless configured. */
  readonly telemetry: Telemetry | undefined;
  readonly observe: Omit<Observation, 'metrics' | 'telemetry'>;
  readonly overload: Overload;
  readonly bulkheads: Bulkheads;
  readonly outboundPool: OutboundPool;
  readonly stopping: Stopping;
  readonly stores: Stores;
  /** See `createUnknownLayoutLog`. */
  readonly noteUnknownLayout: (error: unknown) => boolean;
  /** See `createQuotaReports`. */
  readonly noteQuota: (error: unknown) => void;
  /** Undefined without Redis. */
  readonly network: Network | undefined;
  /** The connections of the webhook queues, opened by the first call. @throws TypeError without Redis */
  readonly queueRedis: () => QueueRedis;
  readonly vault: Vault;
  /** See `OpenedVault`. Undefined without a key service. */
  readonly keyFaults: OpenedVault['keyFaults'] | undefined;
  /** The API keys that operators added or revoked. */
  readonly apiKeys: ApiKeyWatch;
  readonly noteApiKeyUse: NoteApiKeyUse;
  readonly refreshes: RefreshesInProgress;
  readonly providerAnswers: ProviderAnswers;
  /** Id in the list of replicas. */
  readonly replicaId: string;
  readonly patterns: Patterns;
  /** Stylesheets and images of the pages by path, of this configuration and the ones before. */
  readonly assets: Map<string, Asset>;
  readonly now: Clock;
  readonly entropy: Entropy;
}

export interface FoundationOptions extends StoreOptions {
  readonly logger: Logger;
  readonly entropy?: Entropy;
}

/** What the parts of the process ask the configuration in force. */
export interface InForce {
  /** Number of MCP servers. */
  readonly mcpServers: () => number;
  /** Called after API keys were revoked, and when the list of API keys is too old to tell. */
  readonly onKeysWithdrawn: () => void;
}

/**
 * Creates the parts of the process. Opens the store, and refuses an unsafe Redis. Tries the keys of key services in the background.
 * @throws UnsafeRedisError, StoreUnavailableError, VaultError, ConfigError, StartError
 */
export async function createFoundation(
  config: GatewayConfig,
  options: FoundationOptions,
  inForce: InForce,
): Promise<Foundation> {
  const { logger } = options;
  const now = options.now ?? Date.now;
  /** Closed in the opposite order, also if a later part cannot be opened. */
  await using opened = new AsyncDisposableStack();
  const { metrics, telemetry, ...observe } = await createObservation(config, logger);
  if (telemetry !== undefined) opened.use(telemetry);
  opened.use(observe.channels);
  const { vault, keyFaults } = opened.use(await openWatchedVault(config, { logger, metrics }));
  const outboundPool = opened.use(createOutboundPool());
  const { stores, network } = await openStores({ config, logger, metrics, observe, auditLog: () => auditLog }, options);
  opened.defer(() => stores.close());
  let queueRedis: QueueRedis | undefined;
  // A command that waits for a reconnect never ends after this, and writes nothing.
  opened.defer(() => queueRedis?.close());
  const patterns = opened.use(createPatterns());
  // Log and audit trail use the real time, not the test clock.
  const auditStream = opened.use(
    createAuditStream({
      audits: stores.audits,
      logger,
      now: Date.now,
      keepsPeople: config.audit.stream,
      onLost: () => metrics?.auditLineLost(),
    }),
  );
  const refreshCounter = opened.use(createRefreshCounter({ counts: stores.refreshCounts, logger, now }));
  const refreshes: RefreshesInProgress = new Map();
  // The process must not stop before their token sets are stored.
  opened.defer(async () => void (await Promise.allSettled(refreshes.values())));
  const overload = opened.use(
    createOverload({ limits: config.overload, mcpServers: inForce.mcpServers, logger, metrics }),
  );
  const auditSinks = [metrics?.audit ?? [], auditStream.sink, refreshCounter.sink].flat();
  const pseudonym = pseudonymsOf(config);
  const auditLog = createAuditLog(logger, pseudonym, auditSinks);
  const apiKeys = await startApiKeyWatch({
    apiKeys: stores.apiKeys,
    vault,
    logger,
    onWithdrawn: inForce.onKeysWithdrawn,
  });
  opened.defer(() => apiKeys.stop());
  const stopping = createStopping();
  opened.defer(() => stopping.close());
  const owned = opened.move();

  return {
    logger,
    auditLog,
    auditSinks,
    pseudonym,
    metrics,
    telemetry,
    observe,
    overload,
    outboundPool,
    stopping,
    stores,
    network,
    queueRedis() {
      queueRedis ??= offered(network).openQueueRedis();
      return queueRedis;
    },
    vault,
    apiKeys,
    refreshes,
    patterns,
    now,
    providerAnswers: createProviderAnswers({ auditLog, now }),
    replicaId: newReplicaId(),
    noteApiKeyUse: createApiKeyUses({ keyAges: stores.keyAges, now }),
    keyFaults: hasKeyService(config.vault) ? keyFaults : undefined,
    assets: new Map(),
    bulkheads: createBulkheads({ overload, logger, metrics, now }),
    noteUnknownLayout: createUnknownLayoutLog({ logger, now: Date.now }),
    noteQuota: createQuotaReports({ logger, metrics, now: Date.now }),
    entropy: options.entropy ?? systemEntropy,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** The connections to upstreams. */
export interface OutboundPool {
  /** Returns the connections in force while `outbound` is the same. Otherwise prepares others, for a configuration that may be refused. */
  connectionsFor(config: GatewayConfig): OutboundConnections;
  /** The configuration of the last call is in force. */
  keep(): void;
  /** The configuration of the last call is refused: closes the connections that only it would have used. */
  discard(): Promise<void>;
}

/**
 * Connections of former configurations are closed only with the process: a handler may work on when its caller has gone, and a code is
 * valid once.
 */
function createOutboundPool(): OutboundPool & AsyncDisposable {
  interface Opened {
    readonly policy: object;
    readonly connections: OutboundConnections;
  }
  const opened = new Set<OutboundConnections>();
  let inForce: Opened | undefined;
  let prepared: Opened | undefined;
  return {
    connectionsFor(config) {
      const policy = { ...outboundPolicyOf(config), timeoutMs: config.outbound.timeoutSeconds * 1000 };
      if (inForce !== undefined && isDeepStrictEqual(inForce.policy, policy)) return inForce.connections;
      const connections = createOutboundConnections(policy);
      opened.add(connections);
      prepared = { policy, connections };
      return connections;
    },
    keep() {
      inForce = prepared ?? inForce;
      prepared = undefined;
    },
    async discard() {
      if (prepared === undefined) return;
      const { connections } = prepared;
      prepared = undefined;
      opened.delete(connections);
      await connections.close();
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...opened].map(connections => connections.close()));
    },
  };
}
