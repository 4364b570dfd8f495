import type { Row } from './row.ts';
import type { Sweep } from './sweep.ts';

/** How thorough a run of the benchmark is, and where its files go. */
export interface Bench {
  readonly runs: number;
  /** Of one run under load. */
  readonly seconds: number;
  /** Of one run that measures single events. */
  readonly samples: number;
  /** Only a look: sweeps leave their largest sizes out. */
  readonly quick: boolean;
  readonly directory: string;
  readonly profileDir: string | undefined;
}

/** One group of the benchmark: measures, and answers what is to be shown of it, in this order. */
export type MeasureGroup = (bench: Bench) => Promise<readonly (Row | Sweep)[]>;

/** Redis as it is operated (append-only file, fsync every second), except that no rewrite of the file disturbs a run. */
export const redisOptions = { args: ['--auto-aof-rewrite-percentage', '0'] } as const;
