import {
  AuthorizationError,
  OutboundError,
  type OutboundFetch,
  type Provider,
  type SignIn,
} from '@postern/authorization';
import { type PaymentProcessor, ProcessorError } from '@postern/payment';
import { type OutboundTarget, wrapFetch } from '../call-channels.ts';
import { ProblemError } from '../http/problems.ts';
import { type Permit, requestContext, runInScope, scope } from '../http/request-context.ts';
import type { Logger } from '../logger.ts';
import type { Metrics } from '../metrics/create-metrics.ts';
import { ConcurrencyLimiter, type Overload } from './admission.ts';
import { Circuit } from './circuit.ts';

/** System codes of requests that were not sent, for the log. */
const stopCodes = { cap: 'TOO_MANY_REQUESTS', circuit: 'CIRCUIT_OPEN' } as const;

/** A third party that the gateway calls: one provider, identity provider, payment processor or credential check. */
export interface Upstream {
  /** Sends every request to the upstream. */
  readonly fetch: OutboundFetch;
  /** Remaining pause of the circuit in ms; 0 while requests are sent. */
  readonly pausedMs: number;
  /**
   * Does work that may wait for the upstream. Meanwhile the current request is not in flight: it counts as waiting for this
   * upstream.
   * @param full called instead of `work` when too many requests wait for the upstream
   */
  ask<T>(work: () => Promise<T>, full: () => T | Promise<T>): Promise<T>;
  /** As `ask`, for work that cannot be repeated or already had an effect: neither the circuit nor the limit stops it. */
  insist<T>(work: () => Promise<T>): Promise<T>;
}

export interface UpstreamOptions {
  readonly fetch: OutboundFetch;
  /** Concurrent requests to one host of the upstream. */
  readonly perHost: number;
  /** Requests to the gateway that may wait for the upstream concurrently. One MCP server may use half of them. */
  readonly waiting: number;
  /** Permit of the current request to the gateway; undefined in background work. */
  readonly permit: () => Permit | undefined;
  readonly onStopped: (reason: 'cap' | 'circuit' | 'waiting') => void;
  readonly onCircuit: (isOpen: boolean) => void;
  readonly now: () => number;
}

/**
 * A bulkhead and a circuit breaker. Each configured upstream has its own, because some choose their hosts (by the metadata of a remote
 * MCP server, for example): they must not stop the requests of another upstream to the same host.
 * @internal
 */
export function createUpstream(p: UpstreamOptions): Upstream {
  return createBulkhead(p).through(p.fetch);
}

/** The limits and the circuit of an upstream, without its connections. */
interface Bulkhead {
  /** Returns the upstream that sends requests with this `fetch`. */
  through(fetch: OutboundFetch): Upstream;
  readonly isOpen: boolean;
}

function createBulkhead(p: Omit<UpstreamOptions, 'fetch'>): Bulkhead {
  const waiting = new ConcurrencyLimiter<string>(p.waiting);
  const share = Math.max(1, Math.floor(p.waiting / 2));
  // Urgent requests have their own limit, so that hanging requests cannot block them.
  const hosts = { urgent: new ConcurrencyLimiter<string>(), other: new ConcurrencyLimiter<string>() };
  const circuit = new Circuit({ now: p.now, onChange: p.onCircuit });

  const limited = (outbound: OutboundFetch) =>
    wrapFetch(outbound, async (url, init) => {
      const host = URL.parse(String(url))?.host ?? '';
      const isUrgent = scope().urgent?.includes(circuit) === true;
      const stop = (reason: 'cap' | 'circuit') => {
        p.onStopped(reason);
        // The code `outbound_unreachable` is correct, because the request was not sent.
        return new OutboundError('outbound_unreachable', host, stopCodes[reason]);
      };
      const acquired = hosts[isUrgent ? 'urgent' : 'other'].acquire(host, p.perHost);
      if (typeof acquired === 'string') throw stop('cap');
      using _ = acquired;
      const passage = circuit.pass({ isUrgent });
      if (passage === undefined) throw stop('circuit');
      try {
        const response = await outbound(url, init);
        passage.answered();
        return response;
      } catch (error) {
        if (error instanceof OutboundError && error.code === 'outbound_timeout') passage.timedOut();
        else passage.answered();
        throw error;
      }
    });

  return {
    get isOpen() {
      return circuit.isOpen;
    },
    through: fetch => ({
      fetch: limited(fetch),
      get pausedMs() {
        return circuit.pausedMs;
      },
      async ask(work, full) {
        const permit = p.permit();
        if (permit === undefined || permit.isWaiting) return work();
        const acquired = waiting.acquire(permit.holder, share);
        if (typeof acquired === 'string') {
          p.onStopped('waiting');
          return full();
        }
        using _ = acquired;
        return await permit.waitFor(work);
      },
      async insist(work) {
        const permit = p.permit();
        const urgent = [...(scope().urgent ?? []), circuit];
        return runInScope({ urgent }, () => (permit === undefined ? work() : permit.waitFor(work)));
      },
    }),
  };
}

/** Returns the upstream of a configured name, always the same one. */
export type UpstreamOf = (target: Exclude<OutboundTarget, 'webhook'>, name: string) => Upstream;

type UpstreamTarget = Parameters<UpstreamOf>[0];

/** Limits and circuits of the upstreams. They outlive a configuration, so a reload resets none that it does not change. */
export interface Bulkheads {
  /** Counts the circuit of an upstream from now on, before its first request. */
  announce(target: UpstreamTarget, name: string): void;
  of(target: UpstreamTarget, name: string): Bulkhead;
  /** An upstream of this name then begins anew, with a closed circuit. */
  forget(target: UpstreamTarget, name: string): void;
}

export function createBulkheads(p: {
  readonly overload: Overload;
  readonly logger: Logger;
  readonly metrics: Metrics | undefined;
  readonly now: () => number;
}): Bulkheads {
  const { overload, logger, metrics, now } = p;
  const kept = new Map<string, Bulkhead>();
  const keyOf = (target: UpstreamTarget, name: string) => `${target} ${name}`;

  function create(target: UpstreamTarget, name: string): Bulkhead {
    const bulkhead = createBulkhead({
      perHost: overload.limits.outboundPerHost,
      waiting: overload.limits.waitingPerProvider,
      permit: () => requestContext()?.permit,
      onStopped: reason => overload.shed('outbound', reason),
      onCircuit(isOpen) {
        // Requests under way outlive a forgotten bulkhead, which is no longer counted.
        if (kept.get(keyOf(target, name)) !== bulkhead) return;
        metrics?.circuit(target, name, isOpen ? 1 : -1);
        if (isOpen) logger.warn({ event: 'circuit.opened', target, name }, 'circuit opened after repeated timeouts');
        else logger.info({ event: 'circuit.closed', target, name }, 'circuit closed');
      },
      now,
    });
    return bulkhead;
  }

  return {
    announce: (target, name) => metrics?.circuit(target, name, 0),
    of(target, name) {
      const found = kept.get(keyOf(target, name)) ?? create(target, name);
      kept.set(keyOf(target, name), found);
      return found;
    },
    forget(target, name) {
      if (kept.get(keyOf(target, name))?.isOpen === true) metrics?.circuit(target, name, -1);
      kept.delete(keyOf(target, name));
    },
  };
}

/**
 * The upstreams of one configuration. Each finds its limits and its circuit at its first request: a configuration is prepared while
 * another one is in force, and its reload may make upstreams begin anew.
 */
export function createUpstreams(p: {
  readonly fetch: OutboundFetch;
  readonly observe: (fetch: OutboundFetch, target: OutboundTarget) => OutboundFetch;
  readonly bulkheads: Bulkheads;
}): UpstreamOf {
  const upstreams = new Map<string, Upstream>();

  function create(target: UpstreamTarget, name: string): Upstream {
    p.bulkheads.announce(target, name);
    const fetch = p.observe(p.fetch, target);
    let found: Upstream | undefined;
    const upstream = () => {
      found ??= p.bulkheads.of(target, name).through(fetch);
      return found;
    };
    return {
      fetch: wrapFetch(fetch, (...request) => upstream().fetch(...request)),
      get pausedMs() {
        return upstream().pausedMs;
      },
      ask: (work, full) => upstream().ask(work, full),
      insist: work => upstream().insist(work),
    };
  }

  return (target, name) => {
    const key = `${target} ${name}`;
    const upstream = upstreams.get(key) ?? create(target, name);
    upstreams.set(key, upstream);
    return upstream;
  };
}

/** Delay before an MCP server should retry while too many requests wait for a provider, in ms. */
const FULL_MS = 2_000;

/** The error for an MCP server whose request needs a provider that the gateway does not call now. */
export const providerNotAsked = (provider: string, retryAfterMs = FULL_MS) =>
  new ProblemError('provider_unavailable', { provider, retryAfterMs });

const unavailable = () => {
  throw new AuthorizationError('provider_unavailable');
};

/** Does work as one operation at the third party, whose failures are logged. */
type AsOperation = <T>(work: () => Promise<T>) => Promise<T>;

/** An authorization code is valid once and briefly, so nothing stops its validation and exchange. */
export function providerThrough({ ask, insist }: Upstream, as: AsOperation, provider: Provider): Provider {
  return {
    ...provider,
    destinationHost: () => ask(() => as(async () => provider.destinationHost()), unavailable),
    start: request => ask(() => as(() => provider.start(request)), unavailable),
    validateCallback: request => insist(() => as(() => provider.validateCallback(request))),
    exchange: request => insist(() => as(() => provider.exchange(request))),
    startDevice: request => ask(() => as(() => provider.startDevice(request)), unavailable),
    pollDevice: request => ask(() => as(() => provider.pollDevice(request)), unavailable),
    refresh: request => ask(() => as(() => provider.refresh(request)), unavailable),
    isRevocable: () => as(() => provider.isRevocable()),
    revoke: request => ask(() => as(() => provider.revoke(request)), unavailable),
    dpopProof: request => as(() => provider.dpopProof(request)),
  };
}

export function signInThrough({ ask, insist }: Upstream, as: AsOperation, signIn: SignIn): SignIn {
  return {
    start: request => ask(() => as(() => signIn.start(request)), unavailable),
    finish: callback => insist(() => as(() => signIn.finish(callback))),
    endSessionUrl: request => ask(() => as(() => signIn.endSessionUrl(request)), unavailable),
  };
}

/** Verifies a user's access token from an MCP server with the keys of the identity provider `name`. */
export async function verifyThrough<T>(upstream: Upstream, name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await upstream.ask(work, () => {
      throw providerNotAsked(name);
    });
  } catch (error) {
    const isStopped = error instanceof AuthorizationError && error.code === 'provider_unavailable';
    throw isStopped && upstream.pausedMs > 0 ? providerNotAsked(name, upstream.pausedMs) : error;
  }
}

/** The gateway must learn whether money moved, so nothing stops the request for the status of a charge. */
export function processorThrough(
  { ask, insist }: Upstream,
  as: AsOperation,
  processor: PaymentProcessor,
): PaymentProcessor {
  const processorUnavailable = () => {
    throw new ProcessorError('unavailable');
  };
  return {
    ...processor,
    open: charge => ask(() => as(() => processor.open(charge)), processorUnavailable),
    close: reference => ask(() => as(() => processor.close(reference)), processorUnavailable),
    status: reference => insist(() => as(() => processor.status(reference))),
    refund: order => ask(() => as(() => processor.refund(order)), processorUnavailable),
    refunds: (...payment) => ask(() => as(() => processor.refunds(...payment)), processorUnavailable),
    disputes: reference => ask(() => as(() => processor.disputes(reference)), processorUnavailable),
    webhook: webhook => as(() => processor.webhook(webhook)),
  };
}
