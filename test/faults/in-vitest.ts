import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { HANG_MS } from './hang.ts';
import { missingNeeds } from './needs.ts';
import { runScenario } from './runner.ts';
import type { Scenario } from './scenario.ts';

/** The seed of CI. `POSTERN_FAULT_SEED` overrides it. */
const SEED = Number(process.env['POSTERN_FAULT_SEED'] ?? 1);

/**
 * Defines the short scenarios of a group as tests, each with one seed. Directed scenarios are omitted: their own test runs anyway.
 * @param atOnce number of concurrent scenarios, which mostly wait. Default 1.
 */
export function itHolds(group: string, scenarios: readonly Scenario[], { atOnce = 1 } = {}): void {
  const turns = createTurns(atOnce);
  describe.concurrent(`faults: ${group}`, () => {
    for (const scenario of scenarios) {
      const { item, name, needs = [], directed, length, timeoutMs = 2 * HANG_MS } = scenario;
      if (directed !== undefined || length === 'long') continue;
      // The run has its own limit; this one includes waiting for a free slot.
      it(`${item}: ${name}`, { timeout: timeoutMs * scenarios.length }, async ({ skip, expect }) => {
        const missing = await missingNeeds(needs);
        if (missing.length > 0) skip(missing.join(', '));
        using _turn = await turns.take();
        const directory = join(tmpdir(), 'postern-faults');
        const { reasons, historyPath } = await runScenario(scenario, {
          seed: SEED,
          isLong: false,
          isTimed: false,
          directory,
        });
        expect(reasons.join('\n'), `seed ${SEED}, history ${historyPath}`).toBe('');
      });
    }
  });
}

function createTurns(count: number): { take(): Promise<Disposable> } {
  const waiting: (() => void)[] = [];
  let left = count;
  const give: Disposable = {
    [Symbol.dispose]() {
      const next = waiting.shift();
      if (next === undefined) left += 1;
      else next();
    },
  };
  return {
    async take() {
      if (left > 0) left -= 1;
      else await new Promise<void>(resolve => waiting.push(resolve));
      return give;
    },
  };
}
