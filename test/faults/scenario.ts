import type { History } from './history.ts';
import type { SeededRandom } from './random.ts';

/** One item of the fault catalogue, or a part of one. */
export interface Scenario {
  /** Of the catalogue, such as `P1` or `R4`. */
  readonly item: string;
  /** What breaks: "create: killed between the commit and the 201". */
  readonly name: string;
  /** Where these cannot be had the scenario is skipped, says so, and does not count as passed. */
  readonly needs?: readonly Need[];
  /** Default `short`, which CI runs once. `long` ones run with `--long` only. */
  readonly length?: 'short' | 'long';
  /** A directed test that shows the item already; `vitest run` runs it anyway, `pnpm faults` as a child. */
  readonly directed?: { readonly file: string; readonly test: string };
  /** The bound of one run. Default ten minutes, which only turns a hang into a failure. */
  readonly timeoutMs?: number;
  /** @throws when something that only this item promises does not hold. The invariants are checked afterwards. */
  run(run: FaultRun): Promise<void>;
}

export type Need = 'namespaces' | 'chromium' | 'faketime';

/** One run of a scenario under one seed. */
export interface FaultRun {
  readonly seed: number;
  /** `--long`: there is time for more of the same. */
  readonly isLong: boolean;
  readonly random: SeededRandom;
  readonly history: History;
  /** Disposed by the runner, whatever came of the run, before the history is checked. */
  readonly stack: AsyncDisposableStack;
  /**
   * Whether bounds of time are part of the outcome. `pnpm faults` is run on a machine that has nothing else to do; a test also runs
   * beside other work, so it measures and does not judge.
   */
  readonly isTimed: boolean;
  /** A figure for the report. */
  measure(name: string, value: number, unit: string): void;
}
