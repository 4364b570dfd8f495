import { type Sweeper, startSweeper } from '@postern/store-redis';
import type { GatewayDeps } from './deps.ts';
import { createEndingByTime } from './flows/ending-by-time.ts';

/** How often a replica looks for elicitations whose time is over; waiters hear of it that much later at most. */
const SWEEP_MS = 1000;
/** How often a replica looks for revocations that are due. */
const REVOCATION_MS = 2000;
/** And for charges to ask about. */
const CHARGE_MS = 2000;

/**
 * Starts the work that a gateway process does without a request.
 * @param pauseMs replaces both intervals, for tests
 */
export function startSweepers(deps: GatewayDeps, pauseMs?: number): readonly Pick<Sweeper, 'stop'>[] {
  const { stores, revocationFlow, logger, noteUnknownLayout, metrics } = deps;
  const onError = (error: unknown) => {
    if (!noteUnknownLayout(error)) logger.warn({ event: 'sweeper.error', error }, 'sweeping failed, will try again');
  };
  const endingByTime = createEndingByTime({ ...deps, onError });
  const elicitations = startSweeper({
    due: (shard, limit) => stores.elicitations.due(shard, limit),
    handle: elicitationId => endingByTime.end(elicitationId),
    intervalMs: pauseMs ?? SWEEP_MS,
    onError,
    onRound: tookMs => metrics?.swept('expiry', tookMs),
  });
  const revocations = startSweeper({
    due: shard => revocationFlow.due(shard),
    handle: revocation => revocationFlow.tell(revocation),
    intervalMs: pauseMs ?? REVOCATION_MS,
    onError,
    onRound: tookMs => metrics?.swept('revocation', tookMs),
  });
  const charges = startSweeper({
    due: (shard, limit) => stores.payments.dueChecks(shard, limit),
    handle: elicitationId => endingByTime.check(elicitationId),
    intervalMs: pauseMs ?? CHARGE_MS,
    onError,
    onRound: tookMs => metrics?.swept('charge', tookMs),
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
