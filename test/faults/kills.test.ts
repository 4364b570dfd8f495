import { itHolds } from './in-vitest.ts';
import { committed } from './scenarios/process/killed-at-points.ts';
import { killedUnderLoad } from './scenarios/redis/r1-restarts.ts';

itHolds('kills', [committed, killedUnderLoad], { atOnce: 2 });
