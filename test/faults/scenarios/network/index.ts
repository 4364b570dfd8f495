import type { Scenario } from '../../scenario.ts';
import { directedNetworkTests } from './directed-tests.ts';
import { receiverAway } from './n7-receiver-away.ts';
import { droppedListeners } from './n9-dropped-listeners.ts';
import { cutWaits } from './n10-cut-waits.ts';
import { clocks } from './n11-clocks.ts';
import { troubledProviders } from './troubled-providers.ts';

/** What goes wrong at providers, receivers, clocks and on the way to them (security: N1 to N13). */
export const networkScenarios: readonly Scenario[] = [
  ...directedNetworkTests,
  ...troubledProviders,
  ...receiverAway,
  ...droppedListeners,
  ...cutWaits,
  ...clocks,
];
