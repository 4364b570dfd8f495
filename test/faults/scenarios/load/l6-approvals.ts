import { directed } from '../../directed.ts';
import type { Scenario } from '../../scenario.ts';

export const approvalRaces: readonly Scenario[] = [
  directed('L6', 'concurrent approvals of one elicitation at three gateways: one counts', {
    file: 'test/replicas/approval-races.slow.test.ts',
    test: 'exactly one takes effect in every round',
  }),
];
