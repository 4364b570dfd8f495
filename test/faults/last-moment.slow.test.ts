import { itHolds } from './in-vitest.ts';
import { lastMoments } from './scenarios/redis/r11-last-moment.ts';

// In a separate file because these scenarios change the clock of the process.
itHolds('last moment', lastMoments);
