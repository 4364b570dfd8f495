/** As in Toxiproxy: `upstream` is client to server, `downstream` server to client. */
export type Direction = 'upstream' | 'downstream';

/** Toxiproxy's toxics, with the same meaning. `down` is `FaultProxy.down`. */
export type Toxic = {
  readonly direction: Direction;
  /** Share of the connections that it affects. Default 1. */
  readonly toxicity?: number;
} & (
  | { readonly type: 'latency'; readonly latencyMs: number; readonly jitterMs?: number }
  | { readonly type: 'bandwidth'; readonly bytesPerSecond: number }
  /** Delays the end of the connection. */
  | { readonly type: 'slow_close'; readonly delayMs: number }
  /** Drops all data, and ends the connection after this time (0: never). */
  | { readonly type: 'timeout'; readonly timeoutMs: number }
  /** Resets the connection (RST) after this time. */
  | { readonly type: 'reset_peer'; readonly timeoutMs: number }
  /** Splits data into small pieces. */
  | {
      readonly type: 'slicer';
      readonly averageBytes: number;
      readonly variationBytes?: number;
      readonly delayMs?: number;
    }
  /** Ends the connection after this number of bytes. */
  | { readonly type: 'limit_data'; readonly bytes: number }
);

/** 0 to 1. */
export type Chance = () => number;

/** Returns the sizes of the pieces into which a slicer splits this number of bytes. */
export function slices(bytes: number, toxic: Extract<Toxic, { type: 'slicer' }>, chance: Chance): number[] {
  const variation = toxic.variationBytes ?? 0;
  const sizes: number[] = [];
  for (let left = bytes; left > 0; ) {
    const wanted = toxic.averageBytes + Math.round((chance() * 2 - 1) * variation);
    const size = Math.min(Math.max(wanted, 1), left);
    sizes.push(size);
    left -= size;
  }
  return sizes;
}

/** Returns a generator of random numbers (mulberry32), deterministic for a seed. */
export function chanceBy(seed: number): Chance {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = a;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
