import type { Scenario } from '../../scenario.ts';

export const loadScenarios: readonly Scenario[] = [];
