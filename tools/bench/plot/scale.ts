/** Maps a value to a position on the axis, and lists the ticks. */
export interface Scale {
  readonly ticks: readonly number[];
  at(value: number): number;
}

const TICKS = 5;

/** A linear scale from zero to slightly above the largest value. `from` and `to` are positions; an axis may run upwards. */
export function linearScale(largest: number, from: number, to: number): Scale {
  const rough = (largest > 0 ? largest : 1) / TICKS;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 2.5, 5].find(factor => factor * power >= rough) ?? 10);
  const count = Math.max(1, Math.ceil(largest / step));
  const ticks = Array.from({ length: count + 1 }, (_, nth) => nth * step);
  return { ticks, at: value => from + ((to - from) * value) / (count * step) };
}

/** A logarithmic scale whose ticks are the powers of `base`. All values must be positive. */
export function logScale(values: readonly number[], base: number, from: number, to: number): Scale {
  const exponent = (value: number) => Math.log(value) / Math.log(base);
  // Logarithms of powers of ten are integers except for rounding errors.
  const low = Math.floor(exponent(Math.min(...values)) + 1e-9);
  const high = Math.max(low + 1, Math.ceil(exponent(Math.max(...values)) - 1e-9));
  const ticks = Array.from({ length: high - low + 1 }, (_, nth) => base ** (low + nth));
  return { ticks, at: value => from + ((to - from) * (exponent(value) - low)) / (high - low) };
}

/** Formats a number for an axis label: 1500 → 1.5 k. */
export function short(value: number): string {
  for (const [size, letter] of [
    [1e6, ' M'],
    [1e3, ' k'],
  ] as const) {
    if (Math.abs(value) >= size) return `${Number((value / size).toPrecision(3))}${letter}`;
  }
  return String(Number(value.toPrecision(3)));
}
