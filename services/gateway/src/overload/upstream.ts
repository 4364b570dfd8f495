import { AsyncLocalStorage } from 'node:async_hooks';
import { OutboundError, type OutboundFetch } from '@postern/authorization';
import { aroundFetch } from '../around-fetch.ts';
import { Circuit } from './circuit.ts';
import type { RequestPlace } from './request-place.ts';
import { Shares } from './shares.ts';

/** Causes in the log. */
const stopCodes = { cap: 'TOO_MANY_REQUESTS', circuit: 'CIRCUIT_OPEN' } as const;

/** Somebody outside whom the gateway asks: one provider, identity provider, payment processor or credential check. */
export interface Upstream {
  /** Every request to it goes through here. */
  readonly fetch: OutboundFetch;
  /** Remaining pause of its circuit in ms; 0 while requests are sent. */
  readonly pausedMs: number;
  /**
   * Does work that may wait for the upstream. The request at hand holds no place of those that are worked on meanwhile, but one of
   * those that wait for this upstream.
   * @param full decides what happens instead when too many requests wait for it already.
   */
  ask<T>(work: () => Promise<T>, full: () => T | Promise<T>): Promise<T>;
  /** As `ask`, for what exists once or has an effect already: neither the circuit nor the limit stops it. */
  insist<T>(work: () => Promise<T>): Promise<T>;
}

export interface UpstreamOptions {
  readonly fetch: OutboundFetch;
  /** Requests to one host of it at once. */
  readonly perHost: number;
  /** Requests to the gateway that may wait for it at once; those of one MCP server may be half of them. */
  readonly waiting: number;
  /** The request to the gateway that is worked on; undefined in background work. */
  readonly place: () => RequestPlace | undefined;
  readonly onStopped: (reason: 'cap' | 'circuit' | 'waiting') => void;
  readonly onCircuit: (isOpen: boolean) => void;
  readonly now: () => number;
}

/**
 * A bulkhead and a circuit. Each upstream has its own, by its configured name: whoever decides where one of them leads (metadata of
 * a remote MCP server, say) can stop no requests of another one to the same host.
 */
export function createUpstream(p: UpstreamOptions): Upstream {
  const urgent = new AsyncLocalStorage<true>();
  const waiting = new Shares<string>(p.waiting);
  const share = Math.max(1, Math.floor(p.waiting / 2));
  // What is urgent has places of its own, which requests that hang cannot take.
  const hosts = { urgent: new Shares<string>(), other: new Shares<string>() };
  const circuit = new Circuit({ now: p.now, onChange: p.onCircuit });

  const fetch = aroundFetch(p.fetch, async (url, init) => {
    const host = URL.parse(String(url))?.host ?? '';
    const isUrgent = urgent.getStore() === true;
    const stop = (reason: 'cap' | 'circuit') => {
      p.onStopped(reason);
      // True of this request: nothing was sent.
      return new OutboundError('outbound_unreachable', host, stopCodes[reason]);
    };
    const taken = hosts[isUrgent ? 'urgent' : 'other'].take(host, p.perHost);
    if (typeof taken === 'string') throw stop('cap');
    using _ = taken;
    const passage = circuit.pass({ isUrgent });
    if (passage === undefined) throw stop('circuit');
    try {
      const answer = await p.fetch(url, init);
      passage.answered();
      return answer;
    } catch (error) {
      if (error instanceof OutboundError && error.code === 'outbound_timeout') passage.timedOut();
      else passage.answered();
      throw error;
    }
  });

  return {
    fetch,
    get pausedMs() {
      return circuit.pausedMs;
    },
    async ask(work, full) {
      const place = p.place();
      if (place === undefined || place.isAside) return work();
      const taken = waiting.take(place.holder, share);
      if (typeof taken === 'string') {
        p.onStopped('waiting');
        return full();
      }
      using _ = taken;
      return await place.aside(work);
    },
    async insist(work) {
      const place = p.place();
      return urgent.run(true, () => (place === undefined ? work() : place.aside(work)));
    },
  };
}
