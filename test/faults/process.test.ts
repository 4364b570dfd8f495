import { itHolds } from './in-vitest.ts';
import { processScenarios } from './scenarios/process/index.ts';

itHolds('process', processScenarios, { atOnce: 3 });
