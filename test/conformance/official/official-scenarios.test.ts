import { describe, expect, it } from 'vitest';
import {
  listedScenarios,
  officialClientScenarios,
  officialScenarios,
  unaccountedScenarios,
} from './official-scenarios.ts';
import { listScenarios } from './run-scenario.ts';

const LIST = `Server scenarios (test against a server):
  - ping [2025-11-25]
  - tools-call-elicitation [2025-11-25]
  - input-required-result-brand-new [2026-07-28]

Client scenarios (test against a client):
  - initialize [2025-11-25]
  - elicitation-sep1034-client-defaults [2025-11-25]
  - sep-2322-client-request-state [2026-07-28]
`;

describe('the scenarios of the official suite', () => {
  it('are taken from the lists of server and client scenarios', () => {
    expect(listedScenarios(LIST, 'Server')).toEqual(['tools-call-elicitation', 'input-required-result-brand-new']);
    expect(listedScenarios(LIST, 'Client')).toEqual([
      'elicitation-sep1034-client-defaults',
      'sep-2322-client-request-state',
    ]);
    expect(() => listedScenarios('something else', 'Server')).toThrow();
    expect(() => listedScenarios('something else', 'Client')).toThrow();
  });

  it('are missed neither when one is new nor when one is gone', () => {
    const known = officialScenarios.map(({ name }) => name);
    expect(unaccountedScenarios(known, officialScenarios)).toEqual([]);
    expect(unaccountedScenarios([...known, 'input-required-result-brand-new'], officialScenarios)).toHaveLength(1);
    expect(unaccountedScenarios(known.slice(1), officialScenarios)).toHaveLength(1);
  });

  it('are all accounted for in the installed suite', async () => {
    const list = await listScenarios();
    expect(unaccountedScenarios(listedScenarios(list, 'Server'), officialScenarios)).toEqual([]);
    expect(unaccountedScenarios(listedScenarios(list, 'Client'), officialClientScenarios)).toEqual([]);
  });
});
