import type { Scenario } from '../../scenario.ts';
import { overload } from './l3-overload.ts';
import { randomIds } from './l4-random-ids.ts';
import { gracefulStop } from './p11-graceful-stop.ts';

export const loadScenarios: readonly Scenario[] = [overload, randomIds, gracefulStop];
