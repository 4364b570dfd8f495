import type { ServerScenario } from '../scenario.ts';
import { asking } from './asking.ts';
import { person } from './person.ts';
import { requestState } from './request-state.ts';

/** In the order in which they run: `url-elicitation-person` may end the elicitation for good, so it is last. */
export const serverScenarios: readonly ServerScenario[] = [asking, requestState, person];
