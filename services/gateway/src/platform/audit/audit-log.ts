import { createHmac } from 'node:crypto';
import {
  type Audit,
  type AuditEvent,
  type AuditStreamName,
  type AuditTrailStore,
  type Clock,
  type Elicitation,
  hourOf,
  isTerminal,
  newOperationId,
  type RefreshBatch,
  type RefreshCount,
  type Stores,
  type Subject,
  systemEntropy,
} from '@postern/elicitation';
import { sharedKeyFor, type VaultConfig } from '../config/vault-config.ts';
import { outsideRequests, requestContext, requestFields } from '../http/request-context.ts';
import { instance, type Logger, safeError } from '../logger.ts';
import {
  type AuditEventEntry,
  type AuditEventName,
  type AuditLog,
  type AuditSink,
  auditEvents,
  auditRecordOf,
  type Pseudonyms,
} from './audit-events.ts';

export function createAuditLog(
  logger: Logger,
  pseudonym: Pseudonyms,
  sinks: readonly AuditSink[] = [],
  now: () => number = Date.now,
): AuditLog {
  const log = logger.child({ audit: true });
  const taken = new Map<AuditEventName, { until: number; count: number }>();

  /** Whether one more event has a place in the audit trail of this minute. */
  function hasPlace(event: AuditEventName, max: number): boolean {
    const found = taken.get(event);
    const minute = found !== undefined && now() < found.until ? found : { until: now() + 60_000, count: 0 };
    taken.set(event, minute);
    minute.count += 1;
    return minute.count <= max;
  }

  return {
    record(event, fields) {
      const { level, text, perMinute }: AuditEventEntry = auditEvents[event];
      const line = auditRecordOf(event, fields, pseudonym);
      if (perMinute !== undefined && !hasPlace(event, perMinute)) return logger[level](line, text);
      log[level](line, text);
      for (const sink of sinks) sink({ ...requestFields(), ...line }, { level, text });
    },
  };
}

/** Records the events of the domain. */
export const elicitationAudit =
  ({ record }: AuditLog): Audit =>
  (event, of) =>
    record(`elicitation.${event.type}`, changeOf(event, of));

/** Who removed something, as it is recorded. */
export const removedBy = (by: RemovedBy) =>
  by === 'person' ? { by } : { by: 'mcp_server' as const, mcpServerId: by.mcpServerId };

export type RemovedBy = 'person' | { readonly mcpServerId: string };

const decisions: ReadonlySet<AuditEvent['type']> = new Set(['accepted', 'approved', 'declined', 'completed']);

/** The language in which the user decided. An approval names that of its page; any other decision has that of its request. */
function languageOf(event: AuditEvent): string | undefined {
  if (!decisions.has(event.type)) return undefined;
  return (event.type === 'approved' ? event.language : undefined) ?? requestContext()?.language;
}

const ends: ReadonlySet<AuditEvent['type']> = new Set([
  'approved',
  'completed',
  'failed',
  'declined',
  'cancelled',
  'expired',
]);

/** Returns what is recorded of an event of the domain: the final status and the delays only if it ended the elicitation. */
function changeOf(event: AuditEvent, of: Elicitation) {
  // Without a processor, the approval completes the elicitation.
  const end = ends.has(event.type) && isTerminal(of) ? of : undefined;
  return {
    elicitationId: event.elicitationId,
    mcpServerId: event.mcpServerId,
    subject: event.subject,
    kind: of.request.kind,
    ended: end?.status,
    afterMs: end && end.endedAt - end.createdAt,
    lateMs: event.type === 'expired' ? end && Math.max(0, end.endedAt - end.expiresAt) : undefined,
    failure: event.type === 'failed' ? event.failure : undefined,
    method: event.type === 'approved' ? event.method : undefined,
    language: languageOf(event),
    trouble: event.type === 'returned' ? event.retryReason : undefined,
    visitor: event.type === 'wrong_person' ? event.visitor : undefined,
  };
}

/** Maximum pending lines of each stream. Further lines are dropped rather than kept in memory. */
const MAX_UNDER_WAY = 1_000;

/** How many lines of strangers the stream of one process takes at once, and how long it takes for each further one. */
const STRANGERS_AT_ONCE = 100;
const STRANGERS_EVERY_MS = 36_000;

export interface AuditStream extends AsyncDisposable {
  readonly sink: AuditSink;
}

/**
 * Writes the audit events to Redis too, as the same lines as in the log. No request waits for it: while Redis is unavailable, lines are
 * missing in the stream, and the log says how many. The log itself is complete.
 *
 * Redis keeps a limited number of lines. The table of audit events says which of them only operators can cause: these have a stream and
 * places of their own, so that users and MCP servers push none of them out (S205). So that strangers cannot push out what users did, the
 * stream takes few of their lines (S124). The next one that it takes says how many it left out.
 */
export function createAuditStream(p: {
  readonly audits: Pick<AuditTrailStore, 'append'>;
  readonly logger: Logger;
  readonly now: () => number;
  /** Whether users' lines are kept too (`audit.stream`). What operators did always is. */
  readonly keepsPeople: boolean;
  /** Called for each missing line. */
  readonly onLost?: () => void;
}): AuditStream {
  const underWay = { people: new Set<Promise<void>>(), operators: new Set<Promise<void>>() };
  let lost = 0;
  let leftOut = 0;
  let places = STRANGERS_AT_ONCE;
  let countedAt = p.now();

  /** Returns false if the line of a stranger has no place. */
  function hasPlace(): boolean {
    const passed = Math.max(0, p.now() - countedAt);
    countedAt = p.now();
    places = Math.min(STRANGERS_AT_ONCE, places + passed / STRANGERS_EVERY_MS);
    if (places < 1) return false;
    places -= 1;
    return true;
  }

  function lose(): void {
    lost += 1;
    p.onLost?.();
  }

  function done(): void {
    if (lost === 0) return;
    p.logger.warn({ event: 'audit.lines_lost', lines: lost }, 'audit lines missing in the stream');
    lost = 0;
  }

  return {
    sink(record, { level, text }) {
      const { trail } = auditEvents[record.event];
      const stream: AuditStreamName = trail === 'operators' ? trail : 'people';
      if (stream === 'people' && !p.keepsPeople) return;
      const isOfStranger = trail === 'strangers';
      if (isOfStranger && !hasPlace()) {
        leftOut += 1;
        return;
      }
      if (underWay[stream].size >= MAX_UNDER_WAY) {
        lose();
        return;
      }
      const { error, ...fields } = record;
      const line = JSON.stringify({
        level,
        instance,
        time: new Date(p.now()).toISOString(),
        audit: true,
        ...fields,
        error: error === undefined ? undefined : safeError(error),
        message: text,
        ...(isOfStranger && leftOut > 0 ? { leftOut } : {}),
      });
      if (isOfStranger) leftOut = 0;
      const appending = p.audits
        .append(stream, line)
        .then(done, lose)
        .finally(() => underWay[stream].delete(appending));
      underWay[stream].add(appending);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...underWay.people, ...underWay.operators]);
      done();
    },
  };
}

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

/** In base64url characters: 96 bits. */
const LENGTH = 16;

/** A keyed hash: without the key, a pseudonym cannot be matched even against a list of known subjects. @internal */
export function createPseudonyms(key: Uint8Array): Pseudonyms {
  /** Caches by object, because the same subject object is logged repeatedly. */
  const known = new WeakMap<Subject, string>();
  return subject => {
    let pseudonym = known.get(subject);
    if (pseudonym === undefined) {
      const named = JSON.stringify([subject.issuer, subject.subject]);
      pseudonym = createHmac('sha256', key).update(named).digest('base64url').slice(0, LENGTH);
      known.set(subject, pseudonym);
    }
    return pseudonym;
  };
}

/**
 * Uses the configured key, or a key derived from the shared secret: all replicas derive the same key, and adding a vault key in front
 * does not change it.
 */
export function pseudonymsOf(config: {
  readonly audit: { readonly pseudonymKey?: Uint8Array | undefined };
  readonly vault: VaultConfig;
}): Pseudonyms {
  if (config.audit.pseudonymKey !== undefined) return createPseudonyms(config.audit.pseudonymKey);
  return createPseudonyms(sharedKeyFor(config, 'postern audit pseudonyms, 1'));
}

/** Returns the pseudonym for webhooks about a user's passkeys; undefined without operator webhooks. */
export function announcementsOf(
  { operatorWebhooks }: { readonly operatorWebhooks: readonly unknown[] },
  pseudonym: Pseudonyms,
): (subject: Subject) => string | undefined {
  return operatorWebhooks.length === 0 ? () => undefined : pseudonym;
}
