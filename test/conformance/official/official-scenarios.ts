/** Why a scenario of the official suite that touches elicitation is not run. */
type Reason = string;

export interface OfficialScenario {
  readonly name: string;
  /** Where set, the scenario is shown as skipped. */
  readonly skipped?: Reason;
}

const noTasks = 'needs the Tasks extension, for which the SDK has no server runtime';

/** Scenarios for MCP servers that touch elicitation, as this repository knows them. */
export const officialScenarios: readonly OfficialScenario[] = [
  { name: 'tools-call-elicitation' },
  { name: 'elicitation-sep1034-defaults' },
  { name: 'elicitation-sep1330-enums' },
  { name: 'input-required-result-basic-elicitation' },
  { name: 'input-required-result-basic-sampling' },
  { name: 'input-required-result-basic-list-roots' },
  { name: 'input-required-result-request-state' },
  { name: 'input-required-result-multiple-input-requests' },
  { name: 'input-required-result-multi-round' },
  { name: 'input-required-result-missing-input-response' },
  { name: 'input-required-result-non-tool-request' },
  { name: 'input-required-result-result-type' },
  { name: 'input-required-result-unsupported-methods' },
  { name: 'input-required-result-tampered-state' },
  { name: 'input-required-result-capability-check' },
  { name: 'input-required-result-ignore-extra-params' },
  { name: 'input-required-result-validate-input' },
  { name: 'tasks-mrtr-input', skipped: noTasks },
  { name: 'tasks-mrtr-composition', skipped: noTasks },
];

/** Scenarios for MCP clients that touch elicitation; `client-program.ts` plays them with `@postern/host`. */
export const officialClientScenarios: readonly (OfficialScenario & { readonly revision: string })[] = [
  { name: 'elicitation-sep1034-client-defaults', revision: '2025-11-25' },
  { name: 'sep-2322-client-request-state', revision: '2026-07-28' },
];

/** SEP-2322 is the rounds of `input_required`. */
const TOUCHES_ELICITATION = /elicitation|^input-required-result-|mrtr|sep-2322/;

type Side = 'Server' | 'Client';

/** Names of the scenarios of one side in the output of `conformance list` that touch elicitation. @throws on another format */
export function listedScenarios(output: string, side: Side): readonly string[] {
  const [, section] = new RegExp(`^${side} scenarios[^\\n]*\\n((?: {2}- .*\\n?)+)`, 'm').exec(output) ?? [];
  if (section === undefined) throw new Error('`conformance list` has changed its format');
  const names = [...section.matchAll(/^ {2}- (\S+)/gm)].map(([, name = '']) => name);
  return names.filter(name => TOUCHES_ELICITATION.test(name));
}

/** Differences between what the suite offers and what is written down here: a new scenario must not pass by unseen. */
export function unaccountedScenarios(
  listed: readonly string[],
  accounted: readonly OfficialScenario[],
): readonly string[] {
  const known = accounted.map(({ name }) => name);
  return [
    ...listed.filter(name => !known.includes(name)).map(name => `${name} is new in the official suite`),
    ...known.filter(name => !listed.includes(name)).map(name => `${name} is gone from the official suite`),
  ];
}
