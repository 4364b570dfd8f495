import type { Scenario } from '../../scenario.ts';

export const redisScenarios: readonly Scenario[] = [];
