import { createHash } from 'node:crypto';
import { type Random, seeded } from '../support/seeded-random.ts';

/** Seeded random numbers. Fork a source by name for concurrent draws, so that results do not depend on their order. */
export interface SeededRandom extends Random {
  /** True with this probability. */
  chance(share: number): boolean;
  /** Returns an integer from `least` to `most`, inclusive. */
  between(least: number, most: number): number;
  /** @throws TypeError if the list is empty */
  pick<T>(list: readonly T[]): T;
  /** Returns an independent source. Deterministic for seed and name, regardless of earlier draws. */
  fork(name: string): SeededRandom;
}

export function seededRandom(seed: number): SeededRandom {
  const { below } = seeded(seed);
  return {
    below,
    chance: share => below(1_000_000) < share * 1_000_000,
    between: (least, most) => least + below(most - least + 1),
    pick<T>(list: readonly T[]): T {
      if (list.length === 0) throw new TypeError('nothing to choose from');
      return list[below(list.length)] as T;
    },
    fork: name => seededRandom(createHash('sha256').update(`${seed} ${name}`).digest().readUInt32BE()),
  };
}
