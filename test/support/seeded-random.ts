import { createHash } from 'node:crypto';

/** Numbers that look random and are the same for the same seed. */
export interface Random {
  /** A whole number from 0 to `limit - 1`. */
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
