import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { missingNeeds } from './needs.ts';
import { runScenario } from './runner.ts';
import type { Scenario } from './scenario.ts';

/** The seed of CI. `POSTERN_FAULT_SEED` sets another. */
const SEED = Number(process.env['POSTERN_FAULT_SEED'] ?? 1);

/** The short scenarios of a group as tests, each under one seed. Those that a test of its own shows run there. */
export function itHolds(group: string, scenarios: readonly Scenario[]): void {
  describe(`faults: ${group}`, () => {
    for (const scenario of scenarios) {
      const { item, name, needs = [], directed, length, timeoutMs = 120_000 } = scenario;
      if (directed !== undefined || length === 'long') continue;
      it(`${item}: ${name}`, { timeout: timeoutMs + 60_000 }, async ({ skip }) => {
        const missing = await missingNeeds(needs);
        if (missing.length > 0) skip(missing.join(', '));
        const directory = join(tmpdir(), 'postern-faults');
        const { reasons, historyPath } = await runScenario(scenario, { seed: SEED, isLong: false, directory });
        expect(reasons, `seed ${SEED}, history ${historyPath}`).toEqual([]);
      });
    }
  });
}
