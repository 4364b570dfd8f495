import { itHolds } from './in-vitest.ts';
import { lastMoments } from './scenarios/redis/r11-last-moment.ts';

// Alone, because these scenarios make the clock of this process wrong.
itHolds('last moment', lastMoments);
