import { describe, expect, it } from 'vitest';
import { listedScenarios, officialScenarios, unaccountedScenarios } from './official-scenarios.ts';
import { listScenarios } from './run-scenario.ts';

const LIST = `Server scenarios (test against a server):
  - ping [2025-11-25]
  - tools-call-elicitation [2025-11-25]
  - input-required-result-brand-new [2026-07-28]

Client scenarios (test against a client):
  - elicitation-sep1034-client-defaults [2025-11-25]
`;

describe('the scenarios of the official suite', () => {
  it('are taken from the list of server scenarios', () => {
    expect(listedScenarios(LIST)).toEqual(['tools-call-elicitation', 'input-required-result-brand-new']);
    expect(() => listedScenarios('something else')).toThrow();
  });

  it('are missed neither when one is new nor when one is gone', () => {
    const known = officialScenarios.map(({ name }) => name);
    expect(unaccountedScenarios(known)).toEqual([]);
    expect(unaccountedScenarios([...known, 'input-required-result-brand-new'])).toHaveLength(1);
    expect(unaccountedScenarios(known.slice(1))).toHaveLength(1);
  });

  it('are all accounted for in the installed suite', async () => {
    expect(unaccountedScenarios(listedScenarios(await listScenarios()))).toEqual([]);
  });
});
