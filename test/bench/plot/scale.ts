/** From a value to a place on the axis, and where on it there is something to read. */
export interface Scale {
  readonly ticks: readonly number[];
  at(value: number): number;
}

const TICKS = 5;

/** From zero to a little more than the largest value. `from` and `to` are places: an axis may run upwards. */
export function linearScale(largest: number, from: number, to: number): Scale {
  const rough = (largest > 0 ? largest : 1) / TICKS;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 2.5, 5].find(factor => factor * power >= rough) ?? 10);
  const count = Math.max(1, Math.ceil(largest / step));
  const ticks = Array.from({ length: count + 1 }, (_, nth) => nth * step);
  return { ticks, at: value => from + ((to - from) * value) / (count * step) };
}

/** Equal factors are equal distances; ticks are the powers of `base`. The values are above zero. */
export function logScale(values: readonly number[], base: number, from: number, to: number): Scale {
  const exponent = (value: number) => Math.log(value) / Math.log(base);
  // Powers of ten have logarithms that are whole but for the last digit.
  const low = Math.floor(exponent(Math.min(...values)) + 1e-9);
  const high = Math.max(low + 1, Math.ceil(exponent(Math.max(...values)) - 1e-9));
  const ticks = Array.from({ length: high - low + 1 }, (_, nth) => base ** (low + nth));
  return { ticks, at: value => from + ((to - from) * (exponent(value) - low)) / (high - low) };
}

/** 1500 → 1.5 k: as short as the labels of an axis are. */
export function short(value: number): string {
  for (const [size, letter] of [
    [1e6, ' M'],
    [1e3, ' k'],
  ] as const) {
    if (Math.abs(value) >= size) return `${Number((value / size).toPrecision(3))}${letter}`;
  }
  return String(Number(value.toPrecision(3)));
}
