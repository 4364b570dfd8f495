import { itHolds } from './in-vitest.ts';
import { redisScenarios } from './scenarios/redis/index.ts';
import { killedUnderLoad } from './scenarios/redis/r1-restarts.ts';
import { lastMoments } from './scenarios/redis/r11-last-moment.ts';

const elsewhere = new Set([killedUnderLoad, ...lastMoments]);
itHolds(
  'redis',
  redisScenarios.filter(scenario => !elsewhere.has(scenario)),
  { atOnce: 3 },
);
