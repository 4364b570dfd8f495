/** How thorough a run of the benchmark is, and where its files go. */
export interface Bench {
  readonly runs: number;
  /** Of one run under load. */
  readonly seconds: number;
  /** Of one run that measures single events. */
  readonly samples: number;
  readonly directory: string;
  readonly profileDir: string | undefined;
}

/** Redis as it is operated (append-only file, fsync every second), except that no rewrite of the file disturbs a run. */
export const redisOptions = { args: ['--auto-aof-rewrite-percentage', '0'] } as const;
