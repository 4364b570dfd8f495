import type { Scenario } from '../../scenario.ts';
import { directedNetworkTests } from './directed-tests.ts';
import { failingProviders } from './failing-providers.ts';
import { receiverAway } from './n7-receiver-away.ts';
import { droppedListeners } from './n9-dropped-listeners.ts';
import { cutWaits } from './n10-cut-waits.ts';
import { clocks } from './n11-clocks.ts';

/** Faults of providers, receivers, clocks and the network in between (security: N1 to N13). */
export const networkScenarios: readonly Scenario[] = [
  ...directedNetworkTests,
  ...failingProviders,
  ...receiverAway,
  ...droppedListeners,
  ...cutWaits,
  ...clocks,
];
