import { createHash } from 'node:crypto';
import { type Random, seeded } from '../support/seeded-random.ts';

/** Numbers by seed, and further independent ones by name: who draws in parallel must not depend on who comes first. */
export interface SeededRandom extends Random {
  /** True in so many cases of one. */
  chance(share: number): boolean;
  /** A whole number from `least` to `most`, both included. */
  between(least: number, most: number): number;
  /** @throws TypeError when there is nothing to choose from */
  pick<T>(list: readonly T[]): T;
  /** Another source, the same for the same seed and name whatever was drawn here before. */
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
