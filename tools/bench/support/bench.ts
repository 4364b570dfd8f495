import type { Row } from './row.ts';
import type { Rounds } from './statistics.ts';
import type { Sweep } from './sweep.ts';

/** Settings of a benchmark run, and the folders for its files. */
export interface Bench extends Rounds {
  /** Duration of one run under load. */
  readonly seconds: number;
  /** Number of events in one run that measures single events. */
  readonly samples: number;
  /** A quick run, without the largest sizes of sweeps. */
  readonly quick: boolean;
  readonly directory: string;
  readonly profileDir: string | undefined;
}

/** A group of the benchmark. Measures and returns its rows and sweeps, in order. */
export type MeasureGroup = (bench: Bench) => Promise<readonly (Row | Sweep)[]>;

/** Redis as in production (append-only file, fsync every second), except that no rewrite of the file disturbs a run. */
export const redisOptions = { args: ['--auto-aof-rewrite-percentage', '0'] } as const;
