import { itHolds } from './in-vitest.ts';
import { networkScenarios } from './scenarios/network/index.ts';

itHolds('network', networkScenarios);
