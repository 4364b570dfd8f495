import { type Sweeper, startSweeper } from '@postern/store-redis';
import type { GatewayDeps } from './deps.ts';

/** How often a replica looks for elicitations whose time is over; waiters hear of it that much later at most. */
const SWEEP_MS = 1000;
/** How often a replica looks for revocations that are due. */
const REVOCATION_MS = 2000;

/** What a gateway process does by itself, beside answering. */
export function startSweepers({ service, stores, revocationFlow, logger }: GatewayDeps): readonly Sweeper[] {
  const onError = (error: unknown) => logger.warn({ event: 'sweeper.error', error }, 'sweeping failed, will try again');
  return [
    startSweeper({
      due: (shard, limit) => stores.elicitations.due(shard, limit),
      handle: elicitationId => service.expire(elicitationId),
      intervalMs: SWEEP_MS,
      onError,
    }),
    startSweeper({
      due: shard => revocationFlow.due(shard),
      handle: revocation => revocationFlow.tell(revocation),
      intervalMs: REVOCATION_MS,
      onError,
    }),
  ];
}
