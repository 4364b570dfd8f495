import { itHolds } from './in-vitest.ts';
import { redisScenarios } from './scenarios/redis/index.ts';

itHolds('redis', redisScenarios);
