import { itHolds } from './in-vitest.ts';
import { redisScenarios } from './scenarios/redis/index.ts';
import { lastMoments } from './scenarios/redis/r11-last-moment.ts';

itHolds(
  'redis',
  redisScenarios.filter(scenario => !lastMoments.includes(scenario)),
  { atOnce: 3 },
);
