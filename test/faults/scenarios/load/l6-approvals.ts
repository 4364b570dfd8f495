import { directed } from '../../directed.ts';
import type { Scenario } from '../../scenario.ts';

export const approvalRaces: readonly Scenario[] = [
  directed('L6', 'many approve the same elicitation at once, at three gateways', {
    file: 'test/replicas/approval-races.all.test.ts',
    test: 'exactly one counts in every round',
  }),
];
