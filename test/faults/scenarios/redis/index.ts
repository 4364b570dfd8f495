import type { Scenario } from '../../scenario.ts';
import { restarts } from './r1-restarts.ts';
import { forgetful } from './r2-forgetful.ts';
import { tornScripts } from './r3-torn-scripts.ts';
import { failOvers } from './r4-failovers.ts';
import { partitions } from './r5-partition.ts';
import { slowness } from './r6-slow.ts';
import { answersLost } from './r7-answers-lost.ts';
import { refusals } from './r8-refusals.ts';
import { fullDisks } from './r9-full-disk.ts';
import { changedSettings } from './r10-changed-settings.ts';
import { lastMoments } from './r11-last-moment.ts';
import { oneSlot } from './r12-one-slot.ts';

/** Faults of Redis and of the connection to it (security: R1 to R12). */
export const redisScenarios: readonly Scenario[] = [
  ...restarts,
  ...forgetful,
  ...tornScripts,
  ...failOvers,
  ...partitions,
  ...slowness,
  ...answersLost,
  ...refusals,
  ...fullDisks,
  ...changedSettings,
  ...lastMoments,
  ...oneSlot,
];
