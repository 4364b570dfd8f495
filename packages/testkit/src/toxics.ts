/** As in Toxiproxy: `upstream` is what whoever connects sends, `downstream` what comes back. */
export type Direction = 'upstream' | 'downstream';

/** Toxiproxy's toxics with their meaning; `down` is `FaultProxy.down`. */
export type Toxic = {
  readonly direction: Direction;
  /** Share of the connections that it befalls. Default 1. */
  readonly toxicity?: number;
} & (
  | { readonly type: 'latency'; readonly latencyMs: number; readonly jitterMs?: number }
  | { readonly type: 'bandwidth'; readonly bytesPerSecond: number }
  /** The end of the connection is passed on late. */
  | { readonly type: 'slow_close'; readonly delayMs: number }
  /** Nothing gets through any more; the connection ends after the time, or never where it is 0. */
  | { readonly type: 'timeout'; readonly timeoutMs: number }
  /** The connection is reset (RST) after the time. */
  | { readonly type: 'reset_peer'; readonly timeoutMs: number }
  /** Data arrives in small pieces. */
  | {
      readonly type: 'slicer';
      readonly averageBytes: number;
      readonly variationBytes?: number;
      readonly delayMs?: number;
    }
  /** The connection ends after so many bytes. */
  | { readonly type: 'limit_data'; readonly bytes: number }
);

/** 0 to 1. */
export type Chance = () => number;

/** Sizes of the pieces in which a slicer lets so many bytes through. */
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

/** Numbers of a small generator (mulberry32): quick, and the same for the same seed. */
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
