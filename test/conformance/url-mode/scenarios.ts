import { manifest } from './manifest.ts';
import type { Requirement } from './requirement.ts';
import type { Scenario } from './scenario.ts';
import { kindsAsking } from './scenarios/kinds-asking.ts';
import { kindsEnding } from './scenarios/kinds-ending.ts';
import { legacyAsking } from './scenarios/legacy-asking.ts';
import { legacyCompletion } from './scenarios/legacy-completion.ts';
import { modernAsking } from './scenarios/modern-asking.ts';
import { modernEnding } from './scenarios/modern-ending.ts';
import { modernRequestState } from './scenarios/modern-request-state.ts';
import { modernWaiting } from './scenarios/modern-waiting.ts';
import { urlAndCredentials } from './scenarios/url-and-credentials.ts';

const all: readonly Scenario[] = [
  ...modernAsking,
  ...modernWaiting,
  ...modernEnding,
  ...modernRequestState,
  ...legacyAsking,
  ...legacyCompletion,
  ...urlAndCredentials,
  ...kindsAsking,
  ...kindsEnding,
];

export type CitedScenario = Scenario & { readonly requirement: Requirement };

/**
 * Every requirement with the one scenario that plays it, in the order of the manifest.
 *
 * @throws when a requirement has no scenario, a scenario no requirement, or an id is there twice
 */
export function citedScenarios(
  requirements: readonly Requirement[] = manifest,
  scenarios: readonly Scenario[] = all,
): readonly CitedScenario[] {
  const faults = [
    ...twice(requirements).map(id => `${id} is twice in the manifest`),
    ...twice(scenarios).map(id => `${id} has two scenarios`),
    ...missing(requirements, scenarios).map(id => `${id} has no scenario`),
    ...missing(scenarios, requirements).map(id => `${id} is not in the manifest`),
  ];
  if (faults.length > 0) throw new Error(faults.join('\n'));
  const byId = new Map(scenarios.map(scenario => [scenario.id, scenario]));
  return requirements.flatMap(requirement => {
    const scenario = byId.get(requirement.id);
    return scenario === undefined ? [] : [{ ...scenario, requirement }];
  });
}

interface Identified {
  readonly id: string;
}

const twice = (list: readonly Identified[]): string[] =>
  list.filter(({ id }, at) => list.findIndex(other => other.id === id) !== at).map(({ id }) => id);

const missing = (from: readonly Identified[], to: readonly Identified[]): string[] =>
  from.filter(({ id }) => !to.some(other => other.id === id)).map(({ id }) => id);
