import { directed } from '../../directed.ts';
import type { Scenario } from '../../scenario.ts';
import { killedAtPoints } from './killed-at-points.ts';
import { deliveredUnrecorded } from './p8-delivered-unrecorded.ts';
import { refreshesUnstored } from './p9-refresh-unstored.ts';
import { rewrapHalfWay } from './p10-rewrap-half-way.ts';
import { surprises } from './p12-surprises.ts';

/** Faults of gateway processes (security: P1 to P12; P11 is with the load scenarios). */
export const processScenarios: readonly Scenario[] = [
  ...killedAtPoints,
  directed('P7', 'webhooks: kills between reading the feed, queueing and moving the cursor lose no delivery', {
    file: 'services/gateway/src/events/webhooks/webhooks-killed.slow.test.ts',
    test: 'P7: killed when it has',
  }),
  deliveredUnrecorded,
  ...refreshesUnstored,
  rewrapHalfWay,
  directed('P10', 'key rotation: a replica is killed half way, another continues under load', {
    file: 'services/gateway/src/sealing/rewrap.slow.test.ts',
    test: 'a killed replica is followed by another',
  }),
  surprises,
  directed('P6', 'payment: kills at every step between the approval and the receipt charge the user once', {
    file: 'test/replicas/payment-crash-points.slow.test.ts',
    test: 'S37, P2–P7: killed in the middle of a payment',
  }),
];
