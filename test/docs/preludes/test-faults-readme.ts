/** Predefined names for the examples of test/faults/README.md. */
import type { FaultWorld } from '../../faults/fault-world.ts';

export { faketimeEnv } from '../../faults/faketime.ts';
export { startFaultWorld } from '../../faults/fault-world.ts';
export type { Scenario } from '../../faults/scenario.ts';
export { startTraffic } from '../../faults/traffic.ts';
export declare const world: FaultWorld;
