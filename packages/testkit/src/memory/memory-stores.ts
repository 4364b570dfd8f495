import type { Clock, ElicitationEvent } from '@postern/elicitation';
import { MemoryBrowserSessionStore } from './memory-browser-session-store.ts';
import { MemoryConnectionStore } from './memory-connection-store.ts';
import { MemoryCredentialStore } from './memory-credential-store.ts';
import { MemoryElicitationStore } from './memory-elicitation-store.ts';
import { MemoryEventFeed, type MemoryFeedRetention } from './memory-event-feed.ts';
import { MemoryEventOutbox } from './memory-event-outbox.ts';
import { MemoryIdempotencyStore } from './memory-idempotency-store.ts';
import { MemoryLedger } from './memory-ledger.ts';
import { MemoryCounts, MemoryRecordLists } from './memory-listing.ts';
import { MemoryMuteStore } from './memory-mute-store.ts';
import { MemoryNotifier } from './memory-notifier.ts';
import { MemoryOneTimeStore } from './memory-one-time-store.ts';
import { MemoryPasskeyStore } from './memory-passkey-store.ts';
import { MemoryPaymentStore } from './memory-payment-store.ts';
import { MemoryRevocationStore } from './memory-revocation-store.ts';

export interface MemoryStoresOptions {
  readonly now: Clock;
  /** Default 24 hours, as in Redis. */
  readonly retentionMs?: number;
  /** Default 400 days, as in Redis. */
  readonly paymentRetentionMs?: number;
  /** As in Redis, except that the number of kept events is exact. */
  readonly feed?: Partial<MemoryFeedRetention>;
}

const DAY_MS = 24 * 3_600_000;

/** All ports in memory, for tests of the domain. Replicas and lost connections are tested on Redis. */
export function createMemoryStores({
  now,
  retentionMs = DAY_MS,
  paymentRetentionMs = 400 * DAY_MS,
  feed,
}: MemoryStoresOptions) {
  const notifier = new MemoryNotifier();
  const oneTime = new MemoryOneTimeStore(now);
  const ledger = new MemoryLedger(now);
  const revocations = new MemoryRevocationStore(now, ledger);
  const connections = new MemoryConnectionStore({ now, notifier, revocations, ledger });
  const credentials = new MemoryCredentialStore(now, ledger);
  const counts = new MemoryCounts();
  const retention = { events: 10_000, maxAgeMs: 7 * DAY_MS, ...feed };
  const feeds = new MemoryEventFeed({ now, notifier, retention, counts });
  const idempotency = new MemoryIdempotencyStore(now, ledger);
  const mutes = new MemoryMuteStore(now);
  const outbox = new MemoryEventOutbox({ now, feed: feeds });
  const payments = new MemoryPaymentStore({
    now,
    retentionMs: paymentRetentionMs,
    announce(event) {
      elicitations.events.push(event);
      outbox.append(event, {});
    },
  });
  const elicitations = new MemoryElicitationStore({
    ...{ now, retentionMs, paymentRetentionMs, notifier, connections, credentials, oneTime, payments, outbox, ledger },
    ...{ idempotency, mutes },
  });
  return {
    elicitations,
    connections,
    credentials,
    passkeys: new MemoryPasskeyStore(now, ledger),
    payments,
    revocations,
    oneTime,
    browserSessions: new MemoryBrowserSessionStore(now, ledger),
    idempotency,
    mutes,
    notifier,
    feeds,
    outbox,
    counts,
    lists: new MemoryRecordLists(list => {
      if (list === 'open' || list === 'ended') return elicitations.entries(list);
      return { connections, credentials, revocations }[list].entries();
    }),
    /** Events announced so far, oldest first. */
    events: elicitations.events as readonly ElicitationEvent[],
    ping: async (): Promise<void> => {},
    close: async (): Promise<void> => {},
  };
}
