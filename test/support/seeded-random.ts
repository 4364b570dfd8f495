import { createHash } from 'node:crypto';

/** Deterministic pseudo-random numbers for a seed. */
export interface Random {
  /** Returns an integer from 0 to `limit - 1`. */
  below(limit: number): number;
}

export function seeded(seed: number): Random {
  let count = 0;
  return {
    below(limit) {
      count += 1;
      return createHash('sha256').update(`${seed} ${count}`).digest().readUInt32BE() % limit;
    },
  };
}
