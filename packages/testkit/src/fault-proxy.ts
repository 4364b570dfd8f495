import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createLane, type Lane } from './fault-lane.ts';
import { createRequestWatch, type Loss, type Moment, type RequestWatch, type WatchOrder } from './request-watch.ts';
import { chanceBy, type Toxic } from './toxics.ts';

export type { Loss, Moment, PassingRequest, WatchOrder } from './request-watch.ts';
export type { Direction, Toxic } from './toxics.ts';

/** A TCP proxy on loopback that breaks what goes through it, as it is told. */
export interface FaultProxy extends AsyncDisposable {
  readonly port: number;
  /** Connections that are open through it. */
  readonly connections: number;
  /** Loses the answer to the next request that contains the marker. Resolves once that has happened. */
  loseAnswerTo(marker: string, loss: Loss): Promise<void>;
  /** Breaks every connection there is. New ones are let through. */
  disconnectAll(): void;
  /** For open connections and for those that come, until it is disposed. */
  add(toxic: Toxic): Disposable;
  /** Breaks every connection and refuses new ones until `up`. */
  down(): void;
  up(): void;
  /** Calls back at a moment in the life of a request. Resolves once that has happened. */
  watch(order: WatchOrder): Promise<void>;
  /** How many requests have got their answer so far that this is true of; counted from the first call with this function on. */
  answered(matches: WatchOrder['matches']): () => number;
}

export interface FaultProxyOptions {
  /** Host of the target. Default 127.0.0.1. */
  readonly targetHost?: string;
  /** Where it listens. Default 127.0.0.1. */
  readonly host?: string;
  /**
   * `resp`: requests are Redis commands, each with its own answer, however they are packed. `chunks` (default): what arrives at once
   * is a request, and what comes back next is its answer.
   */
  readonly protocol?: 'chunks' | 'resp';
  /** Of what is left to chance: toxicity, jitter and sizes. */
  readonly seed?: number;
}

interface Connection {
  readonly lanes: { readonly upstream: Lane; readonly downstream: Lane };
  readonly end: (how: 'destroy' | 'reset') => void;
}

/** @param targetPort where it leads */
export async function startFaultProxy(targetPort: number, options: FaultProxyOptions = {}): Promise<FaultProxy> {
  const { targetHost = '127.0.0.1', host = '127.0.0.1', protocol = 'chunks', seed = 1 } = options;
  const connections = new Set<Connection>();
  const toxics = new Set<Toxic>();
  const orders: WatchOrder[] = [];
  const counters: { readonly matches: WatchOrder['matches']; count: number }[] = [];
  let isDown = false;
  let opened = 0;

  function take(near: Socket): void {
    if (isDown) {
      near.resetAndDestroy();
      return;
    }
    opened += 1;
    const chance = chanceBy(seed * 65_537 + opened);
    const far = connect(targetPort, targetHost);
    for (const socket of [near, far]) socket.setNoDelay(true);
    const closing = new AbortController();
    const end = (how: 'destroy' | 'reset') => {
      closing.abort();
      connections.delete(connection);
      for (const socket of [near, far]) {
        if (how === 'reset') socket.resetAndDestroy();
        else socket.destroy();
      }
    };
    const lane = (direction: Toxic['direction'], from: Socket, to: Socket) =>
      createLane({
        ...{ from, to, chance, end, closing: closing.signal },
        toxics: () => [...toxics].filter(toxic => toxic.direction === direction),
      });
    const lanes = { upstream: lane('upstream', near, far), downstream: lane('downstream', far, near) };
    const connection: Connection = { lanes, end };
    connections.add(connection);
    const watch: RequestWatch = createRequestWatch(protocol, { orders, onAnswered, cut: () => end('destroy') });
    near.on('data', (data: Buffer) => watch.sent(data, part => lanes.upstream.push(part)));
    far.on('data', (data: Buffer) => watch.answered(data, part => lanes.downstream.push(part)));
    near.on('end', () => void lanes.upstream.finish());
    far.on('end', () => void lanes.downstream.finish());
    for (const socket of [near, far]) {
      // A broken connection is what this proxy is for; its other half ends with it.
      socket.on('error', () => end('destroy'));
      socket.on('close', () => {
        if (near.destroyed && far.destroyed) end('destroy');
      });
    }
    for (const each of [lanes.upstream, lanes.downstream]) each.changed();
  }

  const onAnswered: Parameters<typeof createRequestWatch>[1]['onAnswered'] = request => {
    for (const counter of counters) if (counter.matches(request)) counter.count += 1;
  };

  // Each half is ended by itself, when what it was sent has arrived.
  const listener = createServer({ allowHalfOpen: true }, take).listen(0, host);
  await once(listener, 'listening');

  const disconnectAll = () => {
    for (const { end } of connections) end('destroy');
  };
  const watch = (order: WatchOrder): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    let left = order.nth ?? 1;
    const own: WatchOrder = {
      ...order,
      act(request) {
        left -= 1;
        if (left > 0) return undefined;
        orders.splice(orders.indexOf(own), 1);
        const fate = order.act(request);
        resolve();
        return fate;
      },
    };
    orders.push(own);
    return promise;
  };

  return {
    port: (listener.address() as AddressInfo).port,
    get connections() {
      return connections.size;
    },
    loseAnswerTo: (marker, loss) =>
      watch({
        moment: 'answer_arrives' satisfies Moment,
        matches: ({ data }) => data.includes(marker),
        act: () => (loss === 'disconnect' ? 'cut' : 'stall'),
      }),
    disconnectAll,
    add(toxic) {
      toxics.add(toxic);
      for (const { lanes } of connections) lanes[toxic.direction].changed();
      return { [Symbol.dispose]: () => void toxics.delete(toxic) };
    },
    down() {
      isDown = true;
      for (const { end } of connections) end('reset');
    },
    up() {
      isDown = false;
    },
    watch,
    answered(matches) {
      const counter = { matches, count: 0 };
      counters.push(counter);
      return () => counter.count;
    },
    [Symbol.asyncDispose]: async () => {
      const closed = once(listener, 'close');
      listener.close();
      disconnectAll();
      await closed;
    },
  };
}
