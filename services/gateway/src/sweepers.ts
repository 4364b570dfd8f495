import { type Sweeper, type SweeperOptions, startSweeper } from '@postern/store-redis';
import type { GatewayDeps } from './deps.ts';
import { createEndingByTime } from './flows/ending-by-time.ts';
import type { Metrics } from './metrics/create-metrics.ts';

/** How often a replica looks for elicitations whose time is over; waiters hear of it that much later at most. */
const SWEEP_MS = 1000;
/** How often a replica looks for revocations that are due. */
const REVOCATION_MS = 2000;
/** How often a replica looks for charges to ask about. */
const CHARGE_MS = 2000;

/**
 * Starts the work that a gateway process does without a request.
 * @param pauseMs replaces all intervals, for tests
 */
export function startSweepers(deps: GatewayDeps, pauseMs?: number): readonly Pick<Sweeper, 'stop'>[] {
  const { stores, revocationFlow, logger, noteUnknownLayout, metrics } = deps;
  const onError = (error: unknown) => {
    if (!noteUnknownLayout(error)) logger.warn({ event: 'sweeper.error', error }, 'sweeping failed, will try again');
  };
  const endingByTime = createEndingByTime({ ...deps, onError });
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
  const elicitations = sweep('expiry', SWEEP_MS, {
    due: (shard, limit) => stores.elicitations.due(shard, limit),
    handle: elicitationId => endingByTime.end(elicitationId),
  });
  const revocations = sweep('revocation', REVOCATION_MS, {
    due: shard => revocationFlow.due(shard),
    handle: revocation => revocationFlow.tell(revocation),
  });
  const charges = sweep('charge', CHARGE_MS, {
    due: (shard, limit) => stores.payments.dueChecks(shard, limit),
    handle: elicitationId => endingByTime.check(elicitationId),
  });
  return [
    {
      async stop() {
        await Promise.all([elicitations.stop(), charges.stop()]);
        await endingByTime.idle();
      },
    },
    revocations,
  ];
}
