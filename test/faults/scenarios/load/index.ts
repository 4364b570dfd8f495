import { directed } from '../../directed.ts';
import type { Scenario } from '../../scenario.ts';
import { flows } from './l1-flows.ts';
import { streams } from './l2-streams.ts';
import { overload } from './l3-overload.ts';
import { randomIds } from './l4-random-ids.ts';
import { soaks } from './l5-soak.ts';
import { approvalRaces } from './l6-approvals.ts';
import { gracefulStop } from './p11-graceful-stop.ts';

/** As a test, each route gets 300 requests. */
const damagedRequests = ['browser', 'machine'].map(
  (users): Scenario => ({
    ...directed('L4', `damaged requests to every route for ${users}s, 5,000 for each: nothing unexpected happens`, {
      file: `test/faults/fuzz/${users}-routes.slow.test.ts`,
      test: 'S44, S47:',
      env: { FUZZ_INPUTS: '5000' },
    }),
    length: 'long',
  }),
);

export const loadScenarios: readonly Scenario[] = [
  ...flows,
  ...streams,
  overload,
  randomIds,
  ...damagedRequests,
  ...soaks,
  ...approvalRaces,
  gracefulStop,
];
