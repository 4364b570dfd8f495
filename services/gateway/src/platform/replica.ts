import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { ReplicaRecord, Stores } from '@postern/elicitation';
import { instance, type Logger } from './logger.ts';
import { packageVersion } from './package-version.ts';
import { periodic } from './periodic.ts';

/** Interval of the announcements, in ms. An order to drain arrives this late at most. */
const ANNOUNCE_EVERY_MS = 2_000;
/** How long a replica is listed after its last announcement, in ms. */
const LIFE_MS = 10_000;
/** A replica without an announcement for this time, in ms, is presumed dead where an error does no harm. */
const SILENT_MS = 3_000;
/** Interval at which a draining replica looks whether its requests have ended, in ms. */
const POLL_MS = 100;

/** A restarted container may have the host name and process id of its predecessor, whose orders and leases are not its own. */
export const newReplicaId = (): string => `rp_${randomBytes(6).toString('base64url')}`;

/** Whether a replica has not announced itself for `SILENT_MS`. It may be frozen instead of dead, and continue later. */
export async function isSilent(replicas: Pick<Stores['replicas'], 'remainingMs'>, replicaId: string) {
  return (await replicas.remainingMs(replicaId)) <= LIFE_MS - SILENT_MS;
}

interface ReplicaOptions {
  readonly replicaId: string;
  readonly replicas: Stores['replicas'];
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  /** Number of requests in flight. */
  readonly requests: () => number;
  /** Takes the replica out of service. Resolves when it has ended its waits and its background work. */
  readonly drain: () => Promise<void>;
  /** Whether the process stops, for whatever reason. */
  readonly isStopping: () => boolean;
}

/** The announcements of this replica in Redis. */
export interface Replica {
  readonly replicaId: string;
  stop(): Promise<void>;
}

/**
 * Announces this replica, so that operators can list it, and drains it when one of them orders that. A drained replica keeps running and
 * announcing itself until its process is stopped: whether it starts again is up to the supervisor. Failed announcements are repeated.
 */
export function startReplica({ replicaId, replicas, logger, requests, drain, isStopping }: ReplicaOptions): Replica {
  const about = { instance, version: packageVersion, startedAt: Date.now() };
  let status: ReplicaRecord['status'] = 'serving';
  let isFailing = false;

  async function takeOutOfService(signal: AbortSignal): Promise<void> {
    status = 'draining';
    logger.info({ event: 'replica.draining', replicaId }, 'draining as an operator ordered');
    await drain();
    while (requests() > 0 && !signal.aborted)
      await delay(POLL_MS, undefined, { signal, ref: false }).catch(() => undefined);
    status = 'drained';
    logger.info({ event: 'replica.drained', replicaId }, 'drained; the process can be stopped');
  }

  async function announce(signal: AbortSignal): Promise<void> {
    const shown = status === 'serving' && isStopping() ? 'draining' : status;
    const { mustDrain } = await replicas.announce(
      replicaId,
      { ...about, status: shown, requests: requests() },
      LIFE_MS,
    );
    isFailing = false;
    if (!mustDrain || status !== 'serving') return;
    takeOutOfService(signal).catch((error: unknown) =>
      logger.warn({ event: 'replica.drain_failed', replicaId, error }, 'draining failed; stop the process'),
    );
  }

  const announcing = periodic({
    every: ANNOUNCE_EVERY_MS,
    run: announce,
    isImmediate: true,
    onError(error) {
      if (!isFailing) logger.warn({ event: 'replica.unannounced', error }, 'announcing this replica failed; retrying');
      isFailing = true;
    },
  });

  return {
    replicaId,
    async stop() {
      await announcing.stop();
      // Otherwise it is listed until its time is over, which only delays the operator.
      await replicas.withdraw(replicaId).catch((error: unknown) => {
        logger.warn({ event: 'replica.unannounced', error }, 'failed to withdraw this replica');
      });
    },
  };
}
