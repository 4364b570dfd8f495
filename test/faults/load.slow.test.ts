import { itHolds } from './in-vitest.ts';
import { loadScenarios } from './scenarios/load/index.ts';

itHolds('load', loadScenarios);
