import { configDefaults, defineConfig } from 'vitest/config';
import { LongestFirst } from './scripts/test-order.ts';
import { isShortRun } from './test/support/run-size.ts';

/** Tests that are slow by nature. `test` leaves them out; `test --all` and a named path run them. */
const slow = isShortRun ? ['**/*.slow.test.ts'] : [];

export default defineConfig({
  test: {
    include: ['{packages,services,tools,scripts,infra,test}/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...slow],
    pool: 'forks',
    // A tenth less processor time than with the default, which collects garbage more often.
    execArgv: ['--max-semi-space-size=64'],
    // The slowest files wait most of the time (images and load balancers use 0.4 of a processor): two cores have work for four. The
    // short run has none of them, and each worker compiles, optimizes and starts for itself what all use: a twentieth of the time.
    maxWorkers: isShortRun ? 3 : 4,
    // One process per worker runs all of its files, so modules, Redis, providers and browsers start once per worker. A second
    // project would start all of them again.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    // Node.js strips the types itself: nothing is transformed.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // Limits only turn a hang into a failure. A test that needs a minute on a busy machine is not wrong.
    testTimeout: 400_000,
    hookTimeout: 400_000,
    expect: { poll: { timeout: 300_000 } },
  },
});
