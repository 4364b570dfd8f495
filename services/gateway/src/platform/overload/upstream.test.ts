import { OutboundError, type OutboundFetch, type Provider, type SignIn } from '@postern/authorization';
import type { PaymentProcessor } from '@postern/payment';
import { describe, expect, it } from 'vitest';
import { createLogger } from '../logger.ts';
import { Admission, ConcurrencyLimiter, type Overload, RequestPermit, Turns } from './admission.ts';
import {
  createBulkheads,
  createUpstream,
  createUpstreams,
  processorThrough,
  providerThrough,
  signInThrough,
  type Upstream,
  type UpstreamOptions,
} from './upstream.ts';

const TIMEOUTS = 5;
const PAUSE_MS = 10_000;

/** An upstream that responds when the test tells it to. */
function createOutside() {
  const asked: { url: string; answer: PromiseWithResolvers<Response> }[] = [];
  const fetch = Object.assign(
    (url: string | URL) => {
      const answer = Promise.withResolvers<Response>();
      asked.push({ url: String(url), answer });
      return answer.promise;
    },
    { isInside: () => false, close: async () => undefined, [Symbol.asyncDispose]: async () => undefined },
  ) satisfies OutboundFetch;
  return { asked, fetch };
}

function setUp(options: Partial<UpstreamOptions> = {}) {
  const outside = createOutside();
  const clock = { ms: 0 };
  const stopped: string[] = [];
  const changes: boolean[] = [];
  const parts: UpstreamOptions = {
    fetch: outside.fetch,
    perHost: 100,
    waiting: 100,
    permit: () => undefined,
    onStopped: reason => stopped.push(reason),
    onCircuit: isOpen => changes.push(isOpen),
    now: () => clock.ms,
    ...options,
  };
  const upstream = createUpstream(parts);
  /** Requests that time out until the circuit opens. */
  const open = async () => {
    for (let n = 0; n < TIMEOUTS; n += 1) {
      const request = upstream.fetch(TOKEN_ENDPOINT);
      outside.asked.at(-1)?.answer.reject(new OutboundError('outbound_timeout', 'slow.example'));
      await expect(request).rejects.toMatchObject({ code: 'outbound_timeout' });
    }
    expect(upstream.pausedMs).toBeGreaterThan(0);
  };
  return { ...outside, parts, upstream, clock, stopped, changes, open };
}
const TOKEN_ENDPOINT = 'https://slow.example/token';
const unreachable = { name: 'OutboundError', code: 'outbound_unreachable', host: 'slow.example' };
const ok = () => new Response(null, { status: 204 });

describe('requests to one host', () => {
  it('requests to one host are limited; other hosts and ports have their own limits', async () => {
    const { asked, upstream, stopped } = setUp({ perHost: 2 });
    const sent = [upstream.fetch(TOKEN_ENDPOINT), upstream.fetch('https://slow.example/other')];
    const tooMany = upstream.fetch(TOKEN_ENDPOINT);
    expect(asked).toHaveLength(2);
    await expect(tooMany).rejects.toMatchObject(unreachable);
    sent.push(upstream.fetch(new URL('https://other.example/')), upstream.fetch('https://slow.example:8443/'));
    expect(asked).toHaveLength(4);
    expect(stopped).toEqual(['cap']);
    for (const { answer } of asked) answer.resolve(ok());
    for (const answer of sent) expect((await answer).status).toBe(204);
  });

  it('requests to one host are admitted again after each response, also after a failure', async () => {
    const { asked, upstream } = setUp({ perHost: 1 });
    for (let at = 0; at < 3; at += 1) {
      const first = upstream.fetch(TOKEN_ENDPOINT);
      await expect(upstream.fetch(TOKEN_ENDPOINT)).rejects.toMatchObject(unreachable);
      asked[at]?.answer.reject(new TypeError('reset'));
      await expect(first).rejects.toThrow(TypeError);
    }
    expect(asked).toHaveLength(3);
  });

  it('S72: leave room for urgent requests', async () => {
    const { asked, upstream } = setUp({ perHost: 1 });
    const hanging = upstream.fetch(TOKEN_ENDPOINT);
    const urgent = upstream.insist(() => upstream.fetch(TOKEN_ENDPOINT));
    expect(asked).toHaveLength(2);
    for (const { answer } of asked) answer.resolve(ok());
    await Promise.all([hanging, urgent]);
  });
});

describe('S72: the circuit of an upstream', () => {
  it('stops requests after repeated timeouts and probes with one after a pause', async () => {
    const { asked, upstream, clock, stopped, changes, open } = setUp();
    await open();
    await expect(upstream.fetch(TOKEN_ENDPOINT)).rejects.toMatchObject(unreachable);
    expect(asked).toHaveLength(TIMEOUTS);
    clock.ms += PAUSE_MS;
    const probe = upstream.fetch(TOKEN_ENDPOINT);
    await expect(upstream.fetch(TOKEN_ENDPOINT)).rejects.toMatchObject(unreachable);
    asked.at(-1)?.answer.resolve(ok());
    await probe;
    expect(stopped).toEqual(['circuit', 'circuit']);
    expect(changes).toEqual([true, false]);
    expect(upstream.pausedMs).toBe(0);
  });

  it.each([
    ['HTTP 400', async () => new Response(null, { status: 400 })],
    ['HTTP 503', async () => new Response(null, { status: 503 })],
    ['a refused TCP connection', () => Promise.reject(new OutboundError('outbound_unreachable', 'slow.example'))],
  ])('the circuit of an upstream is not opened by %s', async (_, answer) => {
    const { fetch } = createOutside();
    const { upstream, changes } = setUp({ fetch: Object.assign(answer, { ...fetch }) });
    for (let n = 0; n < 2 * TIMEOUTS; n += 1) await upstream.fetch(TOKEN_ENDPOINT).catch(() => undefined);
    expect(changes).toEqual([]);
  });

  it('the circuit of an upstream does not stop another upstream at the same host', async () => {
    const { asked, parts, open } = setUp();
    await open();
    const sameHost = createUpstream(parts).fetch(TOKEN_ENDPOINT);
    asked.at(-1)?.answer.resolve(ok());
    expect((await sameHost).status).toBe(204);
  });

  it('stops all requests except code exchanges and status requests for charges', async () => {
    const { asked, upstream, open } = setUp();
    await open();
    /** A port whose verbs each send a request. */
    const portOf = <T>(verbs: readonly (keyof T)[]) =>
      Object.fromEntries(verbs.map(verb => [verb, () => upstream.fetch(TOKEN_ENDPOINT)])) as unknown as T;
    const sentBy = (port: object) =>
      Object.entries(port).flatMap(([verb, call]: [string, () => Promise<unknown>]) => {
        const before = asked.length;
        call().catch(() => undefined);
        return asked.length > before ? [verb] : [];
      });
    const as = <T>(work: () => Promise<T>) => work();
    const provider = portOf<Provider>([
      ...(['destinationHost', 'start', 'validateCallback', 'exchange'] as const),
      ...(['startDevice', 'pollDevice', 'refresh', 'isRevocable', 'revoke', 'dpopProof'] as const),
    ]);
    expect(sentBy(providerThrough(upstream, as, provider))).toEqual(['validateCallback', 'exchange']);
    const signIn = portOf<SignIn>(['start', 'finish', 'endSessionUrl']);
    expect(sentBy(signInThrough(upstream, as, signIn))).toEqual(['finish']);
    const processor = portOf<PaymentProcessor>([
      ...(['open', 'close', 'status', 'refund', 'refunds', 'disputes', 'webhook'] as const),
    ]);
    expect(sentBy(processorThrough(upstream, as, processor))).toEqual(['status']);
  });
});

describe('S72: a request that waits for an upstream', () => {
  function createRequests() {
    const counts = new Admission({ requestsInFlight: 100, eventLoopDelayMs: 100 }, { ms: 0 });
    const mcpServers = new ConcurrencyLimiter<string>();
    const counters = { inFlight: counts, mcpServers, turns: new Turns(() => 1) };
    const begin = (mcpServerId?: string) => {
      const permit = new RequestPermit(counters);
      if (mcpServerId !== undefined) permit.enterShare(mcpServerId, 100);
      permit.enter();
      return permit;
    };
    let current: RequestPermit | undefined;
    const during = <T>(permit: RequestPermit, work: () => T): T => {
      current = permit;
      return work();
    };
    return { counts, mcpServers, begin, during, permit: () => current };
  }
  const full = () => 'full' as const;

  it('counts neither as in flight nor in the share of its MCP server', async () => {
    const { counts, mcpServers, begin, during, permit } = createRequests();
    const { upstream } = setUp({ permit });
    const request = begin('a');
    const answer = Promise.withResolvers<string>();
    const asking = during(request, () => upstream.ask(() => answer.promise, full));
    expect([counts.inFlight, mcpServers.all]).toEqual([0, 0]);
    answer.resolve('answer');
    expect(await asking).toBe('answer');
    expect([counts.inFlight, mcpServers.all]).toEqual([1, 1]);
    request[Symbol.dispose]();
    expect([counts.inFlight, mcpServers.all]).toEqual([0, 0]);
  });

  it('releases all permits if its caller disconnects during the wait', async () => {
    const { counts, mcpServers, begin, during, permit } = createRequests();
    const { upstream } = setUp({ permit });
    const request = begin('a');
    const answer = Promise.withResolvers<string>();
    const asking = during(request, () => upstream.ask(() => answer.promise, full));
    request[Symbol.dispose]();
    answer.reject(new Error('no answer'));
    await expect(asking).rejects.toThrow();
    request.enterShare('b', 100);
    request.enter();
    expect([counts.inFlight, mcpServers.all]).toEqual([0, 0]);
  });

  it('uses at most half of the limit per MCP server, and is refused immediately above the limit', async () => {
    const { begin, during, permit } = createRequests();
    const { upstream, stopped } = setUp({ permit, waiting: 4 });
    const answer = Promise.withResolvers<'answer'>();
    const ask = (mcpServerId?: string) => during(begin(mcpServerId), () => upstream.ask(() => answer.promise, full));
    const waiting = [ask('a'), ask('a')];
    expect(await ask('a')).toBe('full');
    waiting.push(ask('b'), ask());
    expect(await ask()).toBe('full');
    expect(await ask('b')).toBe('full');
    expect(stopped).toEqual(['waiting', 'waiting', 'waiting']);
    waiting.push(during(begin('a'), () => upstream.insist(() => answer.promise)));
    answer.resolve('answer');
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['answer']));
    expect(await ask('a')).toBe('answer');
  });

  it('counts once if waits are nested', async () => {
    const { begin, during, permit } = createRequests();
    const { upstream } = setUp({ permit, waiting: 2 });
    const inner = () => upstream.ask(async () => 'answer' as const, full);
    expect(await during(begin('a'), () => upstream.ask(inner, full))).toBe('answer');
  });
});

describe('the upstreams of a reloaded configuration', () => {
  function createReloads() {
    const outside = createOutside();
    const shown: string[] = [];
    const limits = { outboundPerHost: 100, waitingPerProvider: 100 };
    const bulkheads = createBulkheads({
      overload: { limits, shed: () => undefined } as unknown as Overload,
      logger: createLogger({ level: 'silent' }),
      metrics: { circuit: (_: string, name: string, change: number) => shown.push(`${name} ${change}`) } as never,
      now: () => 0,
    });
    const configured = () => createUpstreams({ fetch: outside.fetch, observe: fetch => fetch, bulkheads });
    const timeOut = async (upstream: Upstream) => {
      for (let n = 0; n < TIMEOUTS; n += 1) {
        const request = upstream.fetch(TOKEN_ENDPOINT);
        outside.asked.at(-1)?.answer.reject(new OutboundError('outbound_timeout', 'slow.example'));
        await expect(request).rejects.toMatchObject({ code: 'outbound_timeout' });
      }
    };
    return { ...outside, bulkheads, configured, timeOut, shown };
  }

  it('begin with a closed circuit if the reload changes them, although they were prepared before', async () => {
    const { asked, bulkheads, configured, timeOut, shown } = createReloads();
    await timeOut(configured()('provider', 'forge'));
    const prepared = configured()('provider', 'forge');
    bulkheads.forget('provider', 'forge');
    expect(prepared.pausedMs).toBe(0);
    const sent = prepared.fetch(TOKEN_ENDPOINT);
    asked.at(-1)?.answer.resolve(ok());
    expect((await sent).status).toBe(204);
    expect(shown).toEqual(['forge 0', 'forge 1', 'forge 0', 'forge -1']);
  });

  it('keep their circuit if the reload does not change them', async () => {
    const { configured, timeOut } = createReloads();
    await timeOut(configured()('provider', 'forge'));
    expect(configured()('provider', 'forge').pausedMs).toBe(PAUSE_MS);
  });
});
