import { type Sweeper, type SweeperOptions, startSweeper } from '@postern/elicitation';
import type { GatewayDeps } from './deps.ts';
import { Expiry } from './elicitations/expiry.ts';
import type { Metrics } from './platform/metrics/create-metrics.ts';

/** Interval between sweeps for expired elicitations. A waiting read learns of an expiry at most this late. */
const EXPIRY_MS = 1000;
/** Interval between sweeps for due revocations. */
const REVOCATION_MS = 2000;
/** Interval between sweeps for charges to check. */
const CHARGE_MS = 2000;

type SweeperDeps = Pick<
  GatewayDeps,
  | 'stores'
  | 'logger'
  | 'noteUnknownLayout'
  | 'metrics'
  | 'now'
  | 'service'
  | 'revocationFlow'
  | 'paymentFlow'
  | 'refunds'
>;

/**
 * Starts the sweeps of one configuration on this replica.
 * @param pauseMs replaces all intervals, for tests
 */
export function startSweepers(deps: SweeperDeps, pauseMs?: number): readonly Pick<Sweeper, 'stop'>[] {
  const { stores, logger, noteUnknownLayout, metrics, service, paymentFlow, refunds, revocationFlow, now } = deps;
  const onError = (error: unknown) => {
    if (!noteUnknownLayout(error)) logger.warn({ event: 'sweeper.error', error }, 'sweep failed; retrying');
  };
  const expiry = new Expiry({
    service,
    stores,
    paymentFlow,
    refunds,
    now,
    onError,
  });
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
    due: shard => revocationFlow.claimDue(shard),
    handle: revocation => revocationFlow.sendRevocation(revocation),
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
