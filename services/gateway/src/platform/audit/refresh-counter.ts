import {
  type Clock,
  hourOf,
  newOperationId,
  type RefreshBatch,
  type RefreshCount,
  type Stores,
  systemEntropy,
} from '@postern/elicitation';
import { outsideRequests } from '../http/request-context.ts';
import type { Logger } from '../logger.ts';
import { type AuditEventEntry, type AuditSink, auditEvents } from './audit-events.ts';

export interface RefreshCounter extends AsyncDisposable {
  readonly sink: AuditSink;
  /** Adds what was counted since the last call to the counts of the deployment. Waits for a call under way. */
  flush(): Promise<void>;
}

/** How long counts stay in this process. A killed process loses them. */
const FLUSH_AFTER_MS = 10_000;
/** Batches of one provider and day. While Redis is away nothing is refreshed, so only a broken one could reach this. */
const MAX_BATCHES = 1_000;

/** Counts how the refreshes of this process ended, from its audit events. No refresh waits for it. */
export function createRefreshCounter(p: {
  readonly counts: Pick<Stores['refreshCounts'], 'add'>;
  readonly logger: Pick<Logger, 'warn'>;
  readonly now: Clock;
}): RefreshCounter {
  const writer = newOperationId(systemEntropy);
  let counted = new Map<string, RefreshCount & { readonly provider: string }>();
  /** In the order of sending. A batch that Redis did not confirm is sent again unchanged, before any other. */
  const batches: RefreshBatch[] = [];
  let flushing: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;

  function plan(): void {
    timer ??= outsideRequests(() => setTimeout(flush, FLUSH_AFTER_MS)).unref();
  }

  function takeBatches(): void {
    const groups = Map.groupBy(counted.values(), ({ provider, at }) => JSON.stringify([provider, hourOf(at).day]));
    for (const rows of groups.values()) {
      const [first] = rows;
      if (first === undefined || batches.length >= MAX_BATCHES) continue;
      const { provider, at } = first;
      const counts = rows.map(({ provider: _, ...count }) => count);
      batches.push({ provider, day: hourOf(at).day, operationId: newOperationId(systemEntropy), counts });
    }
    counted = new Map();
  }

  async function send(): Promise<void> {
    takeBatches();
    try {
      for (let [batch] = batches; batch !== undefined; [batch] = batches) {
        await p.counts.add(writer, batch);
        batches.shift();
      }
    } catch (error) {
      p.logger.warn({ event: 'refreshes.uncounted', error }, 'counting refreshes failed; retrying');
      plan();
    }
  }

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    flushing = flushing.then(send);
    return flushing;
  }

  return {
    sink({ event, provider, code, reason }) {
      const { refresh: outcome }: AuditEventEntry = auditEvents[event];
      if (outcome === undefined || typeof provider !== 'string') return;
      const why = code ?? reason;
      const { at } = hourOf(p.now());
      const key = JSON.stringify([provider, at, outcome, why]);
      const count = (counted.get(key)?.count ?? 0) + 1;
      counted.set(key, { provider, at, outcome, ...(typeof why === 'string' ? { code: why } : {}), count });
      plan();
    },
    flush,
    async [Symbol.asyncDispose]() {
      await flush();
      clearTimeout(timer);
    },
  };
}
