import { type ElicitationId, isCharging } from '@postern/elicitation';
import { type Sweeper, startSweeper } from '@postern/store-redis';
import type { GatewayDeps } from './deps.ts';

/** How often a replica looks for elicitations whose time is over; waiters hear of it that much later at most. */
const SWEEP_MS = 1000;
/** How often a replica looks for revocations that are due. */
const REVOCATION_MS = 2000;

/** How long a processor that does not know yet, or does not answer, is left alone. */
const ASK_AGAIN_MS = 30_000;

/**
 * What may have been paid ends by what the processor says, and stays open until it has said it. It is put back before the processor is
 * asked, so that replicas take turns, and one that dies meanwhile leaves it to the next.
 */
export async function endByTime(
  { service, stores, paymentFlow }: Pick<GatewayDeps, 'service' | 'stores' | 'paymentFlow'>,
  elicitationId: ElicitationId,
): Promise<void> {
  const elicitation = await service.find(elicitationId);
  if (elicitation === undefined || !isCharging(elicitation)) {
    await service.expire(elicitationId);
    return;
  }
  await stores.elicitations.postpone(elicitationId, ASK_AGAIN_MS);
  await paymentFlow.close(elicitation, 'expire');
}

/** What a gateway process does by itself, beside answering. */
export function startSweepers(deps: GatewayDeps): readonly Sweeper[] {
  const { stores, revocationFlow, logger } = deps;
  const onError = (error: unknown) => logger.warn({ event: 'sweeper.error', error }, 'sweeping failed, will try again');
  return [
    startSweeper({
      due: (shard, limit) => stores.elicitations.due(shard, limit),
      handle: elicitationId => endByTime(deps, elicitationId),
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
