import { OutboundError } from '@postern/authorization';
import type { RedisCapacity } from '@postern/store-redis';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { type AuditEventEntry, type AuditSink, auditEvents } from '../audit/audit-events.ts';
import type { Channels, OutboundTarget } from '../call-channels.ts';
import type { RequestClass } from '../overload/request-class.ts';
import { packageVersion } from '../package-version.ts';
import { withTimeout } from '../with-timeout.ts';
import { createInstruments, type Instruments } from './instruments.ts';

export interface AnsweredRequest {
  readonly method: string;
  /** The pattern of the route; undefined for an unknown path. */
  readonly route: string | undefined;
  /** Whether the request waits for a change, so that its duration says nothing about the gateway. */
  readonly isWait: boolean;
  readonly status: number;
  readonly ms: number;
}

/** The metrics of the gateway. Created once, and only if configured. */
export interface Metrics {
  readonly registry: Registry;
  /** Counts audit events. */
  readonly audit: AuditSink;
  /** Whether Redis meets its durability profile. */
  readonly durable: (holds: boolean) => void;
  /** Whether Redis accepts writes, and how full it is. */
  readonly redisCapacity: (capacity: RedisCapacity) => void;
  /** Number of shards that have lost their data. */
  readonly lostShards: (count: number) => void;
  /** Whether the key service of a vault key works. */
  readonly keyService: (kid: string, works: boolean) => void;
  /** Events of a shard were dropped before the relay added them to feeds. */
  readonly relayGap: () => void;
  /** A line is missing in the audit stream. */
  readonly auditLineLost: () => void;
  /** A request exceeded the storage quota of its MCP server. */
  readonly quotaExceeded: () => void;
  /** A reload ended, or `started`: the first configuration was loaded. */
  readonly configReloaded: (result: 'started' | 'reloaded' | 'unchanged' | 'refused') => void;
  readonly answered: (request: AnsweredRequest) => void;
  readonly shed: (requestClass: RequestClass | 'outbound', reason: string) => void;
  readonly inFlight: (change: 1 | -1) => void;
  /** A circuit opened (1), closed (-1), or was created (0). @param name as configured; ignored for credential checks */
  readonly circuit: (target: OutboundTarget, name: string, change: 1 | 0 | -1) => void;
  readonly connectionDropped: () => void;
  readonly swept: (task: 'expiry' | 'revocation' | 'charge', tookMs: number) => void;
  /** Sets the source of the numbers of queued webhooks. */
  readonly watchDeliveries: (read: ReadDeliveries) => void;
}

/** Measures the calls of a gateway, too. */
export function createMetrics(channels: Channels): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const instruments = createInstruments(registry);
  measureCalls(instruments, channels);
  instruments.buildInfo.set({ version: packageVersion, node: process.version }, 1);
  return {
    registry,
    audit: createAuditMetrics(instruments),
    durable: holds => instruments.redisDurable.set(holds ? 1 : 0),
    redisCapacity: ({ refusals, memoryUsed }) => {
      instruments.redisWritable.set(refusals.length === 0 ? 1 : 0);
      if (memoryUsed === undefined) instruments.redisMemoryUsed.remove();
      else instruments.redisMemoryUsed.set(memoryUsed);
    },
    lostShards: count => instruments.redisLostShards.set(count),
    keyService: (kid, works) => instruments.keyServiceUp.set({ kid }, works ? 1 : 0),
    relayGap: () => instruments.relayGaps.inc(),
    auditLineLost: () => instruments.auditLinesLost.inc(),
    quotaExceeded: () => instruments.quotaExceeded.inc(),
    configReloaded(result) {
      if (result !== 'started') instruments.configReloads.inc({ result });
      instruments.configLastReloadAccepted.set(result === 'refused' ? 0 : 1);
      if (result !== 'refused') instruments.configLastAccepted.set(Date.now() / 1000);
    },
    answered: createAnswered(instruments),
    shed: (requestClass, reason) => instruments.requestsShed.inc({ class: requestClass, reason }),
    inFlight: change => instruments.requestsInFlight.inc(change),
    // The name of a credential check is the id of its MCP server, which no label may contain.
    circuit: (target, name, change) =>
      instruments.circuitsOpen.inc({ target, name: target === 'credential_check' ? 'none' : name }, change),
    connectionDropped: () => instruments.connectionsDropped.inc(),
    swept: (task, tookMs) => {
      instruments.sweeperRoundSeconds.set({ task }, tookMs / 1000);
      instruments.sweeperLastRound.set({ task }, Date.now() / 1000);
    },
    watchDeliveries: createDeliveryGauge(registry),
  };
}

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS', 'PUT', 'PATCH']);

function createAnswered({ requestSeconds }: Instruments): Metrics['answered'] {
  return ({ method, route, isWait, status, ms }) =>
    requestSeconds.observe(
      {
        surface: surfaceOf(route, isWait),
        method: METHODS.has(method) ? method : 'other',
        route: route ?? 'none',
        status: `${Math.trunc(status / 100)}xx`,
      },
      ms / 1000,
    );
}

function surfaceOf(route: string | undefined, isWait: boolean): string {
  if (route === undefined) return 'none';
  // Responses of `/v1/events` are long-lived streams.
  if (route === '/v1/events' || (route === '/v1/elicitations/:elicitationId' && isWait)) return 'wait';
  if (route.startsWith('/v1/')) return 'api';
  if (route.startsWith('/webhooks/')) return 'webhook';
  if (route === '/livez' || route === '/readyz') return 'health';
  if (route === '/openapi.json' || route.startsWith('/.well-known/') || route.startsWith('/oauth/')) return 'document';
  return 'page';
}

/** What an issue answered with; undefined for one that failed. */
function dispositionOf(issued: unknown): string | undefined {
  const isAnswer = typeof issued === 'object' && issued !== null && 'disposition' in issued;
  return isAnswer && typeof issued.disposition === 'string' ? issued.disposition : undefined;
}

function measureCalls(instruments: Instruments, { outbound, store, step }: Channels): void {
  const { outboundSeconds, redisSeconds, redisErrors, issued, waitsOpen } = instruments;
  outbound.subscribe({
    end({ target }, { result, error, ms }) {
      const failure = error instanceof OutboundError ? error.code : 'failed';
      const of = result === undefined ? failure : `${Math.trunc(result.status / 100)}xx`;
      outboundSeconds.observe({ target, result: of }, ms / 1000);
    },
  });
  store.subscribe({
    // Command names are a closed set.
    end({ command, fault }, { ms }) {
      redisSeconds.observe({ command }, ms / 1000);
      if (fault !== undefined) redisErrors.inc({ command, fault: fault.kind });
    },
  });
  step.subscribe({
    begin({ name }) {
      if (name === 'elicitation.wait') waitsOpen.inc();
    },
    end({ name, kind }, { result }) {
      if (name === 'elicitation.wait') waitsOpen.dec();
      const disposition = name === 'elicitation.issue' ? dispositionOf(result) : undefined;
      if (kind === undefined || disposition === undefined) return;
      if (disposition !== 'repeated' && disposition !== 'replayed') issued.inc({ kind, disposition });
    },
  });
}

/** Queued webhooks of an endpoint, over all replicas. */
interface EndpointDeliveries {
  readonly endpoint: string;
  readonly counts: Readonly<Record<(typeof STATES)[number][1], number>>;
}

export type ReadDeliveries = () => Promise<readonly EndpointDeliveries[]>;

/** Timeout of Redis during a scrape, in ms. */
const DELIVERIES_MS = 1_000;

const STATES = [
  ['waiting', 'waiting'],
  ['under_way', 'underWay'],
  ['delayed', 'delayed'],
  ['dead', 'dead'],
] as const;

const none = (): readonly EndpointDeliveries[] => [];

/**
 * Counts webhooks by endpoint and state at each scrape. Without a response from Redis there is no value, rather than an old one.
 * @returns a function that sets the source, which does not exist yet
 */
export function createDeliveryGauge(registry: Registry): (read: ReadDeliveries) => void {
  let source: ReadDeliveries = async () => none();
  new Gauge({
    name: 'postern_webhook_deliveries',
    help: 'Webhooks that are queued, and those given up',
    labelNames: ['endpoint', 'state'],
    registers: [registry],
    async collect() {
      // The queues log their own failures (webhook.error).
      const found = await withTimeout(source().catch(none), DELIVERIES_MS, none());
      this.reset();
      for (const { endpoint, counts } of found)
        for (const [state, name] of STATES) this.set({ endpoint, state }, counts[name]);
    },
  });
  return read => {
    source = read;
  };
}

/** Counts audit events. Everything that has an audit event is counted only here. */
export function createAuditMetrics(to: Instruments): AuditSink {
  const labels = { own: createBoundedLabel(160), foreign: createBoundedLabel(24) };
  return line => {
    const { count }: AuditEventEntry = auditEvents[line.event];
    count?.(to, line, labels);
  };
}

const OTHER = 'other';

/**
 * Turns a value into a label value. Codes come from closed sets, but nothing enforces that, and a label with unbounded values costs
 * unbounded memory here and in Prometheus, and could leak personal data. Values that are not short codes, and new values beyond
 * `max`, become `other`. Undefined becomes `none`.
 */
export function createBoundedLabel(max: number): (value: unknown) => string {
  const known = new Set<string>();
  return value => {
    if (value === undefined) return 'none';
    if (typeof value !== 'string' || !/^[a-z][a-z0-9_]{0,39}$/.test(value)) return OTHER;
    if (known.has(value)) return value;
    if (known.size >= max) return OTHER;
    known.add(value);
    return value;
  };
}
