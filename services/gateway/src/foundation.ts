import { createOutboundConnections, type OutboundConnections } from '@postern/authorization';
import { type Clock, type Entropy, type Stores, systemEntropy } from '@postern/elicitation';
import type { Vault } from '@postern/vault';
import { createProviderAnswers, type ProviderAnswers } from './authorization/provider-answers.ts';
import type { RefreshesInProgress } from './authorization/token-refresh.ts';
import { createPatterns, type Patterns } from './entries/patterns.ts';
import { createEventStreams, type EventStreams } from './events/event-streams.ts';
import { type ApiKeyWatch, startApiKeyWatch } from './mcp-servers/api-key-list.ts';
import { createApiKeyUses, type NoteApiKeyUse } from './mcp-servers/api-key-uses.ts';
import {
  type CallersInForce,
  createCallersInForce,
  createWaitingRequests,
  type WaitingRequests,
} from './mcp-servers/callers-in-force.ts';
import { createObservation, type Observation } from './observation.ts';
import { type AuditLog, type AuditSink, createAuditLog } from './platform/audit/audit-log.ts';
import { createAuditStream } from './platform/audit/audit-stream.ts';
import { type Pseudonyms, pseudonymsOf } from './platform/audit/pseudonyms.ts';
import { createRefreshCounter } from './platform/audit/refresh-counter.ts';
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
import type { Network } from './platform/store/network.ts';
import { openStores, type StoreOptions } from './platform/store/open-stores.ts';
import type { Telemetry } from './platform/telemetry/telemetry.ts';
import type { OpenedVault } from './sealing/open-vault.ts';
import { openWatchedVault } from './sealing/watched-vault.ts';

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
  readonly outboundConnections: OutboundConnections;
  readonly stopping: Stopping;
  readonly stores: Stores;
  /** See `createUnknownLayoutLog`. */
  readonly noteUnknownLayout: (error: unknown) => boolean;
  /** See `createQuotaReports`. */
  readonly noteQuota: (error: unknown) => void;
  /** Undefined without Redis. */
  readonly network: Network | undefined;
  readonly vault: Vault;
  /** See `OpenedVault`. Undefined without a key service. */
  readonly keyFaults: OpenedVault['keyFaults'] | undefined;
  /** The API keys that operators added or revoked. */
  readonly apiKeys: ApiKeyWatch;
  readonly noteApiKeyUse: NoteApiKeyUse;
  readonly callersInForce: CallersInForce;
  readonly waitingRequests: WaitingRequests;
  readonly eventStreams: EventStreams;
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

/**
 * Creates the parts of the process. Opens the store, and refuses an unsafe Redis. Tries the keys of key services in the background.
 * @throws UnsafeRedisError, StoreUnavailableError, VaultError, ConfigError, StartError
 */
export async function createFoundation(config: GatewayConfig, options: FoundationOptions): Promise<Foundation> {
  const { logger } = options;
  const now = options.now ?? Date.now;
  const { metrics, telemetry, ...observe } = await createObservation(config, logger);
  const opened = await openWatchedVault(config, { logger, metrics });
  const { vault } = opened;

  const overload = createOverload({
    limits: config.overload,
    mcpServers: () => callersInForce.count,
    logger,
    metrics,
  });
  const outboundConnections = createOutboundConnections({
    ...outboundPolicyOf(config),
    timeoutMs: config.outbound.timeoutSeconds * 1000,
  });
  const { stores, network } = await openStores({ config, logger, metrics, observe, auditLog: () => auditLog }, options);
  // Log and audit trail use the real time, not the test clock.
  const auditStream = createAuditStream({
    audits: stores.audits,
    logger,
    now: Date.now,
    keepsPeople: config.audit.stream,
    onLost: () => metrics?.auditLineLost(),
  });
  const refreshCounter = createRefreshCounter({ counts: stores.refreshCounts, logger, now });
  const auditSinks = [metrics?.audit ?? [], auditStream.sink, refreshCounter.sink].flat();
  const pseudonym = pseudonymsOf(config);
  const auditLog = createAuditLog(logger, pseudonym, auditSinks);
  const stopping = createStopping();
  const refreshes: RefreshesInProgress = new Map();
  const patterns = createPatterns();
  const eventStreams = createEventStreams({
    feeds: stores.feeds,
    max: config.overload.eventStreams,
    onFull: () => overload.refused('wait', 'cap'),
    onError: error => logger.warn({ event: 'events.unread', error }, 'reading events failed; retrying'),
  });
  stopping.closing.addEventListener('abort', () => void eventStreams.close(), { once: true });
  const apiKeys = await startApiKeyWatch({
    apiKeys: stores.apiKeys,
    vault,
    logger,
    onWithdrawn() {
      waitingRequests.endOutdated();
      eventStreams.endOutdated();
    },
  });
  const callersInForce = createCallersInForce(apiKeys);
  const waitingRequests = createWaitingRequests(stopping.closing, callersInForce);

  return {
    logger,
    auditLog,
    auditSinks,
    pseudonym,
    metrics,
    telemetry,
    observe,
    overload,
    outboundConnections,
    stopping,
    stores,
    network,
    vault,
    apiKeys,
    callersInForce,
    eventStreams,
    refreshes,
    patterns,
    now,
    providerAnswers: createProviderAnswers({ auditLog, now }),
    replicaId: newReplicaId(),
    noteApiKeyUse: createApiKeyUses({ keyAges: stores.keyAges, now }),
    keyFaults: hasKeyService(config.vault) ? opened.keyFaults : undefined,
    assets: new Map(),
    bulkheads: createBulkheads({ overload, logger, metrics, now }),
    waitingRequests,
    noteUnknownLayout: createUnknownLayoutLog({ logger, now: Date.now }),
    noteQuota: createQuotaReports({ logger, metrics, now: Date.now }),
    entropy: options.entropy ?? systemEntropy,
    async [Symbol.asyncDispose]() {
      stopping.close();
      await apiKeys.stop();
      await eventStreams.close();
      overload[Symbol.dispose]();
      // The process must not stop before their token sets are stored.
      await Promise.allSettled(refreshes.values());
      await refreshCounter[Symbol.asyncDispose]();
      await auditStream[Symbol.asyncDispose]();
      await patterns[Symbol.asyncDispose]();
      await stores.close();
      await outboundConnections.close();
      await opened[Symbol.asyncDispose]();
      await telemetry?.[Symbol.asyncDispose]();
    },
  };
}
