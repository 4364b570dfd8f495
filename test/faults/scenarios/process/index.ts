import type { Scenario } from '../../scenario.ts';

export const processScenarios: readonly Scenario[] = [];
