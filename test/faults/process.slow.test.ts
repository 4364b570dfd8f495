import { itHolds } from './in-vitest.ts';
import { processScenarios } from './scenarios/process/index.ts';
import { killedAtEveryPoint, killedAtPoints } from './scenarios/process/killed-at-points.ts';

const others = processScenarios.filter(scenario => !killedAtPoints.includes(scenario));
itHolds('process', [killedAtEveryPoint, ...others], { atOnce: 3 });
