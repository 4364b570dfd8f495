import {
  type PasskeyAnnouncement,
  type PasskeyAnnouncements,
  SHARDS,
  type Sweeper,
  startSweeper,
} from '@postern/elicitation';
import type { AuditLog } from '../../platform/audit/audit-events.ts';
import type { DeliveryQueue } from './delivery-queue.ts';
import { type DispatcherOptions, followRecord, MAX_WAITING, waitingIn } from './dispatcher.ts';
import type { WebhookEndpoint } from './webhook-endpoint.ts';

export interface AnnouncerOptions {
  readonly parts: readonly { readonly endpoint: WebhookEndpoint; readonly queue: DeliveryQueue }[];
  readonly announcements: PasskeyAnnouncements;
  readonly records: Pick<DispatcherOptions['records'], 'read'>;
  readonly auditLog: AuditLog;
  readonly onError: (error: unknown) => void;
  /** Pause between two ticks, in milliseconds. Default 1 s, so that each shard is read every 8 seconds. */
  readonly pauseMs?: number;
  /** Default `MAX_WAITING`. */
  readonly maxWaiting?: number;
}

/**
 * Carries announcements to the queues of the operator's endpoints, on every replica. It adds the jobs first and then removes the
 * announcement. A replica that is killed in between, or runs concurrently with another one, adds jobs that exist already, which
 * changes nothing.
 */
export function startAnnouncer(options: AnnouncerOptions): Pick<Sweeper, 'stop'> {
  const { parts, announcements, records, auditLog, onError, pauseMs, maxWaiting = MAX_WAITING } = options;

  async function carry(announcement: PasskeyAnnouncement): Promise<void> {
    for (const { endpoint, queue } of parts) {
      // Announcements have no feed that could keep one until a full queue has room.
      if ((await waitingIn(queue)) >= maxWaiting) auditLog.record('webhook.gap', { endpoint: endpoint.name });
      else await queue.add([announcement]);
    }
    await announcements.remove(announcement);
  }

  return startSweeper({
    async due(shard, limit) {
      // Once per sweep: operator endpoints have no dispatcher that would resume the queue of an enabled endpoint.
      if (shard === SHARDS[0]) for (const part of parts) await followRecord({ ...part, records, auditLog });
      return announcements.read(shard, limit);
    },
    handle: carry,
    onError,
    intervalMs: pauseMs,
  });
}
