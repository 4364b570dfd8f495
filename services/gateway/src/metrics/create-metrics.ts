import { OutboundError, type OutboundFetch } from '@postern/authorization';
import type { ElicitationService } from '@postern/elicitation';
import type { CommandObserver, RedisCapacity } from '@postern/store-redis';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { aroundFetch } from '../around-fetch.ts';
import type { AuditSink } from '../events.ts';
import type { RequestClass } from '../overload/request-class.ts';
import { packageVersion } from '../package-version.ts';
import { createAuditMetrics } from './audit-metrics.ts';
import { createDeliveryGauge, type ReadDeliveries } from './delivery-gauge.ts';
import { createInstruments, type Instruments } from './instruments.ts';

/** Whom a request that leaves the gateway is for. Never which one: hosts may come from metadata. */
export type OutboundTarget = 'identity_provider' | 'provider' | 'processor' | 'credential_check' | 'webhook';

export interface AnsweredRequest {
  readonly method: string;
  /** The pattern of the route; undefined where there is none. */
  readonly route: string | undefined;
  /** Whether it asked to wait for something to happen, so that its time says nothing about the gateway. */
  readonly asksToWait: boolean;
  readonly status: number;
  readonly ms: number;
}

/** What the gateway measures of itself. Made once per process's worth of work, and only where it is asked for. */
export interface Metrics {
  readonly registry: Registry;
  /** Counts audit events. */
  readonly audit: AuditSink;
  readonly onCommand: CommandObserver;
  /** Whether Redis keeps what its durability profile promises. */
  readonly durable: (holds: boolean) => void;
  /** Whether Redis takes writes, and how full it is. */
  readonly redisCapacity: (capacity: RedisCapacity) => void;
  /** How many shards have lost their data. */
  readonly lostShards: (count: number) => void;
  /** Events of a shard were dropped before they were carried into feeds. */
  readonly relayGap: () => void;
  /** A line of the audit trail is missing in its stream. */
  readonly auditLineLost: () => void;
  /** A request found no room in the storage quota of its MCP server. */
  readonly quotaExceeded: () => void;
  readonly answered: (request: AnsweredRequest) => void;
  readonly shed: (requestClass: RequestClass | 'outbound', reason: string) => void;
  readonly inFlight: (change: 1 | -1) => void;
  /** A circuit opened (1), closed (-1), or is there (0). @param name as configured; a credential check has none here */
  readonly circuit: (target: OutboundTarget, name: string, change: 1 | 0 | -1) => void;
  readonly connectionDropped: () => void;
  readonly swept: (task: 'expiry' | 'revocation' | 'charge', tookMs: number) => void;
  readonly outbound: (fetch: OutboundFetch, target: OutboundTarget) => OutboundFetch;
  readonly service: (service: ElicitationService) => ElicitationService;
  /** Where webhooks that wait are read. */
  readonly watchDeliveries: (read: ReadDeliveries) => void;
}

export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const instruments = createInstruments(registry);
  instruments.buildInfo.set({ version: packageVersion, node: process.version }, 1);
  return {
    registry,
    audit: createAuditMetrics(instruments),
    onCommand: commandObserver(instruments),
    durable: holds => instruments.redisDurable.set(holds ? 1 : 0),
    redisCapacity: ({ refusals, memoryUsed }) => {
      instruments.redisWritable.set(refusals.length === 0 ? 1 : 0);
      if (memoryUsed === undefined) instruments.redisMemoryUsed.remove();
      else instruments.redisMemoryUsed.set(memoryUsed);
    },
    lostShards: count => instruments.redisLostShards.set(count),
    relayGap: () => instruments.relayGaps.inc(),
    auditLineLost: () => instruments.auditLinesLost.inc(),
    quotaExceeded: () => instruments.quotaExceeded.inc(),
    answered: createAnswered(instruments),
    shed: (requestClass, reason) => instruments.requestsShed.inc({ class: requestClass, reason }),
    inFlight: change => instruments.requestsInFlight.inc(change),
    // A credential check is named by its MCP server.
    circuit: (target, name, change) =>
      instruments.circuitsOpen.inc({ target, name: target === 'credential_check' ? 'none' : name }, change),
    connectionDropped: () => instruments.connectionsDropped.inc(),
    swept: (task, tookMs) => {
      instruments.sweeperRoundSeconds.set({ task }, tookMs / 1000);
      instruments.sweeperLastRound.set({ task }, Date.now() / 1000);
    },
    outbound: (fetch, target) => measuredFetch(fetch, target, instruments),
    service: service => measuredService(service, instruments),
    watchDeliveries: createDeliveryGauge(registry),
  };
}

/** Names of commands are ours: a closed set. */
function commandObserver({ redisSeconds, redisErrors }: Instruments): CommandObserver {
  return command => {
    const began = performance.now();
    return fault => {
      redisSeconds.observe({ command }, (performance.now() - began) / 1000);
      if (fault !== undefined) redisErrors.inc({ command, fault: fault.kind });
    };
  };
}

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS', 'PUT', 'PATCH']);

function createAnswered({ requestSeconds }: Instruments): Metrics['answered'] {
  return ({ method, route, asksToWait, status, ms }) =>
    requestSeconds.observe(
      {
        surface: surfaceOf(route, asksToWait),
        method: METHODS.has(method) ? method : 'other',
        route: route ?? 'none',
        status: `${Math.trunc(status / 100)}xx`,
      },
      ms / 1000,
    );
}

function surfaceOf(route: string | undefined, asksToWait: boolean): string {
  if (route === undefined) return 'none';
  // The answers of the first are streams that last.
  if (route === '/v1/events' || (route === '/v1/elicitations/:elicitationId' && asksToWait)) return 'wait';
  if (route.startsWith('/v1/')) return 'api';
  if (route.startsWith('/webhooks/')) return 'webhook';
  if (route === '/livez' || route === '/readyz') return 'health';
  if (route === '/openapi.json' || route.startsWith('/.well-known/') || route.startsWith('/oauth/')) return 'document';
  return 'page';
}

function measuredFetch(fetch: OutboundFetch, target: OutboundTarget, { outboundSeconds }: Instruments): OutboundFetch {
  return aroundFetch(fetch, async (url, init) => {
    const began = performance.now();
    let result = 'failed';
    try {
      const response = await fetch(url, init);
      result = `${Math.trunc(response.status / 100)}xx`;
      return response;
    } catch (error) {
      if (error instanceof OutboundError) result = error.code;
      throw error;
    } finally {
      outboundSeconds.observe({ target, result }, (performance.now() - began) / 1000);
    }
  });
}

function measuredService(service: ElicitationService, { issued, waitsOpen }: Instruments): ElicitationService {
  return {
    ...service,
    async issue(mcpServer, input) {
      const answer = await service.issue(mcpServer, input);
      issued.inc({ kind: input.request.kind, disposition: answer.disposition });
      return answer;
    },
    async wait(...args) {
      waitsOpen.inc();
      try {
        return await service.wait(...args);
      } finally {
        waitsOpen.dec();
      }
    },
  };
}
