import type { History } from './history.ts';
import type { SeededRandom } from './random.ts';

/** An item of the fault catalogue, or part of one. */
export interface Scenario {
  /** Id in the catalogue, such as `P1` or `R4`. */
  readonly item: string;
  /** The claim: "create: after a kill between the write to Redis and the 201, a retry returns the same elicitation". */
  readonly name: string;
  /** Without these the scenario is skipped with a message and does not count as passed. */
  readonly needs?: readonly Need[];
  /** Default `short`: runs once in CI. `long` scenarios need `--long`. */
  readonly length?: 'short' | 'long';
  /** An existing test that shows the item. `vitest run` runs it anyway; `pnpm faults` runs it as a child. */
  readonly directed?: DirectedTest;
  /** Limit of one run. Default ten minutes, which only turns a hang into a failure. */
  readonly timeoutMs?: number;
  /** @throws if a promise of this item does not hold. The runner checks the invariants afterwards. */
  run(run: FaultRun): Promise<void>;
}

export interface DirectedTest {
  readonly file: string;
  readonly test: string;
  /** Environment variables that make the test longer than in `vitest run`. */
  readonly env?: Readonly<Record<string, string>>;
}

export type Need = 'namespaces' | 'chromium' | 'faketime';

/** One run of a scenario with one seed. */
export interface FaultRun {
  readonly seed: number;
  /** `--long`: more repetitions. */
  readonly isLong: boolean;
  readonly random: SeededRandom;
  readonly history: History;
  /** The runner disposes it before it checks the history, whatever the result of the run. */
  readonly stack: AsyncDisposableStack;
  /**
   * Whether time limits are asserted. `pnpm faults` runs on an otherwise idle machine. A test shares the machine with
   * other work, so it only measures.
   */
  readonly isTimed: boolean;
  /** Records a figure for the report. */
  measure(name: string, value: number, unit: string): void;
}
