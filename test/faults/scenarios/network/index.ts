import type { Scenario } from '../../scenario.ts';

export const networkScenarios: readonly Scenario[] = [];
