import { directed } from '../../directed.ts';
import type { Scenario } from '../../scenario.ts';
import { killedAtPoints } from './killed-at-points.ts';
import { deliveredUnrecorded } from './p8-delivered-unrecorded.ts';
import { refreshesUnstored } from './p9-refresh-unstored.ts';
import { rewrapHalfWay } from './p10-rewrap-half-way.ts';
import { surprises } from './p12-surprises.ts';

/** What happens to gateway processes (security: P1 to P12; P11 is with the load). */
export const processScenarios: readonly Scenario[] = [
  ...killedAtPoints,
  directed('P7', 'webhooks: killed between reading the feed, queueing and moving the cursor', {
    file: 'services/gateway/src/webhooks/webhooks-killed.all.integration.test.ts',
    test: 'P7: killed when it has',
  }),
  deliveredUnrecorded,
  ...refreshesUnstored,
  rewrapHalfWay,
  directed('P10', 'rotation of keys: a replica is killed half way, another goes on under load', {
    file: 'services/gateway/src/rewrap.integration.test.ts',
    test: 'a killed replica is followed by another',
  }),
  surprises,
  directed('P6', 'payment by a processor: killed at every step between the approval and the receipt', {
    file: 'test/replicas/payment-crash-points.all.test.ts',
    test: 'S37, P2–P7: killed in the middle of a payment',
  }),
];
