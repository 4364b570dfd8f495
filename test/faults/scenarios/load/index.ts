import type { Scenario } from '../../scenario.ts';
import { flows } from './l1-flows.ts';
import { streams } from './l2-streams.ts';
import { overload } from './l3-overload.ts';
import { randomIds } from './l4-random-ids.ts';
import { soaks } from './l5-soak.ts';
import { approvalRaces } from './l6-approvals.ts';
import { gracefulStop } from './p11-graceful-stop.ts';

export const loadScenarios: readonly Scenario[] = [
  ...flows,
  ...streams,
  overload,
  randomIds,
  ...soaks,
  ...approvalRaces,
  gracefulStop,
];
