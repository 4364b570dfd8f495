import { type Sweeper, type SweeperOptions, startSweeper } from '@postern/elicitation';
import type { GatewayDeps } from './deps.ts';
import type { Foundation } from './foundation.ts';
import { Expiry } from './payments/expiry.ts';
import type { Metrics } from './platform/metrics/create-metrics.ts';

/** Interval between sweeps for expired elicitations. A waiting read learns of an expiry at most this late. */
const EXPIRY_MS = 1000;
/** Interval between sweeps for due revocations. */
const REVOCATION_MS = 2000;
/** Interval between sweeps for charges to check. */
const CHARGE_MS = 2000;

/**
 * Starts the sweeps of this replica. They outlive a configuration: each handles what is due under the configuration in force.
 * @param inForce returns the parts of the configuration in force
 * @param pauseMs replaces all intervals, for tests
 */
export function startSweepers(
  foundation: Pick<Foundation, 'stores' | 'logger' | 'noteUnknownLayout' | 'metrics' | 'now'>,
  inForce: () => Pick<GatewayDeps, 'service' | 'revocationFlow' | 'paymentFlow' | 'refunds'>,
  pauseMs?: number,
): readonly Pick<Sweeper, 'stop'>[] {
  const { stores, logger, noteUnknownLayout, metrics } = foundation;
  const onError = (error: unknown) => {
    if (!noteUnknownLayout(error)) logger.warn({ event: 'sweeper.error', error }, 'sweep failed; retrying');
  };
  const expiry = new Expiry({ stores, now: foundation.now, inForce, onError });
  const sweep = <T>(
    task: Parameters<Metrics['swept']>[0],
    intervalMs: number,
    work: Pick<SweeperOptions<T>, 'due' | 'handle'>,
  ): Sweeper =>
    startSweeper({
      ...work,
      intervalMs: pauseMs ?? intervalMs,
      onError,
      onRound: tookMs => metrics?.swept(task, tookMs),
    });
  const elicitations = sweep('expiry', EXPIRY_MS, {
    due: (shard, limit) => stores.elicitations.due(shard, limit),
    handle: elicitationId => expiry.expire(elicitationId),
  });
  const revocations = sweep('revocation', REVOCATION_MS, {
    due: shard => inForce().revocationFlow.claimDue(shard),
    handle: revocation => inForce().revocationFlow.sendRevocation(revocation),
  });
  const charges = sweep('charge', CHARGE_MS, {
    due: (shard, limit) => stores.payments.dueChecks(shard, limit),
    handle: ({ elicitationId, of }) =>
      of === 'charge' ? expiry.checkCharge(elicitationId) : expiry.checkRefunds(elicitationId),
  });
  return [
    {
      async stop() {
        await Promise.all([elicitations.stop(), charges.stop()]);
        await expiry.idle();
      },
    },
    revocations,
  ];
}
